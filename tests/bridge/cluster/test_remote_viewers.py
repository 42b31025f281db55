"""Viewers on another machine receive the same events as viewers on the machine of the session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.cluster.following.relay import Relay
from handrail.bridge.cluster.store.event_log import JetStreamEventLog
from handrail.bridge.session.host import SessionHost
from handrail.bridge.store.base import Event, NewEvent, Receipt, SessionIndex, SessionRecord
from handrail.bridge.web.dialects.ccpocket.following import Following
from tests.bridge.cluster.remote_stage import connected, remote_stage
from tests.bridge.shared_nats import shared_server
from tests.bridge.stage import AGENT, Stage, Viewer, stage
from tests.bridge.web.dialects.ccpocket_server import bash, write_script
from tests.client.scripted_cli import write_cli

Json = dict[str, Any]
STREAMS = """
    def live(**event):
        say({"type": "stream_event", "event": event, "session_id": SESSION, "parent_tool_use_id": None, "uuid": "p"})
    def delta(text):
        live(type="content_block_delta", index=0, delta={"type": "text_delta", "text": text})
    while True:
        prompt()
        live(type="message_start", message={"id": "msg_1", "role": "assistant", "content": []})
        live(type="content_block_start", index=0, content_block={"type": "text", "text": ""})
        delta("one ")
        delta("two ")
        hear()
        delta("three")
        say(assistant("one two three"))
        live(type="content_block_stop", index=0)
        live(type="message_stop")
        say(result("one two three"))
"""
MUCH = """
    def live(**event):
        return {"type": "stream_event", "event": event, "session_id": SESSION, "parent_tool_use_id": None, "uuid": "p"}
    def delta(text):
        return live(type="content_block_delta", index=0, delta={"type": "text_delta", "text": text})
    while True:
        prompt()
        for n in range(40):
            words = [f"{n}-{m} " for m in range(25)]
            say(live(type="message_start", message={"id": f"msg_{n}", "role": "assistant", "content": []}))
            say(live(type="content_block_start", index=0, content_block={"type": "text", "text": ""}))
            for k in range(0, 25, 5):
                say(*map(delta, words[k : k + 5]))
            say(assistant("".join(words)), live(type="content_block_stop", index=0), live(type="message_stop"))
        say(result("end"))
