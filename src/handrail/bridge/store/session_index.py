"""The session index in SQLite, beside the event log in the same file, and the writer of both in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec

from handrail.bridge.store.base import Event, NewEvent, Receipt, SessionLine, SessionRecord
from handrail.bridge.store.clock import latest_now
from handrail.bridge.store.database import Database
from handrail.bridge.store.event_log import append_events

__all__ = ["TABLES", "SqliteSessionIndex", "SqliteSessionWriter", "delete_record", "put_record"]

TABLES: Final = """
CREATE TABLE IF NOT EXISTS session (
    id TEXT PRIMARY KEY, changed INTEGER NOT NULL, archived INTEGER NOT NULL, words TEXT NOT NULL,
    record BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS session_changed ON session (archived, changed DESC, id DESC);
CREATE INDEX IF NOT EXISTS session_newest ON session (changed DESC, id DESC);
"""
_decode: Final = msgspec.json.Decoder(SessionRecord).decode
_decode_line: Final = msgspec.json.Decoder(SessionLine).decode
"""Lines are decoded from the same JSON: msgspec skips the fields that a line lacks."""
T = TypeVar("T")
_ESCAPED: Final = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})


class SqliteSessionIndex:
    """Session records in one table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, record: SessionRecord) -> None:
        await self._database.change(lambda db: put_record(db, record))

    async def get(self, id: str) -> SessionRecord | None:
        def query(db: sqlite3.Connection) -> SessionRecord | None:
            row = db.execute("SELECT record FROM session WHERE id = ?", (id,)).fetchone()
            return _decode(row[0]) if row else None

        return await self._database.look(query)

    async def list(
        self, *, archived: bool | None = None, words: str = "", limit: int = 100, offset: int = 0
    ) -> list[SessionRecord]:
        return await self._list(_decode, archived=archived, words=words, limit=limit, offset=offset)

    async def lines(
        self, *, archived: bool | None = None, words: str = "", limit: int = 100, offset: int = 0
    ) -> list[SessionLine]:
        return await self._list(_decode_line, archived=archived, words=words, limit=limit, offset=offset)

    async def _list(
        self, decode: Callable[[bytes], T], *, archived: bool | None, words: str, limit: int, offset: int
    ) -> list[T]:
        wanted = [f"%{word.translate(_ESCAPED)}%" for word in words.casefold().split()]
        tests = ["words LIKE ? ESCAPE '\\'"] * len(wanted) + ([] if archived is None else ["archived = ?"])
        where = f"WHERE {' AND '.join(tests)}" if tests else ""
        values = (*wanted, *(() if archived is None else (archived,)), limit, offset)

        def query(db: sqlite3.Connection) -> list[T]:
            statement = f"SELECT record FROM session {where} ORDER BY changed DESC, id DESC LIMIT ? OFFSET ?"  # noqa: S608
            return [decode(row[0]) for row in db.execute(statement, values)]

        return await self._database.look(query)

    async def delete(self, id: str) -> None:
        await self._database.change(lambda db: delete_record(db, id))


def put_record(db: sqlite3.Connection, record: SessionRecord) -> None:
    """Insert or replace a record, within a transaction."""
    words = f"{record.title} {record.cwd}".casefold()
    row = (record.id, record.changed, record.archived, words, msgspec.json.encode(record))
    db.execute("REPLACE INTO session VALUES (?, ?, ?, ?, ?)", row)


def delete_record(db: sqlite3.Connection, id: str) -> None:
    """Delete a record, within a transaction."""
    db.execute("DELETE FROM session WHERE id = ?", (id,))


class SqliteSessionWriter:
    """The event log and the session index of one file, written together."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(
        self,
        session: str,
        events: Sequence[NewEvent],
        record: SessionRecord | None = None,
        receipt: Receipt | None = None,
    ) -> list[Event]:
        """Store events, record and receipt; all of them or none."""
        now = round(latest_now() * 1000)

        def work(db: sqlite3.Connection) -> list[Event]:
            if record is not None:
                put_record(db, record)
            if not events and receipt is None:
                return []
            return append_events(db, session, events, receipt, now)

        return await self._database.change(work)
