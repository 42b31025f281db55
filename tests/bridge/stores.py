"""The implementations of each storage port, opened for a test and closed afterwards."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from nats.aio.client import Client

from handrail.bridge.cluster.nats import names
from handrail.bridge.cluster.store.event_log import JetStreamEventLog
from handrail.bridge.cluster.store.session_index import JetStreamSessionIndex
from handrail.bridge.store import event_log as events
from handrail.bridge.store import session_index as index
from handrail.bridge.store.base import EventLog, SessionIndex, SessionWriter
from handrail.bridge.store.database import Database
from handrail.bridge.store.session_writer import SqliteSessionWriter
from handrail.testing.memory_store import MemoryEventLog, MemorySessionIndex, MemorySessionWriter
from handrail.testing.session_writer_suite import SessionWriterPlace
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


OpensWriter = Callable[[Path], AbstractAsyncContextManager[SessionWriterPlace]]


@asynccontextmanager
async def memory_writer(_folder: Path) -> AsyncGenerator[MemoryWriterPlace]:
    yield MemoryWriterPlace()


@asynccontextmanager
async def sqlite_writer(folder: Path) -> AsyncGenerator[SqliteWriterPlace]:
    place = SqliteWriterPlace(folder / "handrail.db")
    yield place
    await place.database.close()


DURABLE_WRITERS: tuple[OpensWriter, ...] = (sqlite_writer,)
WRITERS: tuple[OpensWriter, ...] = (memory_writer, *DURABLE_WRITERS)
"""The implementations that the suite of `SessionWriter` runs on."""
