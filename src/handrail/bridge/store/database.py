"""One SQLite file. In: functions that use a connection. Out: what they return, once it is on disk.

Changes run in a thread of their own, one after the other; all that wait at one moment share a transaction, for what
costs is to make sure that it is on disk. Whoever waits for a change is told after that, never before.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from handrail.bridge.errors import StoreFailed

__all__ = ["Database"]

log = logging.getLogger("handrail.bridge")
T = TypeVar("T")
Work = Callable[[sqlite3.Connection], Any]
_PRAGMAS: Final = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA journal_size_limit=16777216",
    "PRAGMA busy_timeout=5000",
)
MOST_AT_ONCE: Final = 512


class _Job:
    """A change that waits."""

    def __init__(self, work: Work, loop: asyncio.AbstractEventLoop) -> None:
        self.work, self._loop = work, loop
        self.done: asyncio.Future[Any] = loop.create_future()

    def settle(self, found: Any, error: BaseException | None) -> None:
        """From the writer's thread: tell whoever waits."""
        with contextlib.suppress(RuntimeError):  # the loop has been closed: nobody waits any more
            self._loop.call_soon_threadsafe(_settle, self.done, found, error)


def _settle(done: asyncio.Future[Any], found: Any, error: BaseException | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(found)
    else:
        done.set_exception(error)


class Database:
    """The file, its writer and its readers. `tables` is SQL that makes what is not there yet."""

    def __init__(self, path: Path, *tables: str) -> None:
        self.path = path
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="handrail store reader")
        self._local = threading.local()
        self._reading: list[sqlite3.Connection] = []
        self._broken: StoreFailed | None = None
        """The disk failed under a change: what it holds is not known, and nothing more is written."""
        self._writing = self._connect()
        try:
            for script in tables:
                self._writing.executescript(script)
        except sqlite3.Error as error:
            self._writing.close()
            raise StoreFailed(path, error) from error
        self._writer = threading.Thread(target=self._write, name="handrail store writer", daemon=True)
        self._writer.start()
        self._closed = False

    def _connect(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise StoreFailed(self.path, error) from error
        try:
            for pragma in _PRAGMAS:
                connection.execute(pragma)
        except sqlite3.Error as error:
            connection.close()
            raise StoreFailed(self.path, error) from error
        return connection

    async def change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Change something. Out: what `work` returned, after it is on disk; StoreFailed where it could not be done."""
        if self._closed:
            raise StoreFailed(self.path, "it is closed")
        job = _Job(work, asyncio.get_running_loop())
        self._jobs.put(job)
        return await job.done

    async def execute(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Change something by one statement."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(statement, values)

        await self.change(work)

    async def look(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Read something, beside all changes."""
        if self._closed:
            raise StoreFailed(self.path, "it is closed")
        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)
        except sqlite3.Error as error:
            raise StoreFailed(self.path, error) from error

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
            self._reading.append(connection)
        return work(connection)

    async def close(self) -> None:
        """Finish what waits, and let go of the file."""
        if self._closed:
            return
        self._closed = True
        self._jobs.put(None)
        await asyncio.to_thread(self._writer.join)
        await asyncio.to_thread(self._readers.shutdown)
        for connection in (*self._reading, self._writing):
            connection.close()

    # In the writer's thread

    def _write(self) -> None:
        while (job := self._jobs.get()) is not None:
            batch, last = [job], False
            while len(batch) < MOST_AT_ONCE and not self._jobs.empty():
                following = self._jobs.get()
                if following is None:
                    last = True
                    break
                batch.append(following)
            self._commit(batch)
            if last:
                return

    def _commit(self, batch: list[_Job]) -> None:
        """All together; where that fails each alone, so that nobody pays for another's mistake."""
        try:
            found = self._together(batch)
        except Exception as error:
            name: str = getattr(error, "sqlite_errorname", "")
            if name.startswith("SQLITE_IOERR"):
                self._broken = StoreFailed(self.path, f"{error}; nothing more is written until the server starts anew")
                log.critical("%s", self._broken)
            if len(batch) == 1 or self._broken is not None or name.startswith("SQLITE_BUSY"):  # all have waited once
                wrapped = StoreFailed(self.path, error) if isinstance(error, sqlite3.Error) else error
                for job in batch:
                    job.settle(None, self._broken or wrapped)
                return
            for job in batch:
                self._commit([job])
            return
        for job, result in zip(batch, found, strict=True):
            job.settle(result, None)

    def _together(self, batch: list[_Job]) -> list[Any]:
        if self._broken is not None:
            raise self._broken
        connection = self._writing
        connection.execute("BEGIN IMMEDIATE")
        try:
            found = [job.work(connection) for job in batch]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return found
