"""The implementations of each storage port, opened for a test and closed afterwards."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path

from nats.aio.client import Client
from nats.js import JetStreamContext

from handrail.bridge.cluster.nats import names
from handrail.bridge.cluster.store.bucket_values import BucketValues
from handrail.bridge.cluster.store.event_log import JetStreamEventLog
from handrail.bridge.cluster.store.session_index import JetStreamSessionIndex
from handrail.bridge.cluster.store.session_writer import ClusterSessionWriter
from handrail.bridge.store import event_log as events
from handrail.bridge.store import session_index as index
from handrail.bridge.store import shared_values
from handrail.bridge.store.base import EventLog, SessionIndex, SessionWriter
from handrail.bridge.store.database import Database
from handrail.bridge.store.session_index import SqliteSessionWriter
from handrail.bridge.store.shared_values import SharedValues, SqliteValues
from handrail.testing.memory_store import MemoryEventLog, MemorySessionIndex, MemorySessionWriter
from handrail.testing.session_writer_suite import SessionWriterPlace
from tests.bridge.cluster.machine_store import node
from tests.bridge.shared_nats import connected

# Event logs


class MemoryPlace:
    """A log in memory; it cannot be reopened."""

    def __init__(self) -> None:
        self.log: EventLog = MemoryEventLog()

    async def reopen(self) -> EventLog:
        raise NotImplementedError


class SqlitePlace:
    """A log in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.database = Database(path, events.TABLES)
        self.log: EventLog = events.SqliteEventLog(self.database)

    async def reopen(self) -> EventLog:
        await self.database.close()
        self.database = Database(self._path, events.TABLES)
        self.log = events.SqliteEventLog(self.database)
        return self.log


class JetStreamPlace:
    """A log on a NATS server."""

    def __init__(self, connection: Client) -> None:
        self._connection = connection
        self.log: EventLog = JetStreamEventLog(connection.jetstream())

    async def reopen(self) -> EventLog:
        await self.log.close()
        self.log = JetStreamEventLog(self._connection.jetstream())
        return self.log


Place = MemoryPlace | SqlitePlace | JetStreamPlace
Opens = Callable[[Path], AbstractAsyncContextManager[Place]]


@asynccontextmanager
async def memory_log(_folder: Path) -> AsyncGenerator[MemoryPlace]:
    yield MemoryPlace()


@asynccontextmanager
async def sqlite_log(folder: Path) -> AsyncGenerator[SqlitePlace]:
    place = SqlitePlace(folder / "log.db")
    yield place
    await place.database.close()


@asynccontextmanager
async def jetstream_log(_folder: Path) -> AsyncGenerator[JetStreamPlace]:
    async with connected(empty=names.STREAMS) as connection:
        yield JetStreamPlace(connection)


# Session indexes


@asynccontextmanager
async def memory_index(_folder: Path) -> AsyncGenerator[SessionIndex]:
    yield MemorySessionIndex()


@asynccontextmanager
async def sqlite_index(folder: Path) -> AsyncGenerator[SessionIndex]:
    database = Database(folder / "index.db", index.TABLES)
    yield index.SqliteSessionIndex(database)
    await database.close()


@asynccontextmanager
async def jetstream_index(_folder: Path) -> AsyncGenerator[SessionIndex]:
    async with connected(empty=[names.bucket_stream(names.SESSIONS)]) as connection:
        opened = JetStreamSessionIndex(connection.jetstream())
        await opened.open()
        yield opened
        await opened.close()


# Shared values


@asynccontextmanager
async def sqlite_values(folder: Path) -> AsyncGenerator[SharedValues]:
    database = Database(folder / "values.db", shared_values.TABLES)
    opened = SqliteValues(database)
    await opened.open()
    yield opened
    await database.close()


@asynccontextmanager
async def bucket_values(folder: Path) -> AsyncGenerator[SharedValues]:
    async with (
        connected(empty=[names.bucket_stream(names.ACCESS)]) as connection,
        gateway_values(folder, connection) as opened,
    ):
        yield opened


