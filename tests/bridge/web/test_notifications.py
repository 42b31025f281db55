"""Notifications are sent when no client is viewing a session that finishes or needs an answer."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.bridge.store.base import SessionRecord
from handrail.bridge.web.notifications import News, Notifications, what_is_new
from tests.bridge.receiver import receiving
from tests.bridge.stage import stage
from tests.client.scripted_cli import write_cli


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
def test_state_changes_that_notify(before: tuple[str, int], now: tuple[str, int], kind: str | None):
    assert what_is_new(before, now) == kind


def record(**fields: Any) -> SessionRecord:
    return SessionRecord(**{"id": "one", "cwd": "/w", "created": 1, "changed": 1, "title": "T", **fields})


async def test_failing_sender_does_not_block_others():
    sent: list[News] = []

    async def failing(news: News) -> None:
        raise OSError("unreachable")

    async def working(news: News) -> None:
        sent.append(news)

    notifications = Notifications(set(), [failing, working])
    notifications.changed(record(state="idle"), record(state="running"))
    await notifications.settled()
    assert [(news.kind, news.session, news.title) for news in sent] == [("finished", "one", "T")]
    await notifications.close()
    notifications.changed(record(state="idle"), record(state="running"))
    assert len(sent) == 1


WATCH: dict[str, Any] = {"type": "watch"}
LOOKS: dict[str, Any] = {"type": "visible", "visible": True}
AWAY: dict[str, Any] = {"type": "visible", "visible": False}


@pytest.mark.parametrize(
    ("seen", "sent"),
    [
        ([], ["finished"]),
        ([WATCH], ["finished"]),
        ([WATCH, LOOKS], []),
        ([WATCH, LOOKS, AWAY], ["finished"]),
        ([LOOKS], ["finished"]),
        ([LOOKS, {"type": "subscribe"}], []),
        ([LOOKS, {"type": "subscribe"}, {"type": "unsubscribe"}], ["finished"]),
    ],
)
async def test_end_of_a_turn_notifies_only_without_a_visible_client(
    tmp_path: Path, seen: list[dict[str, Any]], sent: list[str]
):
    script = "while True:\n    say(result(prompt()))"
    async with receiving() as receiver:
        hook = f"http://127.0.0.1:{receiver.port}/hook"
        async with stage(tmp_path, write_cli(tmp_path, script), webhook=hook) as on:
            session = await on.start()
            async with on.viewer() as page, on.viewer(session) as unseen:
                for line in seen:
                    session_of = {"session": session} if "subscribe" in line["type"] else {}
                    page.say(**line, **session_of)
                page.say("ping")
                await page.line("heartbeat")
                await on.do("send", session=session, text="hello")
                await unseen.until_result()
                await unseen.until_state("idle")
                await on.bridge.notifications.settled()
        assert [json.loads(request.body)["kind"] for request in receiver.requests] == sent


async def test_question_notifies_without_a_visible_client(tmp_path: Path):
    script = """
        prompt()
        ask("can_use_tool", **permission(command="ls"))
        say(result())
    """
    async with receiving() as receiver:
        hook = f"http://127.0.0.1:{receiver.port}/hook"
        async with stage(tmp_path, write_cli(tmp_path, script), webhook=hook) as on:
            session = await on.start(prompt="go")
            async with on.viewer(session) as viewer:
                await on.answer(session, await viewer.until_kind("asked"))
                await viewer.until_result()
                await viewer.until_state("idle")
                await on.bridge.notifications.settled()
        kinds = {json.loads(request.body)["kind"] for request in receiver.requests}
        assert kinds == {"needs_you", "finished"}


@pytest.mark.parametrize(("script", "kind"), [("hear()\nhear()", "ended"), ("", None)], ids=["turn", "no turn"])
async def test_turn_ended_by_a_crash_notifies_after_the_restart(tmp_path: Path, script: str, kind: str | None):
    cli = write_cli(tmp_path, script)
    async with stage(tmp_path, cli) as on:
        session = await on.start()
        before = msgspec.json.encode(await on.bridge.sessions.index.get(session))
        if script:
            async with on.viewer(session) as viewer:
                await on.do("send", session=session, text="go")
                await viewer.until_state("running")
        data = await on.copy_store()
    with sqlite3.connect(data / "handrail.db") as db:  # the crash lost the last update of the record
        db.execute("UPDATE session SET record = ?", (before,))
    db.close()
    async with receiving() as receiver:
        async with stage(tmp_path, cli, data=data, webhook=f"http://127.0.0.1:{receiver.port}/hook") as on:
            await on.bridge.notifications.settled()
        assert [json.loads(request.body)["kind"] for request in receiver.requests] == ([kind] if kind else [])
