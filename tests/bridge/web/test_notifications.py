"""Notifications are sent when no client is viewing a session that finishes or needs an answer.

A webhook gets JSON, with retries on temporary failures only.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.bridge.errors import BridgeError
from handrail.bridge.store.base import SessionRecord
from handrail.bridge.store.database import Database
from handrail.bridge.store.shared_values import TABLES, SqliteValues
from handrail.bridge.web.notifications import News, Notifications, Webhook, check_webhook, what_is_new
from handrail.bridge.web.outbound import DeliveryFailed
from tests.bridge.receiver import receiving
from tests.bridge.stage import stage
from tests.client.scripted_cli import write_cli

NEWS = News("needs_you", "6c9a", "A title", "/home/me", 1)


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


@pytest.fixture
async def values(tmp_path: Path) -> AsyncIterator[SqliteValues]:
    database = Database(tmp_path / "handrail.db", TABLES)
    yield SqliteValues(database)
    await database.close()


async def never_shown(session: str) -> bool:
    return False


async def test_failing_sender_does_not_block_others(values: SqliteValues):
    sent: list[News] = []

    async def failing(news: News) -> None:
        raise OSError("unreachable")

    async def working(news: News) -> None:
        sent.append(news)

    notifications = Notifications(set(), {"failing": failing, "working": working}, values, never_shown)
    notifications.changed(record(state="idle"), record(state="running"))
    await notifications.settled()
    assert [(news.kind, news.session, news.title) for news in sent] == [("finished", "one", "T")]
    await notifications.close()
    notifications.changed(record(state="idle"), record(state="running"))
    assert len(sent) == 1


async def test_one_gateway_sends_each_notification(values: SqliteValues):
    sent: list[tuple[str, int]] = []

    def sender(gateway: str) -> Callable[[News], Awaitable[None]]:
        async def send(news: News) -> None:
            sent.append((gateway, len(sent)))

        return send

    gateways = [Notifications(set(), {"push": sender(name)}, values, never_shown) for name in ("a", "b")]
    for n in range(3):
        for one in gateways:
            one.changed(record(state="idle", changed=n), record(state="running"))
        for one in gateways:
            await one.settled()
    assert len(sent) == 3


async def test_session_shown_by_another_gateway_is_not_notified(values: SqliteValues):
    sent: list[News] = []
    shown = {"one"}

    async def is_shown(session: str) -> bool:
        return session in shown

    async def send(news: News) -> None:
        sent.append(news)

    notifications = Notifications(set(), {"push": send}, values, is_shown)
    for id in ("one", "other"):
        notifications.changed(record(id=id, state="idle"), record(id=id, state="running"))
    await notifications.settled()
    assert [news.session for news in sent] == ["other"]


async def test_notification_is_sent_if_it_cannot_be_claimed(tmp_path: Path):
    """Two gateways that lost each other may both send it; none must not."""
    database = Database(tmp_path / "handrail.db", TABLES)
    await database.close()
    sent: list[News] = []

    async def send(news: News) -> None:
        sent.append(news)

    notifications = Notifications(set(), {"push": send}, SqliteValues(database), never_shown)
    notifications.changed(record(state="idle"), record(state="running"))
    await notifications.settled()
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


async def test_notification_is_posted_as_json():
    async with receiving() as receiver:
        await Webhook(f"http://127.0.0.1:{receiver.port}/hook", delays=()).send(NEWS)
    (request,) = receiver.requests
    assert (request.path, request.headers["content-type"]) == ("/hook", "application/json")
    assert json.loads(request.body) == {
        "kind": "needs_you",
        "session": "6c9a",
        "title": "A title",
        "cwd": "/home/me",
        "time": 1,
    }


async def test_temporary_failures_are_retried_twice():
    async with receiving(500, 429, 204) as receiver:
        await Webhook(f"http://127.0.0.1:{receiver.port}/", delays=(0, 0)).send(NEWS)
    assert len(receiver.requests) == 3
    async with receiving(500, 500, 500, 200) as receiver:
        with pytest.raises(DeliveryFailed, match="500"):
            await Webhook(f"http://127.0.0.1:{receiver.port}/", delays=(0, 0)).send(NEWS)
    assert len(receiver.requests) == 3


@pytest.mark.parametrize("status", [400, 404, 302])
async def test_rejections_and_redirects_are_final(status: int):
    async with receiving(status) as receiver:
        with pytest.raises(DeliveryFailed, match=str(status)):
            await Webhook(f"http://127.0.0.1:{receiver.port}/", delays=(0, 0)).send(NEWS)
    assert len(receiver.requests) == 1


async def test_error_does_not_quote_the_url():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    with pytest.raises(DeliveryFailed, match="could not be reached") as caught:
        await Webhook(f"http://127.0.0.1:{port}/?key=secret", delays=(0,)).send(NEWS)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("address", ["ftp://x/", "x", "http://", "http://[::1", "javascript:alert(1)"])
def test_invalid_url_is_rejected(address: str):
    with pytest.raises(BridgeError, match="--webhook"):
        check_webhook(address)


async def test_body_of_the_answer_is_not_read():
    """An endless answer could fill the memory."""
    ended = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        try:
            while True:
                writer.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
                await writer.drain()
        except ConnectionError:
            ended.set()

    async with asyncio.timeout(20), await asyncio.start_server(talk, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        await Webhook(f"http://127.0.0.1:{port}/x", delays=()).send(NEWS)
        await ended.wait()
