"""A session store in one SQLite file."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, Self, TypeVar

from handrail.platform import RAW
from handrail.session_store.base import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreError,
    SessionStoreListEntry,
    SessionSummaryEntry,
)
from handrail.session_store.summary import fold_session_summary

__all__ = ["SqliteSessionStore"]

T = TypeVar("T")

_VERSION = 1
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    subpath TEXT NOT NULL,
    entry TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS entries_by_key ON entries (project, session, subpath, id);
CREATE TABLE IF NOT EXISTS sessions (
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    mtime INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (project, session)
) WITHOUT ROWID;
PRAGMA user_version = {_VERSION};
COMMIT;
"""
_BUSY_SECONDS = 30.0
"""How long a call waits for another process that writes to the same file."""


class SqliteSessionStore(SessionStore):
    """Sessions in the file `path`, which is created with mode 0600. Several processes of one machine may share it.

    An append is on disk when it returns. Calls run one after another in a separate thread, so they never block the
    event loop. Close the store, or use it with `async with`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="handrail session store")
        self._database: sqlite3.Connection | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the file after the calls that are under way. Idempotent; later calls raise SessionStoreError."""
        if not self._closed:
            self._closed = True
            await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
            self._thread.shutdown(wait=False)

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        project, session, subpath = key["project_key"], key["session_id"], key.get("subpath", "")
        lines = [json.dumps(entry) for entry in entries]  # now: the caller may change the entries while this waits

        def write(database: sqlite3.Connection) -> None:
            with database:
                database.execute("BEGIN IMMEDIATE")
                database.executemany(
                    "INSERT INTO entries (project, session, subpath, entry) VALUES (?, ?, ?, ?)",
                    [(project, session, subpath, line) for line in lines],
                )
                if not subpath:
                    _update_summary(database, key, [json.loads(line) for line in lines])

        await self._run(write)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        place = key["project_key"], key["session_id"], key.get("subpath", "")

        def read(database: sqlite3.Connection) -> list[SessionStoreEntry]:
            rows = database.execute(
                "SELECT entry FROM entries WHERE project = ? AND session = ? AND subpath = ? ORDER BY id", place
            )
            return [json.loads(row[0]) for row in rows]

        return await self._run(read) or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        return [
            {"session_id": summary["session_id"], "mtime": summary["mtime"]}
            for summary in await self.list_session_summaries(project_key)
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        def read(database: sqlite3.Connection) -> list[SessionSummaryEntry]:
            rows = database.execute(
                "SELECT session, mtime, data FROM sessions WHERE project = ? ORDER BY mtime DESC", (project_key,)
            )
            return [{"session_id": row[0], "mtime": row[1], "data": json.loads(row[2])} for row in rows]

        return await self._run(read)

    async def delete(self, key: SessionKey) -> None:
        project, session, subpath = key["project_key"], key["session_id"], key.get("subpath", "")

        def write(database: sqlite3.Connection) -> None:
            with database:
                database.execute("BEGIN IMMEDIATE")
                if subpath:
                    database.execute(
                        "DELETE FROM entries WHERE project = ? AND session = ? AND subpath = ?",
                        (project, session, subpath),
                    )
                else:
                    for table in ("entries", "sessions"):
                        database.execute(
                            f"DELETE FROM {table} WHERE project = ? AND session = ?",  # noqa: S608 - our own names
                            (project, session),
                        )

        await self._run(write)

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        def read(database: sqlite3.Connection) -> list[str]:
            rows = database.execute(
                "SELECT DISTINCT subpath FROM entries WHERE project = ? AND session = ? AND subpath <> ''",
                (key["project_key"], key["session_id"]),
            )
            return [row[0] for row in rows]

        return await self._run(read)

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def call() -> T:
            try:
                return work(self._open())
            except (sqlite3.Error, OSError) as error:
                raise SessionStoreError(f"session store {self._path}: {error}") from error

        if self._closed:
            raise SessionStoreError(f"session store {self._path} is closed; make a new one")
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    def _open(self) -> sqlite3.Connection:
        if self._database is None:
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | RAW, 0o600))
            database = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
            try:
                version = database.execute("PRAGMA user_version").fetchone()[0]
                if version > _VERSION:
                    raise SessionStoreError(
                        f"session store {self._path} has format {version}, and this version reads up to {_VERSION};"
                        " update handrail"
                    )
                database.execute("PRAGMA journal_mode = WAL")
                database.execute("PRAGMA synchronous = FULL")
                if version < _VERSION:
                    database.executescript(_SCHEMA)
            except BaseException:
                database.close()
                raise
            self._database = database
        return self._database

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None


def _update_summary(database: sqlite3.Connection, key: SessionKey, entries: list[Any]) -> None:
    owner = key["project_key"], key["session_id"]
    with closing(
        database.execute("SELECT mtime, data FROM sessions WHERE project = ? AND session = ?", owner)
    ) as cursor:
        row = cursor.fetchone()
    before: SessionSummaryEntry | None = None
    if row is not None:
        before = {"session_id": owner[1], "mtime": row[0], "data": json.loads(row[1])}
    summary = fold_session_summary(before, key, entries)
    latest = database.execute("SELECT max(mtime) FROM sessions WHERE project = ?", owner[:1]).fetchone()[0] or 0
    # Always later than the last: the latest session must be found.
    mtime = max(round(time.time() * 1000), latest + 1)
    database.execute(
        "INSERT OR REPLACE INTO sessions (project, session, mtime, data) VALUES (?, ?, ?, ?)",
        (*owner, mtime, json.dumps(summary["data"])),
    )
