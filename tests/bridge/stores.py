"""Stores for tests. In: a folder. Out: what each port has behind it, open; everything is closed at the end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from handrail.bridge.database import Database
from handrail.bridge.event_log import sqlite as events
from handrail.bridge.event_log.base import EventLog
from handrail.bridge.event_log.memory import MemoryEventLog
from handrail.bridge.session_index import sqlite as index
from handrail.bridge.session_index.base import SessionIndex
from handrail.bridge.session_index.memory import MemorySessionIndex


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


Place = MemoryPlace | SqlitePlace
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
async def memory_index(_folder: Path) -> AsyncGenerator[SessionIndex]:
    yield MemorySessionIndex()


@asynccontextmanager
async def sqlite_index(folder: Path) -> AsyncGenerator[SessionIndex]:
    database = Database(folder / "index.db", index.TABLES)
    yield index.SqliteSessionIndex(database)
    await database.close()
