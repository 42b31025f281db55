"""Publication cursors of all sessions: their rows in the SQLite store, and their comparison with NATS.

The functions take a connection; those marked "in a transaction" must run inside `Database.change`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from enum import Enum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from handrail.bridge.cluster.store.session_stream import MOST_BYTES, MOST_EVENTS, Entry, Newest, batches
from handrail.bridge.store.base import Bounds, Event, NewEvent, Receipt
from handrail.bridge.store.event_log import append_events, cut_events, read_with_text, size_after

__all__ = [
    "TABLES",
    "Cursor",
    "Divergence",
    "Unpublished",
    "append_with_receipt",
    "bounds_of",
    "cursor_of",
    "divergence",
    "drop_tail",
    "events_of",
    "forget_old_receipts",
    "held_epochs",
    "next_entries",
    "note_stream",
    "published_sessions",
    "put_cursor",
    "unpublished",
]

TABLES: Final = """
CREATE TABLE IF NOT EXISTS published (
    session TEXT PRIMARY KEY, seq INTEGER NOT NULL, place INTEGER NOT NULL, epoch INTEGER NOT NULL,
    claiming INTEGER NOT NULL, first INTEGER NOT NULL, held INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS receipt_of (
    command TEXT PRIMARY KEY, session TEXT NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS receipt_of_session ON receipt_of (session, seq);
CREATE TABLE IF NOT EXISTS stream (created TEXT NOT NULL);
"""
"""`receipt_of` rows live as long as their receipts, because events that NATS lost are published with them again."""


class Cursor(Struct, frozen=True):
    """The part of a session that is on NATS as far as this machine knows; NATS may have more.

    seq       number of the last published event
    place     stream sequence of the session's last message
    epoch     epoch of the last message; events above `seq` were written under it
    claiming  epoch that this machine may have announced without learning the outcome; 0 for none
    first     lowest event number retained on NATS
    held      this machine owns the session and has not released it
    """

    seq: int = 0
    place: int = 0
    epoch: int = 0
    claiming: int = 0
    first: int = 1
    held: bool = False


class Divergence(Enum):
    """How NATS differs from the cursor, which decides what may happen to unpublished events.

    NONE         no other machine has written since: they follow the last message
    ROLLED_BACK  the same, but NATS lost messages: those have to be published again first
    FENCED       another machine continued without them: they are void
    """

    NONE = "none"
    ROLLED_BACK = "rolled back"
    FENCED = "fenced"


def divergence(cursor: Cursor, newest: Newest | None) -> Divergence:
    """Compare a cursor with the last message of the session on NATS. Pure.

    Every epoch has one owner, so a message of the cursor's epoch is this machine's. If the newest message has an
    earlier epoch, NATS lost this machine's first message: a rollback, unless that message contains events unknown here,
    which only the earlier owner can have written.
    """
    if newest is None:
        return Divergence.ROLLED_BACK if cursor.place else Divergence.NONE
    epoch, last = newest.batch.epoch, newest.batch.last
    ours = epoch in (cursor.epoch, cursor.claiming)
    if epoch > max(cursor.epoch, cursor.claiming) or (not ours and last > cursor.seq):
        return Divergence.FENCED
    return Divergence.ROLLED_BACK if last < cursor.seq or not ours else Divergence.NONE


class Unpublished(Struct, frozen=True):
    """A session with its cursor, its bounds in the store, and the bytes of the events above the cursor."""

    session: str
    cursor: Cursor
    bounds: Bounds
    size: int = 0


def bounds_of(db: sqlite3.Connection, session: str) -> Bounds:
    """The bounds of a session in the store."""
    row = db.execute("SELECT first, last FROM log WHERE session = ?", (session,)).fetchone()
    return Bounds(*row) if row else Bounds()


def cursor_of(db: sqlite3.Connection, session: str) -> Cursor | None:
    """The cursor of a session; None if this machine never claimed it."""
    query = "SELECT seq, place, epoch, claiming, first, held FROM published WHERE session = ?"
    row = db.execute(query, (session,)).fetchone()
    return Cursor(*row) if row else None


def held_epochs(db: sqlite3.Connection) -> dict[str, int]:
    """The epochs of all sessions that this machine owned and did not release."""
    return dict(db.execute("SELECT session, epoch FROM published WHERE held").fetchall())


def put_cursor(db: sqlite3.Connection, session: str, cursor: Cursor) -> None:
    """In a transaction: store a cursor."""
    row = (session, cursor.seq, cursor.place, cursor.epoch, cursor.claiming, cursor.first, cursor.held)
    db.execute("REPLACE INTO published VALUES (?, ?, ?, ?, ?, ?, ?)", row)


_WITH_CURSORS: Final = (
    "SELECT session, COALESCE(seq, 0), COALESCE(place, 0), COALESCE(epoch, 0), COALESCE(claiming, 0),"
    " COALESCE(published.first, 1), COALESCE(held, 0), log.first, last FROM log LEFT JOIN published USING (session)"
    " WHERE session <> '' AND "
)
"""The log with the empty name has only receipts of this machine; it is never published."""


def unpublished(db: sqlite3.Connection) -> list[Unpublished]:
    """All sessions with events or deletions that may be missing on NATS."""
    test = "(last > COALESCE(seq, 0) OR log.first > COALESCE(published.first, 1))"
    rows = db.execute(_WITH_CURSORS + test).fetchall()
    found = [Unpublished(row[0], Cursor(*row[1:7]), Bounds(*row[7:])) for row in rows]
    return [replace(one, size=size_after(db, one.session, one.cursor.seq)) for one in found]


def published_sessions(db: sqlite3.Connection) -> list[Unpublished]:
    """All sessions that this machine wrote to and has complete: it can republish what NATS lost of them."""
    rows = db.execute(f"{_WITH_CURSORS} epoch > 0 AND last >= seq")
    return [Unpublished(row[0], Cursor(*row[1:7]), Bounds(*row[7:])) for row in rows]


def note_stream(db: sqlite3.Connection, created: str, last: int) -> bool:
    """In a transaction: remember which stream exists. Returns whether it was recreated or lost its last messages."""
    row = db.execute("SELECT created FROM stream").fetchone()
    highest = db.execute("SELECT COALESCE(MAX(place), 0) FROM published").fetchone()[0]
    db.execute("DELETE FROM stream")
    db.execute("INSERT INTO stream VALUES (?)", (created,))
    return highest > last or (highest > 0 and row is not None and row[0] != created)


def append_with_receipt(
    db: sqlite3.Connection, session: str, events: Sequence[NewEvent], receipt: Receipt | None, now: int
) -> list[Event]:
    """In a transaction: append events and remember which receipt belongs to them."""
    added = append_events(db, session, events, receipt, now)
    if receipt is not None and added:
        db.execute("INSERT OR IGNORE INTO receipt_of VALUES (?, ?, ?)", (receipt.command, session, added[-1].seq))
    return added


def next_entries(db: sqlite3.Connection, session: str, after: int) -> tuple[int, tuple[Entry, ...], list[Receipt]]:
    """The events above `after` that fit into one batch: number of the first, entries, and their receipts."""
    found = read_with_text(db, session, after, limit=MOST_EVENTS, most_bytes=MOST_BYTES)
    if not found:
        return after + 1, (), []
    entries = [Entry(one.time, one.kind, one.data, text) for one, text in found]
    start, taken = batches(entries, found[0][0].seq)[0]
    return start, taken, _receipts(db, session, after + 1, start + len(taken) - 1)


def _receipts(db: sqlite3.Connection, session: str, first: int, last: int) -> list[Receipt]:
    rows = db.execute(
        "SELECT command, answer FROM receipt_of JOIN receipt USING (command)"
        " WHERE session = ? AND seq BETWEEN ? AND ? ORDER BY seq, command",
        (session, first, last),
    )
    return [Receipt(command, answer) for command, answer in rows]


def events_of(db: sqlite3.Connection, command: str) -> tuple[str, int, int]:
    """Session and last event number that belong to a receipt, and the published number; ("", 0, 0) for none."""
    row = db.execute(
        "SELECT receipt_of.session, receipt_of.seq, COALESCE(published.seq, 0)"
        " FROM receipt_of LEFT JOIN published USING (session) WHERE command = ?",
        (command,),
    ).fetchone()
    return row or ("", 0, 0)


def forget_old_receipts(db: sqlite3.Connection) -> None:
    """In a transaction: drop the `receipt_of` rows whose receipts have expired."""
    db.execute("DELETE FROM receipt_of WHERE command NOT IN (SELECT command FROM receipt)")


def drop_tail(db: sqlite3.Connection, session: str, after: int) -> int:
    """In a transaction: delete the events above `after` with their receipts. Returns the number of events."""
    tail = "(SELECT command FROM receipt_of WHERE session = ? AND seq > ?)"
    db.execute(f"DELETE FROM receipt WHERE command IN {tail}", (session, after))  # noqa: S608
    db.execute("DELETE FROM receipt_of WHERE session = ? AND seq > ?", (session, after))
    return cut_events(db, session, after)
