"""Who is not looking is told: when a session needs somebody, and when it is done."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.bridge import Bridge
from handrail.bridge.configuration import Configuration
from handrail.bridge.dialects import native
from handrail.bridge.launcher import Cli
from handrail.bridge.notifications import News, Notifications, what_is_new
from handrail.bridge.session_index.base import SessionRecord
from handrail.bridge.which_cli import agent_path
from tests.bridge.receiver import receiving

PATIENCE = 30


@pytest.mark.parametrize(
    ("before", "now", "kind"),
    [
        (("running", 0), ("waiting_approval", 1), "needs_you"),
        (("waiting_approval", 1), ("waiting_approval", 2), "needs_you"),
        (("waiting_approval", 2), ("waiting_approval", 1), None),
        (("running", 0), ("idle", 0), "finished"),
        (("compacting", 0), ("idle", 0), "finished"),
        (("running", 0), ("hibernated", 0), "ended"),
        (("starting", 0), ("failed", 0), "failed"),
        (("failed", 0), ("failed", 0), None),
        (("starting", 0), ("idle", 0), None),
        (("idle", 0), ("hibernated", 0), None),
        (("idle", 0), ("running", 0), None),
        (("running", 0), ("compacting", 0), None),
    ],
)
def test_what_is_worth_telling(before: tuple[str, int], now: tuple[str, int], kind: str | None):
    assert what_is_new(before, now) == kind


def record(**fields: Any) -> SessionRecord:
    return SessionRecord(**{"id": "one", "cwd": "/w", "created": 1, "changed": 1, "title": "T", **fields})


async def test_one_sender_that_fails_keeps_nobody_from_being_told():
    told: list[News] = []

    async def failing(news: News) -> None:
        raise OSError("no way")

    async def telling(news: News) -> None:
        told.append(news)

    notifications = Notifications(set(), [failing, telling])
    for state in ("running", "idle"):
        notifications.changed(record(state=state))
    await notifications.settled()
    assert [(news.kind, news.session, news.title) for news in told] == [("finished", "one", "T")]
    await notifications.close()
    for state in ("running", "idle"):
        notifications.changed(record(state=state))
    assert len(told) == 1


class Wire:
    """A client that says what it is told to, and then stays."""

    def __init__(self, *said: dict[str, Any]) -> None:
        self._said = [json.dumps(one) for one in said]
        self.ready, self.gone = asyncio.Event(), asyncio.Event()

    async def receive(self) -> str | None:
        if self._said:
            return self._said.pop(0)
        self.ready.set()
        await self.gone.wait()
        return None

    async def send(self, text: str) -> None:
        return

    async def close(self, code: int, reason: str) -> None:
        return


@pytest.mark.parametrize("visible", [False, True])
async def test_a_turn_that_ends_is_told_only_where_nobody_looks(tmp_path: Path, visible: bool):
    async with asyncio.timeout(PATIENCE), receiving() as receiver:
        told = Configuration(
            cli=Cli(agent_path(), "agent"),
            data=tmp_path / "data",
            roots=(tmp_path,),
            webhook=f"http://127.0.0.1:{receiver.port}/hook",
        )
        async with Bridge(told) as bridge:
            device, _ = await bridge.access.add_device("page", "browser", ("view", "prompt"))
            wire = Wire({"type": "hello", "protocol": 1}, {"type": "watch"}, {"type": "visible", "visible": visible})
            page = asyncio.create_task(native.Client(bridge, device, wire).run())
            await wire.ready.wait()
            fields = json.dumps({"cwd": str(tmp_path), "prompt": "hello"}).encode()
            ended, states = asyncio.Event(), list[str]()

            def follow(one: SessionRecord) -> None:
                states.append(one.state)
                if one.state == "idle" and "running" in states:
                    ended.set()

            bridge.sessions.on_change.append(follow)
            done = await bridge.commands.do("p", "1", "start", fields, by="p", scopes=frozenset({"prompt"}))
            assert json.loads(done)["ok"], done
            await ended.wait()
            await bridge.notifications.settled()
            wire.gone.set()
            await page
        kinds = [json.loads(request.body)["kind"] for request in receiver.requests]
        assert kinds == ([] if visible else ["finished"])
