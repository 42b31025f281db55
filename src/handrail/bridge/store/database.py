"""One SQLite file, used from asyncio: a writer thread and three reader threads.

Writing to disk is slow because of the `fsync` at each commit, so all changes that are queued at one moment share a
transaction. A caller gets its result after the commit, never before. Callers that have just shared a commit are about
to write again; the next one waits a moment until as many changes are queued. A caller that writes alone never waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
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
GATHER_SECONDS: Final = 0.002
"""The longest wait for the callers that shared the last commit."""
READERS: Final = 3
"""One may be updating the search index, and one searching, when events are read."""


class _Job:
    """A queued change and its outcome: what it returned, or why it failed."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.outcome: Any = None


class _Request:
    """Changes that one caller queued together."""

    def __init__(self, works: Sequence[Work]) -> None:
        self.jobs = [_Job(work) for work in works]
        self.loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self.loop.create_future()


def _settle(requests: Sequence[_Request]) -> None:
    """Resolve the futures of the callers. Called in the writer thread."""
    for loop in {request.loop for request in requests}:
        done = [request.done for request in requests if request.loop is loop]
        with contextlib.suppress(RuntimeError):  # the loop was closed, so no caller waits
            loop.call_soon_threadsafe(_resolve, done)


def _resolve(futures: Sequence[asyncio.Future[None]]) -> None:
    for done in futures:
        if not done.done():  # else the caller was cancelled
            done.set_result(None)


class _Requests:
    """The queue of the writer thread."""

    def __init__(self) -> None:
        self._waiting: deque[_Request | None] = deque()
        self._enough = 1
        """The length at which the writer is woken; while it commits, a wake-up would be wasted."""
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._shared = 1
        """How many requests the last commit had."""

    def put(self, request: _Request | None) -> None:
        """Add a request; None ends the queue."""
        self._waiting.append(request)
        if request is None or len(self._waiting) >= self._enough:
            self._wake.put(None)

    def take(self) -> tuple[list[_Request], bool]:
        """Wait for requests. Returns those of the next commit, and whether the queue has ended behind them."""
        self._enough = 1  # before the length is read: a request is either seen here or wakes the writer
        while not self._waiting:
            self._wake.get()
        if self._shared > 1:
            self._gather(self._shared)
        self._enough = sys.maxsize
        while not self._wake.empty():  # of requests that are taken now, or seen by the next call
            self._wake.get()
        requests: list[_Request] = []
        count = 0
        while self._waiting and count < MOST_IN_TRANSACTION:
            request = self._waiting.popleft()
            if request is None:
                return requests, True
            requests.append(request)
            count += len(request.jobs)
        self._shared = len(requests)
        return requests, False

    def _gather(self, enough: int) -> None:
        self._enough = enough
        end = time.monotonic() + GATHER_SECONDS
        # In a loop: a wake-up of an earlier request may be left.
        while len(self._waiting) < enough and self._waiting[-1] is not None and (left := end - time.monotonic()) > 0:
            with contextlib.suppress(Empty):
                self._wake.get(timeout=left)


class Database:
    """The file with its writer and readers. `tables` are scripts that create the tables that do not exist yet."""

    def __init__(self, path: Path, *tables: str) -> None:
        self.path = path
        self._requests = _Requests()
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
        (outcome,) = await self.change_all([work])
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async def change_all(self, works: Sequence[Callable[[sqlite3.Connection], T]]) -> list[T | BaseException]:
        """Run several changes as `change` does, in order and in one transaction; returns each result or error.

        If one of them fails, each is retried in a transaction by itself, so the others are not affected.
        """
        if self._closed:
            raise StoreFailed(self.path, "the store is closed")
        request = _Request(works)
        self._requests.put(request)
        await request.done
        return [job.outcome for job in request.jobs]

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
        self._requests.put(None)
        await asyncio.to_thread(self._writer.join)
        await asyncio.to_thread(self._readers.shutdown)
        for connection in (*self._reading, self._writing):
            connection.close()

    # In the writer thread

    def _write(self) -> None:
        ended = False
        while not ended:
            requests, ended = self._requests.take()
            if requests:
                self._commit([job for request in requests for job in request.jobs])
                _settle(requests)

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
                    job.outcome = self._broken or wrapped
                return
            for job in batch:
                self._commit([job])
            return
        for job, result in zip(batch, results, strict=True):
            job.outcome = result

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
