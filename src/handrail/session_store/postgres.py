"""A session store in PostgreSQL, shared by many machines. Needs the extra `postgres` (asyncpg)."""

from __future__ import annotations

import asyncio
import importlib
import json
from typing import Any, Self

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

__all__ = ["PostgresSessionStore"]

# JSON is stored as text, because `jsonb` rejects \u0000 and unpaired surrogates, which tool output may contain.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS handrail_entries (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    subpath TEXT NOT NULL,
    entry TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS handrail_entries_by_key ON handrail_entries (project, session, subpath, id);
CREATE TABLE IF NOT EXISTS handrail_sessions (
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    mtime BIGINT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (project, session)
);
"""
_SCHEMA_LOCK = 0x68616E64
"""Two clients that create the tables at the same moment would fail without a lock, in spite of IF NOT EXISTS."""


class PostgresSessionStore(SessionStore):
    """Sessions in the tables `handrail_entries` and `handrail_sessions` of the database `dsn`, created when missing.

    An append is committed when it returns. The store connects at its first use, with at most `connections`, and belongs
    to the event loop of that moment. Close it, or use it with `async with`.
    """

    def __init__(self, dsn: str, *, connections: int = 4) -> None:
        self._dsn = dsn
        self._connections = connections
        self._pool: Any = None
        self._connecting = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self._connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. A later call connects again."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        project, session, subpath = key["project_key"], key["session_id"], key.get("subpath", "")
        lines = [json.dumps(entry) for entry in entries]
        pool = await self._connect()
        async with pool.acquire() as connection, connection.transaction():
            # Appends to one session take turns: ids are assigned before the commit, so that otherwise the order of
            # two appends, and the summary, could depend on which commits first.
            await connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended($1 || chr(10) || $2, 0))", project, session
            )
            await connection.executemany(
                "INSERT INTO handrail_entries (project, session, subpath, entry) VALUES ($1, $2, $3, $4)",
                [(project, session, subpath, line) for line in lines],
            )
            if not subpath:
                await _update_summary(connection, key, [json.loads(line) for line in lines])

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        pool = await self._connect()
        rows = await pool.fetch(
            "SELECT entry FROM handrail_entries WHERE project = $1 AND session = $2 AND subpath = $3 ORDER BY id",
            key["project_key"],
            key["session_id"],
            key.get("subpath", ""),
        )
        return [json.loads(row["entry"]) for row in rows] or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        pool = await self._connect()
        rows = await pool.fetch(
            "SELECT session, mtime FROM handrail_sessions WHERE project = $1 ORDER BY mtime DESC", project_key
        )
        return [{"session_id": row["session"], "mtime": row["mtime"]} for row in rows]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        pool = await self._connect()
        rows = await pool.fetch(
            "SELECT session, mtime, data FROM handrail_sessions WHERE project = $1 ORDER BY mtime DESC", project_key
        )
        return [{"session_id": row["session"], "mtime": row["mtime"], "data": json.loads(row["data"])} for row in rows]

    async def delete(self, key: SessionKey) -> None:
        owner, subpath = (key["project_key"], key["session_id"]), key.get("subpath", "")
        pool = await self._connect()
        if subpath:
            await pool.execute(
                "DELETE FROM handrail_entries WHERE project = $1 AND session = $2 AND subpath = $3", *owner, subpath
            )
            return
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("DELETE FROM handrail_entries WHERE project = $1 AND session = $2", *owner)
            await connection.execute("DELETE FROM handrail_sessions WHERE project = $1 AND session = $2", *owner)

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        pool = await self._connect()
        rows = await pool.fetch(
            "SELECT DISTINCT subpath FROM handrail_entries WHERE project = $1 AND session = $2 AND subpath <> ''",
            key["project_key"],
            key["session_id"],
        )
        return [row["subpath"] for row in rows]

    async def _connect(self) -> Any:
        async with self._connecting:
            if self._pool is None:
                self._pool = await _open_pool(self._dsn, self._connections)
            return self._pool


async def _open_pool(dsn: str, connections: int) -> Any:
    try:
        asyncpg: Any = importlib.import_module("asyncpg")  # untyped
    except ImportError:
        raise SessionStoreError(
            "PostgresSessionStore needs asyncpg, which is not installed; run `pip install 'handrail[postgres]'`"
        ) from None
    try:
        pool: Any = await asyncpg.create_pool(dsn, min_size=1, max_size=connections)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        # The dsn may contain a password, so it is not shown.
        raise SessionStoreError(
            f"cannot connect to the PostgreSQL of the session store: {error}; check that it runs and the dsn"
        ) from error
    try:
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _SCHEMA_LOCK)
            await connection.execute(_SCHEMA)
    except BaseException:
        await pool.close()
        raise
    return pool


async def _update_summary(connection: Any, key: SessionKey, entries: list[Any]) -> None:
    owner = key["project_key"], key["session_id"]
    row = await connection.fetchrow(
        "SELECT mtime, data FROM handrail_sessions WHERE project = $1 AND session = $2", *owner
    )
    before: SessionSummaryEntry | None = None
    if row is not None:
        before = {"session_id": owner[1], "mtime": row["mtime"], "data": json.loads(row["data"])}
    summary = fold_session_summary(before, key, entries)
    # The time is the server's, because clients' clocks differ, and always later than the last: the latest session must
    # be found.
    await connection.execute(
        """
        INSERT INTO handrail_sessions (project, session, mtime, data)
        SELECT $1, $2, greatest(
            (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
            (SELECT coalesce(max(mtime), 0) + 1 FROM handrail_sessions WHERE project = $1)
        ), $3
        ON CONFLICT (project, session) DO UPDATE SET mtime = excluded.mtime, data = excluded.data
        """,
        *owner,
        json.dumps(summary["data"]),
    )
