"""The event log in SQLite.

The primary key of an event, its `place`, is the session's integer key in the upper bits and the seq in the lower 32.
The events of a session are therefore contiguous, and reading a page is one range scan. The text that a search matches
is in the last column, which reading events does not touch.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Sequence
from itertools import count
from typing import Any, Final

from handrail.bridge.errors import StoreFailed
from handrail.bridge.store import search_index
from handrail.bridge.store.base import Bounds, Event, Hit, NewEvent, Receipt
from handrail.bridge.store.clock import latest_now
from handrail.bridge.store.database import Database
from handrail.bridge.store.search_index import (
    ROOM,
    find_places,
    index_some,
    list_texts,
    remove_texts,
    snippet,
    texts_between,
    words_of,
)

__all__ = [
    "TABLES",
    "SqliteEventLog",
    "append_events",
    "cut_events",
    "place_events",
    "read_with_text",
    "size_after",
]

TABLES: Final = (
    search_index.TABLES
    + """
CREATE TABLE IF NOT EXISTS log (
    key INTEGER PRIMARY KEY, session TEXT NOT NULL UNIQUE, first INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS event (
    place INTEGER PRIMARY KEY, time INTEGER NOT NULL, kind TEXT NOT NULL, data BLOB NOT NULL, text TEXT);
CREATE TABLE IF NOT EXISTS receipt (
    command TEXT PRIMARY KEY, answer BLOB NOT NULL, time INTEGER NOT NULL) WITHOUT ROWID;
"""
)
log = logging.getLogger("handrail.bridge")
INDEX_EVERY: Final = 2.0
STEPS_BEFORE_SEARCH: Final = 100
"""A search enters the newest texts first; it does not wait for more while an index is built from nothing."""
_PAGE: Final = 256
"""Rows fetched at a time: enough to keep the calls cheap without loading far more than fits into an answer."""


class SqliteEventLog:
    """Events in one table. The other tables of the server are in the same file."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._indexing = asyncio.Lock()

    async def append(
        self, session: str, events: Sequence[NewEvent], receipt: Receipt | None = None, *, time: int | None = None
    ) -> list[Event]:
        now = round(latest_now() * 1000) if time is None else time
        return await self._database.change(lambda db: append_events(db, session, events, receipt, now))

    async def read(self, session: str, after: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        return await self._database.look(lambda db: _read(db, session, after, limit, most_bytes))

    async def read_back(self, session: str, before: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        return await self._database.look(lambda db: _read_back(db, session, before, limit, most_bytes))

    async def bounds(self, session: str) -> Bounds:
        def query(db: sqlite3.Connection) -> Bounds:
            row = db.execute("SELECT first, last FROM log WHERE session = ?", (session,)).fetchone()
            return Bounds(*row) if row else Bounds()

        return await self._database.look(query)

    async def receipt(self, command: str) -> bytes | None:
        def query(db: sqlite3.Connection) -> bytes | None:
            row = db.execute("SELECT answer FROM receipt WHERE command = ?", (command,)).fetchone()
            return row[0] if row else None

        return await self._database.look(query)

    async def search(self, words: str, *, limit: int = 50, session: str | None = None) -> list[Hit]:
        wanted = words_of(words)
        if not wanted:
            return []
        await self.index(most_steps=STEPS_BEFORE_SEARCH)
        return await self._database.look(lambda db: _search(db, wanted, limit, session))

    async def index(self, *, most_steps: int | None = None) -> None:
        """Enter the texts that the search index lacks: all of them, or as many as `most_steps` transactions hold."""
        for step in count():
            if step == most_steps or not await self._index_some():
                return

    async def _index_some(self) -> bool:
        async with self._indexing:
            done = await self._database.look(index_some)
            if done:
                statement = "DELETE FROM unindexed WHERE number = ? AND place = ?"
                await self._database.change(lambda db: db.executemany(statement, done))
        return bool(done)

    async def keep_indexing(self) -> None:
        """Bring the search index up to date every `INDEX_EVERY` seconds, until cancelled."""
        while True:
            try:
                await self.index()
            except StoreFailed as error:
                log.error("failed to update the search index: %s; the next attempt is in %g s", error, INDEX_EVERY)
            await asyncio.sleep(INDEX_EVERY)

    async def forget(self, session: str, *, through: int | None = None) -> None:
        await self._database.change(lambda db: _forget(db, session, through))

    async def size(self, session: str) -> int:
        return await self._database.look(lambda db: size_after(db, session, 0))

    async def close(self) -> None:
        return


def _key(db: sqlite3.Connection, session: str) -> int | None:
    row = db.execute("SELECT key FROM log WHERE session = ?", (session,)).fetchone()
    return row[0] if row else None


def _all(key: int) -> tuple[int, int]:
    return key * ROOM, (key + 1) * ROOM - 1


def append_events(
    db: sqlite3.Connection, session: str, events: Sequence[NewEvent], receipt: Receipt | None, now: int
) -> list[Event]:
    """Number events and store them, within a transaction."""
    if receipt is not None:
        db.execute("INSERT OR IGNORE INTO receipt VALUES (?, ?, ?)", (receipt.command, receipt.answer, now))
    row: Any = db.execute("SELECT key, last FROM log WHERE session = ?", (session,)).fetchone()
    if row is None:
        row = (db.execute("INSERT INTO log (session, first, last) VALUES (?, 1, 0)", (session,)).lastrowid, 0)
    key: int = row[0]
    last: int = row[1]
    added = [Event(last + n, now, event.kind, event.data) for n, event in enumerate(events, 1)]
    start = key * ROOM
    _insert(db, start, [(event, new.text) for event, new in zip(added, events, strict=True)])
    db.execute("UPDATE log SET last = ? WHERE key = ?", (last + len(added), key))
    return added


def _insert(db: sqlite3.Connection, start: int, events: Sequence[tuple[Event, str]]) -> None:
    rows = [(start + event.seq, event.time, event.kind, event.data, text or None) for event, text in events]
    db.executemany("INSERT INTO event VALUES (?, ?, ?, ?, ?)", rows)
    list_texts(db, [(start + event.seq, event.time) for event, text in events if text])


def place_events(
    db: sqlite3.Connection, session: str, events: Sequence[tuple[Event, str]], *, first: int, last: int
) -> None:
    """Store numbered events with their texts, within a transaction. The session then has `first` through `last`.

    Events that are already stored are left alone.
    """
    db.execute("INSERT OR IGNORE INTO log (session, first, last) VALUES (?, 1, 0)", (session,))
    key, stored = db.execute("SELECT key, last FROM log WHERE session = ?", (session,)).fetchone()
    start = key * ROOM
    new = [(event, text) for event, text in events if max(stored + 1, first) <= event.seq <= last]
    _insert(db, start, new)
    db.execute("UPDATE log SET last = MAX(last, ?) WHERE key = ?", (last, key))
    _forget(db, session, first - 1)


def cut_events(db: sqlite3.Connection, session: str, after: int) -> int:
    """Remove the events after a number, within a transaction; returns how many there were.

    The numbers will be used for other events: a new owner of the session has already given them away.
    """
    row = db.execute("SELECT key, last FROM log WHERE session = ?", (session,)).fetchone()
    if row is None or row[1] <= after:
        return 0
    key, last = row
    places = (key * ROOM + after + 1, key * ROOM + last)
    remove_texts(db, *places)
    db.execute("DELETE FROM event WHERE place BETWEEN ? AND ?", places)
    db.execute("UPDATE log SET first = MIN(first, ?), last = ? WHERE key = ?", (after + 1, after, key))
    return last - after


def read_with_text(
    db: sqlite3.Connection, session: str, after: int, *, limit: int, most_bytes: int
) -> list[tuple[Event, str]]:
    """As `EventLog.read`, each event with its searchable text."""
    found = _read(db, session, after, limit, most_bytes)
    key = _key(db, session)
    if not found or key is None:
        return []
    start = key * ROOM
    texts = texts_between(db, start + found[0].seq, start + found[-1].seq)
    return [(event, texts.get(start + event.seq, "")) for event in found]


def size_after(db: sqlite3.Connection, session: str, after: int) -> int:
    """Bytes of the events after a number."""
    key = _key(db, session)
    if key is None:
        return 0
    start, end = _all(key)
    query = "SELECT COALESCE(SUM(LENGTH(data)), 0) FROM event WHERE place BETWEEN ? AND ?"
    return db.execute(query, (start + after + 1, end)).fetchone()[0]


def _read(db: sqlite3.Connection, session: str, after: int, limit: int, most_bytes: int) -> list[Event]:
    key = _key(db, session)
    if key is None:
        return []
    start, end = _all(key)
    rows = db.execute(
        "SELECT place, time, kind, data FROM event WHERE place > ? AND place <= ? ORDER BY place LIMIT ?",
        (start + max(after, 0), end, limit),
    )
    return _fitting(rows, start, most_bytes)


def _read_back(db: sqlite3.Connection, session: str, before: int, limit: int, most_bytes: int) -> list[Event]:
    key = _key(db, session)
    if key is None:
        return []
    start, end = _all(key)
    rows = db.execute(
        "SELECT place, time, kind, data FROM event WHERE place >= ? AND place < ? ORDER BY place DESC LIMIT ?",
        (start, min(start + max(before, 0), end), limit),
    )
    return _fitting(rows, start, most_bytes)[::-1]


def _fitting(rows: sqlite3.Cursor, start: int, most_bytes: int) -> list[Event]:
    """Events from the first rows, up to a number of bytes; at least one if there is a row."""
    found: list[Event] = []
    while page := rows.fetchmany(_PAGE):
        for place, time, kind, data in page:
            most_bytes -= len(data)
            if found and most_bytes < 0:
                return found
            found.append(Event(place - start, time, kind, data))
    return found


def _search(db: sqlite3.Connection, words: list[str], limit: int, session: str | None) -> list[Hit]:
    key = None if session is None else _key(db, session)
    if session is not None and key is None:
        return []
    return [_hit(db, time, place, text, words) for time, place, text in find_places(db, words, limit, key)]


def _hit(db: sqlite3.Connection, time: int, place: int, text: str, words: list[str]) -> Hit:
    key, seq = divmod(place, ROOM)
    (session,) = db.execute("SELECT session FROM log WHERE key = ?", (key,)).fetchone()
    return Hit(session, seq, time, snippet(text, words))


def _forget(db: sqlite3.Connection, session: str, through: int | None) -> None:
    row = db.execute("SELECT key, first, last FROM log WHERE session = ?", (session,)).fetchone()
    if row is None:
        return
    key, first, last = row
    end = last if through is None else min(through, last)
    places = (key * ROOM, key * ROOM + end)
    remove_texts(db, *places)
    db.execute("DELETE FROM event WHERE place BETWEEN ? AND ?", places)
    db.execute("UPDATE log SET first = ? WHERE key = ?", (max(first, end + 1), key))
