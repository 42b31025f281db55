"""One SQLite file, used from asyncio: a writer thread and three reader threads.

Writing to disk is slow because of the `fsync` at each commit, so all changes that are queued at one moment share a
transaction. A caller gets its result after the commit, never before.
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
    "PRAGMA journal_mode=WAL",  # readers do not block the writer, nor the writer the readers
    "PRAGMA synchronous=FULL",  # in WAL mode, NORMAL would lose acknowledged commits in a power failure
    "PRAGMA foreign_keys=ON",
    "PRAGMA journal_size_limit=16777216",
    "PRAGMA busy_timeout=5000",
)
MOST_IN_TRANSACTION: Final = 512
READERS: Final = 3
"""One may be updating the search index, and one searching, when events are read."""


class _Job:
    """A queued change."""

    def __init__(self, work: Work, loop: asyncio.AbstractEventLoop) -> None:
        self.work, self._loop = work, loop
        self.done: asyncio.Future[Any] = loop.create_future()

    def settle(self, result: Any, error: BaseException | None) -> None:
        """Resolve the caller's future. Called in the writer thread."""
        with contextlib.suppress(RuntimeError):  # the loop was closed, so no caller waits
            self._loop.call_soon_threadsafe(_settle, self.done, result, error)


def _settle(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.done():  # the caller was cancelled
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)


class Database:
    """The file with its writer and readers. `tables` are scripts that create the tables that do not exist yet."""

    def __init__(self, path: Path, *tables: str) -> None:
        self.path = path
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="handrail store reader")
        self._local = threading.local()
        self._reading: list[sqlite3.Connection] = []
        self._broken: StoreFailed | None = None
        """Set after an I/O error: the content of the file is unknown from then on, and every write is refused."""
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
        """Run `work` in the writer thread, within a transaction; returns its result once it is durable.

        `work` may run twice: if the shared transaction fails, each change is retried in a transaction by itself.
        Raises StoreFailed if SQLite cannot do it. Cancelling the caller does not cancel the change.
        """
        if self._closed:
            raise StoreFailed(self.path, "the store is closed")
        job = _Job(work, asyncio.get_running_loop())
        self._jobs.put(job)
        return await job.done

    async def execute(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Change something with one statement."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(statement, values)

        await self.change(work)

    async def look(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a read-only query in a reader thread. It sees every committed change and does not wait for others."""
        if self._closed:
            raise StoreFailed(self.path, "the store is closed")
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
        """Commit the queued changes and close the file."""
        if self._closed:
            return
        self._closed = True
        self._jobs.put(None)
        await asyncio.to_thread(self._writer.join)
        await asyncio.to_thread(self._readers.shutdown)
        for connection in (*self._reading, self._writing):
            connection.close()

    # In the writer thread

    def _write(self) -> None:
        while (job := self._jobs.get()) is not None:
            batch, last = [job], False
            while len(batch) < MOST_IN_TRANSACTION and not self._jobs.empty():
                following = self._jobs.get()
                if following is None:
                    last = True
                    break
                batch.append(following)
            self._commit(batch)
            if last:
                return

    def _commit(self, batch: list[_Job]) -> None:
        """Commit a batch; if that fails, commit each change by itself, so that only the faulty one fails."""
        try:
            results = self._together(batch)
        except Exception as error:
            name: str = getattr(error, "sqlite_errorname", "")
            if name.startswith("SQLITE_IOERR"):
                self._broken = StoreFailed(self.path, f"{error}; writing is disabled until the server is restarted")
                log.critical("%s", self._broken)
            # Busy: the batch has already waited for busy_timeout, and each change would wait that long again.
            if len(batch) == 1 or self._broken is not None or name.startswith("SQLITE_BUSY"):
                wrapped = StoreFailed(self.path, error) if isinstance(error, sqlite3.Error) else error
                for job in batch:
                    job.settle(None, self._broken or wrapped)
                return
            for job in batch:
                self._commit([job])
            return
        for job, result in zip(batch, results, strict=True):
            job.settle(result, None)

    def _together(self, batch: list[_Job]) -> list[Any]:
        if self._broken is not None:
            raise self._broken
        connection = self._writing
        # IMMEDIATE takes the write lock now: a read transaction that is upgraded later fails without waiting.
        connection.execute("BEGIN IMMEDIATE")
        try:
            results = [job.work(connection) for job in batch]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # SQLite has rolled back by itself after some errors, a full disk for one
                connection.execute("ROLLBACK")
            raise
        return results
