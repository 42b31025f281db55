"""The session index on JetStream: all machines have the same list, also after server failures."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import nats
import pytest
from nats.js import JetStreamContext

from handrail.bridge.cluster.nats.names import SESSIONS, bucket_stream, bucket_subject
from handrail.bridge.cluster.store import session_index as module
from handrail.bridge.cluster.store import stream_reader
from handrail.bridge.cluster.store.layout import lay_out
from handrail.bridge.cluster.store.session_index import JetStreamSessionIndex
from handrail.bridge.errors import ClusterAway
from handrail.bridge.store.base import SessionRecord
from handrail.testing import NatsServer
from tests.bridge.shared_nats import connected

STREAM = bucket_stream(SESSIONS)


class Observed:
    """An index and the changes it reported; each change wakes the waiting test."""

    def __init__(self, index: JetStreamSessionIndex) -> None:
        self.index = index
        self.changes: list[tuple[str, str]] = []
        self._news = asyncio.Event()
        index.on_change.append(self._note)

    def _note(self, new: SessionRecord | None, before: SessionRecord | None) -> None:
        self.changes.append((before.title if before else "", new.title if new else ""))
        self._news.set()

    async def titles(self) -> list[str]:
        return [record.title for record in await self.index.list()]

    async def until(self, *titles: str) -> None:
        """Wait until exactly these titles are listed, newest first."""
        async with asyncio.timeout(20):
            while await self.titles() != list(titles):
                await self._news.wait()
                self._news.clear()


def record(id: str, changed: int = 1, title: str = "") -> SessionRecord:
    return SessionRecord(id=id, cwd="/work", created=1, changed=changed, title=title or id)


@pytest.fixture
async def js() -> AsyncGenerator[JetStreamContext]:
    async with connected(empty=[STREAM]) as connection:
        yield connection.jetstream()


Opened = Callable[[JetStreamContext], "asyncio.Future[Observed]"]


@pytest.fixture
async def opened() -> AsyncGenerator[Opened]:
    """Opens indexes and closes them after the test."""
    async with AsyncExitStack() as stack:

        async def opens(js: JetStreamContext) -> Observed:
            index = JetStreamSessionIndex(js)
            stack.push_async_callback(index.close)
            async with asyncio.timeout(20):
                await index.open()
            return Observed(index)

        yield lambda js: asyncio.ensure_future(opens(js))


async def test_record_of_one_machine_is_listed_by_all(js: JetStreamContext, opened: Opened):
    await js.publish(bucket_subject(SESSIONS, "old"), msgspec.json.encode(record("old")))
    here, there = await opened(js), await opened(js)
    assert await there.titles() == ["old"]
    await here.index.put(record("a", 2))
    await there.until("a", "old")
    await there.index.put(record("a", 3, "renamed"))
    await here.until("renamed", "old")
    await here.index.delete("old")
    await there.until("renamed")
    assert there.changes == [("", "a"), ("old", "")]
    assert here.changes == [("a", "renamed")]


async def test_session_may_have_any_id(js: JetStreamContext, opened: Opened):
    here, there = await opened(js), await opened(js)
    for id in ("*", "a.b", "", ">"):
        await here.index.put(record(id, title=f"id {id}"))
    await there.until(*sorted((f"id {id}" for id in ("*", "a.b", "", ">")), reverse=True))
    assert await here.index.get("a") is None


async def test_late_message_does_not_replace_a_newer_record(js: JetStreamContext, opened: Opened):
    here = (await opened(js)).index
    for n in range(100):
        await here.put(record("a", n))
        await here.put(record("b", n))
        found = [await here.get("a"), await here.get("b")]
        assert [one.changed for one in found if one] == [n, n]


async def test_deleted_session_stays_deleted(js: JetStreamContext, opened: Opened):
    here, there = await opened(js), await opened(js)
    for n in range(30):
        await asyncio.gather(*(one.index.put(record("a", n)) for one in (here, there)))
        await here.index.delete("a")
        await here.index.put(record("mark", 1000 + n))
        await there.until("mark")
        assert await here.titles() == ["mark"]
        await there.index.delete("mark")
        await here.until()
    assert await there.titles() == []


async def test_invalid_record_is_ignored_and_logged_once(
    js: JetStreamContext, opened: Opened, caplog: pytest.LogCaptureFixture
):
    await js.publish(bucket_subject(SESSIONS, "broken"), b"{")
    await js.publish(bucket_subject(SESSIONS, "liar"), msgspec.json.encode(record("another")))
    here = await opened(js)
    assert await here.titles() == []
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            await js.publish(bucket_subject(SESSIONS, "worse"), b'{"id": 1}')
        await js.publish(bucket_subject(SESSIONS, "good"), msgspec.json.encode(record("good")))
        await here.until("good")
    assert [one.getMessage().partition(":")[0] for one in caplog.records] == [
        "ignoring the invalid record of session worse"
    ]


async def test_failing_handler_does_not_end_the_watch(js: JetStreamContext, opened: Opened):
    here = await opened(js)
    here.index.on_change.insert(0, lambda new, before: 1 / 0)
    await js.publish(bucket_subject(SESSIONS, "a"), msgspec.json.encode(record("a")))
    await here.until("a")
    await js.publish(bucket_subject(SESSIONS, "b"), msgspec.json.encode(record("b")))
    await here.until("b", "a")


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[NatsServer]:
    """A server that the test may kill, with readers that notice it soon."""
    monkeypatch.setattr(stream_reader, "HEARTBEAT", 0.1)
    monkeypatch.setattr(stream_reader, "_SILENCE", 0.3)
    async with NatsServer(tmp_path / "nats") as server:
        yield server


async def was_put(index: JetStreamSessionIndex, one: SessionRecord) -> bool:
    try:
        await index.put(one)
    except ClusterAway:
        return False
    return True


@pytest.mark.parametrize("missed", [3600.0, 0.0], ids=["resumes", "reads everything again"])
async def test_watch_continues_after_the_server_was_killed(
    server: NatsServer, opened: Opened, missed: float, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "_MISSED", missed)
    connections = [await nats.connect(server.url, reconnect_time_wait=0.05) for _ in range(2)]
    await lay_out(connections[0].jetstream(), 1)
    one, other = (connection.jetstream(timeout=1) for connection in connections)
    here, there = await opened(one), await opened(other)
    for n in range(5):
        await here.index.put(record(f"s{n}", n))
    await there.until("s4", "s3", "s2", "s1", "s0")
    await server.kill()
    with pytest.raises(ClusterAway):
        await here.index.put(record("s9", 9))
    assert len(await there.titles()) == 5
    await server.start()
    async with asyncio.timeout(20):
        while not await was_put(here.index, record("s9", 9)):
            pass
    await here.index.delete("s0")
    await there.until("s9", "s4", "s3", "s2", "s1")
    await there.index.put(record("s5", 5))
    await here.until("s9", "s5", "s4", "s3", "s2", "s1")
    for connection in connections:
        await connection.close()


async def test_recreated_bucket_replaces_the_list(server: NatsServer, opened: Opened):
    connection = await nats.connect(server.url)
    js = connection.jetstream()
    await lay_out(js, 1)
    here = await opened(js)
    for n in range(5):
        await here.index.put(record(f"s{n}", n))
    await js.delete_stream(STREAM)
    await lay_out(js, 1)
    await js.publish(bucket_subject(SESSIONS, "s3"), msgspec.json.encode(record("s3", 3, "current")))
    await here.until("current")
    await connection.close()


async def test_unavailable_bucket_is_reported_and_read_later(server: NatsServer):
    connection = await nats.connect(server.url)
    index = JetStreamSessionIndex(connection.jetstream())
    with pytest.raises(ClusterAway, match="stream not found"):
        await index.open()
    assert not index.whole.is_set()
    assert await index.list() == []
    await lay_out(connection.jetstream(), 1)
    observed = Observed(index)
    await connection.jetstream().publish(bucket_subject(SESSIONS, "a"), msgspec.json.encode(record("a")))
    async with asyncio.timeout(20):
        await index.whole.wait()
    await observed.until("a")
    await index.close()
    await connection.close()
