"""Stores for tests. In: a folder. Out: what each port has behind it, open; everything is closed at the end."""

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
from handrail.bridge.store.base import EventLog, SessionIndex
from handrail.bridge.store.database import Database
from handrail.bridge.store.memory_index import MemorySessionIndex
from handrail.bridge.store.memory_log import MemoryEventLog
from tests.bridge.shared_nats import connected


class MemoryPlace:
    """A log in memory; it cannot be opened again."""

    def __init__(self) -> None:
        self.log: EventLog = MemoryEventLog()

    async def open_again(self) -> EventLog:
        raise NotImplementedError


class SqlitePlace:
    """A log in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.database = Database(path, events.TABLES)
        self.log: EventLog = events.SqliteEventLog(self.database)

    async def open_again(self) -> EventLog:
        await self.database.close()
        self.database = Database(self._path, events.TABLES)
        self.log = events.SqliteEventLog(self.database)
        return self.log


class JetStreamPlace:
    """A log on NATS servers."""

    def __init__(self, connection: Client) -> None:
        self._connection = connection
        self.log: EventLog = JetStreamEventLog(connection.jetstream())

    async def open_again(self) -> EventLog:
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