"""


@asynccontextmanager
async def cluster_machine(folder: Path, cli: str = AGENT, **options: Any) -> AsyncGenerator[Stage]:
    """A machine that stores its events on NATS before its viewers receive them."""
    server = await shared_server()
    async with connected(server.url) as connection, stage(folder, cli, **options) as on:
        log = JetStreamEventLog(connection.jetstream())
        on.bridge.sessions.events, on.bridge.sessions.writer = log, NatsWriter(log, on.bridge.sessions.index)
        yield on


class NatsWriter:
    """Writes events straight to NATS, so that these tests need no second machine that owns the session."""

    def __init__(self, log: JetStreamEventLog, index: SessionIndex) -> None:
        self._log, self._index = log, index

    async def write(
        self,
        session: str,
        events: Sequence[NewEvent],
        record: SessionRecord | None = None,
        receipt: Receipt | None = None,
    ) -> list[Event]:
        added = await self._log.append(session, events, receipt)
        if record is not None:
            await self._index.put(record)
        return added


@asynccontextmanager
async def relayed(host: SessionHost) -> AsyncGenerator[Relay]:
    server = await shared_server()
    async with connected(server.url) as connection:
        relay = Relay(connection, host)
        await relay.open()
        yield relay
        await relay.close()


@asynccontextmanager
async def other_machine(host: SessionHost, **options: Any) -> AsyncGenerator[Stage]:
    """Another machine, with a separate connection and log."""
    server = await shared_server()
    async with connected(server.url) as connection:
        log = JetStreamEventLog(connection.jetstream())
        async with remote_stage(server.url, log, host.record, **options) as far:
            yield far


def text(viewer: Viewer) -> str:
    """The text of an answer, joined from the pieces that a viewer received."""
    events = [line["event"] for line in viewer.of("live")]
    return "".join(one["delta"]["text"] for one in events if one["type"] == "content_block_delta")


async def test_local_and_remote_viewers_receive_the_same_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    said = [{"type": "thinking", "thinking": "A file."}, {"type": "text", "text": "I make it."}, bash("touch one")]
    write_script(monkeypatch, tmp_path, said, "All done. " * 50)
    async with cluster_machine(tmp_path) as on:
        session = await on.start()
        host = await on.host(session)
        async with relayed(host), other_machine(host) as far, on.viewer(session) as near, far.viewer(session) as viewer:
            await on.do("send", session=session, text="Make a file.")
            asked = await viewer.until_kind("asked")
            await on.answer(session, asked)
            await near.until_result()
            await near.until_state("idle")
            await viewer.until(lambda: len(viewer.events) == len(near.events))
            assert viewer.events == near.events
            assert len(viewer.of("live")) > 10
            assert [one["seq"] for one in viewer.kept] == list(range(1, host.seq + 1))


async def test_remote_viewer_that_joins_within_a_block_receives_all_of_it(tmp_path: Path):
    async with cluster_machine(tmp_path, write_cli(tmp_path, STREAMS)) as on:
        session = await on.start(prompt="go")
        host = await on.host(session)
        async with on.viewer(session) as near, relayed(host):
            await near.until(lambda: text(near) == "one two ")
            async with other_machine(host) as far, far.viewer(session) as first:
                await first.until(lambda: text(first) == "one two ")
                async with far.viewer(session) as second:
                    await second.until(lambda: text(second) == "one two ")
                    assert [line["event"]["type"] for line in second.of("live")] == [
                        "message_start",
                        "content_block_start",
                        "content_block_delta",
                    ]
                    await on.do("send", session=session, text="more")
                    for viewer in (first, second):
                        await viewer.until_result()
                        assert text(viewer) == "one two three"
                    await second.until(lambda: len(second.kept) == len(near.kept))
                    assert second.kept == first.kept == near.kept
            async with other_machine(host) as far, far.viewer(session) as last:
                await last.until_result()
                assert text(last) == "", "the block is stored, so its pieces are not sent"


async def test_viewer_that_resubscribes_after_a_loss_receives_each_event_once(tmp_path: Path):
    async with cluster_machine(tmp_path, write_cli(tmp_path, MUCH)) as on:
        session = await on.start()
        host = await on.host(session)
        async with relayed(host), other_machine(host) as far, far.viewer(session) as viewer:
            await on.do("send", session=session, text="go")
            resyncs = 0
            while not viewer.frames("result"):
                heard = len(viewer.wire.heard)
                await viewer.until(lambda heard=heard: len(viewer.wire.heard) > heard)
                host.feed.cut("simulated overload of the owner")
                if (found := sum(line["type"] == "resync" for line in viewer.wire.heard)) > resyncs:
                    resyncs = found
                    viewer.say("subscribe", session=session, after=viewer.kept[-1]["seq"] if viewer.kept else 0)
            await viewer.until(lambda: viewer.kept[-1]["seq"] == host.seq)
            assert [one["seq"] for one in viewer.kept] == list(range(1, host.seq + 1))


async def test_leaving_machine_does_not_affect_other_followers(tmp_path: Path):
    async with cluster_machine(tmp_path, write_cli(tmp_path, MUCH)) as on, AsyncExitStack() as others:
        session = await on.start()
        host = await on.host(session)
        await others.enter_async_context(relayed(host))
        machines = [await others.enter_async_context(other_machine(host)) for _ in range(3)]
        viewers = [await others.enter_async_context(one.viewer(session)) for one in machines]
        async with on.viewer(session) as near:
            async with other_machine(host) as far, far.viewer(session) as leaving:
                await on.do("send", session=session, text="go")
                await leaving.until_kind("live", 20)
            await near.until_result()
            await near.until_state("idle")
            for viewer in viewers:
                await viewer.until(lambda viewer=viewer: len(viewer.events) == len(near.events))
                assert viewer.events == near.events
        assert len(host.feed.followers) == 1


async def test_ccpocket_client_receives_the_same_messages_remotely(tmp_path: Path):
    async with cluster_machine(tmp_path, write_cli(tmp_path, MUCH)) as on:
        session = await on.start()
        host = await on.host(session)
        async with relayed(host), other_machine(host) as far:
            remote: Any = await far.bridge.follow(session)
            followed = [(await Following.begin(one, asyncio.Event()))[0] for one in (host, remote)]
            await on.do("send", session=session, text="go")
            near, away = [await read_until_idle(one) for one in followed]
            assert away == near
            assert near[-1]["type"] == "status"
            for one in followed:
                one.close()


async def read_until_idle(following: Following) -> list[Json]:
    """All messages until the session is idle, with adjacent text deltas joined."""
    lines: list[Json] = []
    while not (lines and lines[-1] == {**lines[-1], "type": "status", "status": "idle"} and len(lines) > 5):
        while not following.pending:
            following._more.clear()
            await following._more.wait()
        for line in await following.next():
            if line["type"] == "stream_delta" and lines and lines[-1]["type"] == "stream_delta":
                lines[-1] = {**line, "text": lines[-1]["text"] + line["text"]}
            else:
                lines.append(line)
    return lines


async def test_viewers_keep_following_a_session_that_changes_machines(tmp_path: Path):
    cli = write_cli(tmp_path, MUCH)
    async with AsyncExitStack() as watching:
        async with cluster_machine(tmp_path, cli) as first:
            session = await first.start()
            host = await first.host(session)
            async with relayed(host):
                far = await watching.enter_async_context(other_machine(host, renew=3600.0))
                viewer = await watching.enter_async_context(far.viewer(session))
                await first.do("send", session=session, text="go")
                await viewer.until_result()
                await viewer.until_state("idle")
                await first.do("stop", session=session)
        async with cluster_machine(tmp_path, cli) as second:
            host = await second.host(session)
            async with relayed(host):
                await second.do("send", session=session, text="continue")
                await viewer.until_result(2)
                await viewer.until_state("idle")
                assert [one["seq"] for one in viewer.kept] == list(range(1, host.seq + 1))
                assert not [line for line in viewer.wire.heard if line["type"] == "resync"]
