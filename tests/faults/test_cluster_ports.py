"""The port suites on a cluster of three NATS servers, and publishing while servers fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager

import nats
import pytest
from nats.aio.client import Client

from handrail.bridge.cluster.nats import names
from handrail.bridge.cluster.store.event_log import JetStreamEventLog
from handrail.bridge.cluster.store.layout import lay_out
from handrail.bridge.cluster.store.session_index import JetStreamSessionIndex
from handrail.bridge.cluster.store.session_stream import Batch, Entry
from handrail.bridge.errors import ClusterAway
from handrail.bridge.store.base import Event, NewEvent, SessionIndex, SessionRecord
from handrail.testing import (
    DURABLE_EVENT_LOG_CHECKS,
    EVENT_LOG_CHECKS,
    SESSION_INDEX_CHECKS,
    EventLogCheck,
    NatsCluster,
    SessionIndexCheck,
    run_port_check,
)
from tests.bridge.stores import JetStreamPlace

pytestmark = [
    pytest.mark.campaign,
    # nats-py drops the socket of a failed reconnection, to a server that hangs, without closing it.
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. .function StreamWriter:pytest.PytestUnraisableExceptionWarning"
    ),
]

BUCKET = names.bucket_stream(names.SESSIONS)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Generator[NatsCluster]:
    cluster = NatsCluster(tmp_path_factory.mktemp("nats"))
    asyncio.run(begun(cluster))
    yield cluster
    for server in cluster.servers:
        server.end()


async def begun(cluster: NatsCluster) -> None:
    await cluster.start()
    connection = await nats.connect(cluster.urls)
    await lay_out(connection.jetstream(), 3)
    await connection.close()


@asynccontextmanager
async def connected(cluster: NatsCluster, *empty: str) -> AsyncGenerator[Client]:
    """A client that notices a hanging server within seconds."""
    connection = await nats.connect(cluster.urls, ping_interval=1, max_outstanding_pings=2, reconnect_time_wait=0.1)
    for stream in empty:
        await connection.jetstream().purge_stream(stream)
    yield connection
    await connection.close()


@asynccontextmanager
async def event_log(cluster: NatsCluster) -> AsyncGenerator[JetStreamPlace]:
    async with connected(cluster, *names.STREAMS) as connection:
        yield JetStreamPlace(connection)


@asynccontextmanager
async def session_index(cluster: NatsCluster) -> AsyncGenerator[SessionIndex]:
    async with connected(cluster, BUCKET) as connection:
        index = JetStreamSessionIndex(connection.jetstream())
        await index.open()
        yield index
        await index.close()


@pytest.mark.parametrize("check", [*EVENT_LOG_CHECKS, *DURABLE_EVENT_LOG_CHECKS], ids=lambda check: check.__name__)
async def test_event_log_on_three_servers_passes_the_suite(cluster: NatsCluster, check: EventLogCheck):
    await run_port_check(check, lambda: event_log(cluster))


@pytest.mark.parametrize("check", SESSION_INDEX_CHECKS, ids=lambda check: check.__name__)
async def test_session_index_on_three_servers_passes_the_suite(cluster: NatsCluster, check: SessionIndexCheck):
    await run_port_check(check, lambda: session_index(cluster))


class Writer:
    """Publishes batches of two events, each repeated until it is acknowledged."""

    def __init__(self, log: JetStreamEventLog, session: str) -> None:
        self._log, self.session = log, session
        self._count = self._place = 0

    async def write(self, count: int) -> None:
        """Publish `count` more batches."""
        for n in range(self._count, self._count + count):
            batch = Batch(epoch=1, first=1, start=2 * n + 1, entries=(Entry(n, "said", b"%d" % n),) * 2)
            while not await self._acknowledged(batch):
                pass
            self._count += 1

    async def _acknowledged(self, batch: Batch) -> bool:
        try:
            self._place = await self._log.stream.publish(self.session, batch, expected=self._place)
        except ClusterAway:
            return False
        return True

    async def written(self, log: JetStreamEventLog) -> bool:
        """Whether all events are stored once and in order. A server that is not ready yet is asked again."""
        while (found := await self._read(log)) is None:
            pass
        return [(one.seq, one.data) for one in found] == [(n + 1, b"%d" % (n // 2)) for n in range(2 * self._count)]

    async def _read(self, log: JetStreamEventLog) -> list[Event] | None:
        try:
            return await log.read(self.session, 0, limit=10_000)
        except ClusterAway:
            return None


@pytest.mark.parametrize("fault", ["kill", "pause"])
async def test_acknowledged_batches_are_stored_once_while_leaders_fail(cluster: NatsCluster, fault: str):
    async with asyncio.timeout(110), connected(cluster, *names.STREAMS) as connection:
        log = JetStreamEventLog(connection.jetstream(timeout=1))
        writers = [Writer(log, f"{fault}-{n}") for n in range(4)]
        for _ in range(3):
            await asyncio.gather(*(one.write(20) for one in writers))
            leader = await cluster.led(names.EVENTS)
            running = [asyncio.create_task(one.write(100)) for one in writers]
            if fault == "kill":
                await leader.kill()
            else:
                leader.pause()
            await cluster.led(names.EVENTS, not_by=leader)
            await asyncio.gather(*running)
            leader.resume()
            await cluster.start()
    async with asyncio.timeout(60), connected(cluster) as connection:
        log = JetStreamEventLog(connection.jetstream())
        assert [await one.written(log) for one in writers] == [True] * 4


async def test_resumed_server_returns_complete_sessions(cluster: NatsCluster):
    async with asyncio.timeout(60), connected(cluster, *names.STREAMS) as connection:
        writer = Writer(JetStreamEventLog(connection.jetstream()), "s")
        leader = await cluster.led(names.EVENTS)
        follower = next(server for server in cluster.servers if server is not leader)
        follower.pause()
        await writer.write(200)
        follower.resume()
        other = await nats.connect(follower.url)
        try:
            logs = [JetStreamEventLog(other.jetstream()) for _ in range(10)]
            assert await asyncio.gather(*(writer.written(log) for log in logs)) == [True] * 10
        finally:
            await other.close()


async def test_nothing_is_acknowledged_without_a_majority(cluster: NatsCluster):
    async with asyncio.timeout(90), connected(cluster, *names.STREAMS) as connection:
        log = JetStreamEventLog(connection.jetstream(timeout=1))
        index = JetStreamSessionIndex(connection.jetstream(timeout=1))
        await index.open()
        added = [await log.append("s", [NewEvent("said", b"1")])]
        here = connection.connected_url.port if connection.connected_url else 0
        others = [server for server in cluster.servers if server.port != here]
        for server in others:
            server.pause()
        with pytest.raises(ClusterAway):
            await log.stream.publish("u", Batch(epoch=1, first=1, start=1), expected=0)
        with pytest.raises(ClusterAway):
            await index.put(SessionRecord(id="a", cwd="/", created=1, changed=1))
        for server in others:
            server.resume()
        await cluster.led(names.EVENTS)
        await Writer(log, "t").write(5)
        while len(added) < 2:
            try:
                added.append(await log.append("s", [NewEvent("said", b"2")]))
            except ClusterAway:
                continue
        assert await log.read("s", 0) == [event for events in added for event in events]
        await index.close()