@asynccontextmanager
async def gateway_values(folder: Path, connection: Client, name: str = "gateway") -> AsyncGenerator[BucketValues]:
    """The values of one gateway, with its copy in a file of this name."""
    database = Database(folder / f"{name}.db", shared_values.TABLES)
    local = SqliteValues(database)
    await local.open()
    opened = BucketValues(connection.jetstream(), local, lambda: connection.is_connected)
    try:
        await opened.open()
        yield opened
    finally:
        await opened.close()
        await database.close()


# Session writers


class MemoryWriterPlace:
    """A log and an index in memory; they cannot be reopened. A test of the suite passes another kind of writer."""

    def __init__(self, kind: type[MemorySessionWriter] = MemorySessionWriter) -> None:
        memory_log, memory_index = MemoryEventLog(), MemorySessionIndex()
        self.writer: SessionWriter = kind(memory_log, memory_index)
        self.log: EventLog = memory_log
        self.index: SessionIndex = memory_index

    async def reopen(self) -> None:
        raise NotImplementedError


class SqliteWriterPlace:
    """A log and an index in one file."""

    writer: SessionWriter
    log: EventLog
    index: SessionIndex

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open()

    def _open(self) -> None:
        self.database = Database(self._path, events.TABLES, index.TABLES)
        self.writer = SqliteSessionWriter(self.database)
        self.log = events.SqliteEventLog(self.database)
        self.index = index.SqliteSessionIndex(self.database)

    async def reopen(self) -> None:
        await self.database.close()
        self._open()


class ClusterWriterPlace:
    """A machine of a cluster that owns the sessions of the suite. `moves`: other machines may take them over."""

    writer: SessionWriter
    log: EventLog
    index: SessionIndex

    def __init__(self, folder: Path, js: JetStreamContext, *, moves: bool) -> None:
        self._folder, self._js, self._moves = folder, js, moves
        self._opened = AsyncExitStack()

    async def open(self) -> None:
        # The suite compares records, which contain the name of their machine.
        one = await self._opened.enter_async_context(node(self._folder, self._js, name="", moves=self._moves))
        for session in ("s", "t"):
            await one.machine.adopt(session, next(_epochs))
        self.writer = ClusterSessionWriter(one.machine.database, one.machine.log, one.index)
        self.log, self.index = one.machine.log, one.index

    async def close(self) -> None:
        await self._opened.aclose()

    async def reopen(self) -> None:
        await self.close()
        await self.open()


_epochs = count(1)
"""Every owner of a session has a higher epoch than the one before."""

OpensWriter = Callable[[Path], AbstractAsyncContextManager[SessionWriterPlace]]


@asynccontextmanager
async def memory_writer(_folder: Path) -> AsyncGenerator[MemoryWriterPlace]:
    yield MemoryWriterPlace()


@asynccontextmanager
async def sqlite_writer(folder: Path) -> AsyncGenerator[SqliteWriterPlace]:
    place = SqliteWriterPlace(folder / "handrail.db")
    yield place
    await place.database.close()


@asynccontextmanager
async def cluster_writer(folder: Path, *, moves: bool = False) -> AsyncGenerator[ClusterWriterPlace]:
    async with connected(empty=[*names.STREAMS, names.bucket_stream(names.SESSIONS)]) as connection:
        place = ClusterWriterPlace(folder, connection.jetstream(), moves=moves)
        await place.open()
        try:
            yield place
        finally:
            await place.close()


@asynccontextmanager
async def moving_cluster_writer(folder: Path) -> AsyncGenerator[ClusterWriterPlace]:
    async with cluster_writer(folder, moves=True) as place:
        yield place


DURABLE_WRITERS: tuple[OpensWriter, ...] = (sqlite_writer, cluster_writer, moving_cluster_writer)
WRITERS: tuple[OpensWriter, ...] = (memory_writer, *DURABLE_WRITERS)
"""The implementations that the suite of `SessionWriter` runs on."""
