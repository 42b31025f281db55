"""How far each session's events have come to NATS. In: a connection to the store. Out: rows of it; no waiting here."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from handrail.bridge.cluster.store.batch import MOST_BYTES, MOST_EVENTS, Entry, batches
from handrail.bridge.store.base import Bounds, Event, NewEvent, Receipt
from handrail.bridge.store.event_log import append_events, cut_events, read_with_text, size_after

__all__ = [
    "TABLES",
    "Ahead",
    "Cursor",
    "ahead",
    "append_noted",
    "bounds_of",
    "cursor_of",
    "drop_tail",
    "events_of",
    "forget_old_receipts",
    "held_epochs",
    "keep_cursor",
    "next_entries",
    "note_stream",
    "published_whole",
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
"""Which events a receipt goes with is known as long as there is the receipt: NATS may have to be told again."""


class Cursor(Struct, frozen=True):
    """What of a session NATS has, as far as we know; it may have more.

    seq       the number of the last event
    place     where in the stream the session's last message is
    epoch     of the owner whose events ours go on from; above `seq` ours were written under it
    claiming  an epoch of ours that NATS may know already, while we do not know that it does; 0 for none
    first     the lowest number that NATS was told to keep
    held      it is ours, and was not let go
    """

    seq: int = 0
    place: int = 0
    epoch: int = 0
    claiming: int = 0
    first: int = 1
    held: bool = False


class Ahead(Struct, frozen=True):
    """A session of which we have more than NATS, as far as we know: what the store has, and bytes that NATS has not."""

    session: str
    cursor: Cursor
    bounds: Bounds
    size: int = 0


def bounds_of(db: sqlite3.Connection, session: str) -> Bounds:
    """What the store has of a session."""
    row = db.execute("SELECT first, last FROM log WHERE session = ?", (session,)).fetchone()
    return Bounds(*row) if row else Bounds()


def cursor_of(db: sqlite3.Connection, session: str) -> Cursor | None:
    """Of one session; None where it was never claimed."""
    query = "SELECT seq, place, epoch, claiming, first, held FROM published WHERE session = ?"
    row = db.execute(query, (session,)).fetchone()
    return Cursor(*row) if row else None


def held_epochs(db: sqlite3.Connection) -> dict[str, int]:
    """Every session that is ours and was not let go, with its epoch."""
    return dict(db.execute("SELECT session, epoch FROM published WHERE held").fetchall())


def keep_cursor(db: sqlite3.Connection, session: str, cursor: Cursor) -> None:
    """Within a change."""
    row = (session, cursor.seq, cursor.place, cursor.epoch, cursor.claiming, cursor.first, cursor.held)
    db.execute("REPLACE INTO published VALUES (?, ?, ?, ?, ?, ?, ?)", row)


_ALL: Final = (
    "SELECT session, COALESCE(seq, 0), COALESCE(place, 0), COALESCE(epoch, 0), COALESCE(claiming, 0),"
    " COALESCE(published.first, 1), COALESCE(held, 0), log.first, last FROM log LEFT JOIN published USING (session)"
    " WHERE session <> '' AND "
)
"""The session without a name has receipts alone, and they stay here."""


def ahead(db: sqlite3.Connection) -> list[Ahead]:
    """Every session of which NATS may not have all."""
    test = "(last > COALESCE(seq, 0) OR log.first > COALESCE(published.first, 1))"
    found = [Ahead(row[0], Cursor(*row[1:7]), Bounds(*row[7:])) for row in db.execute(_ALL + test).fetchall()]
    return [replace(one, size=size_after(db, one.session, one.cursor.seq)) for one in found]


def published_whole(db: sqlite3.Connection) -> list[Ahead]:
    """Every session that we wrote to and have all of: what NATS has lost of it can be published again."""
    rows = db.execute(f"{_ALL} epoch > 0 AND last >= seq")
    return [Ahead(row[0], Cursor(*row[1:7]), Bounds(*row[7:])) for row in rows]


def note_stream(db: sqlite3.Connection, created: str, last: int) -> bool:
    """Within a change: note which stream there is, and the place of its last message. Out: whether it has lost some."""
    row = db.execute("SELECT created FROM stream").fetchone()
    highest = db.execute("SELECT COALESCE(MAX(place), 0) FROM published").fetchone()[0]
    db.execute("DELETE FROM stream")
    db.execute("INSERT INTO stream VALUES (?)", (created,))
    return highest > last or (highest > 0 and row is not None and row[0] != created)


def append_noted(
    db: sqlite3.Connection, session: str, events: Sequence[NewEvent], receipt: Receipt | None, now: int
) -> list[Event]:
    """Within a change: append events, and note that the receipt goes with them."""
    added = append_events(db, session, events, receipt, now)
    if receipt is not None and added:
        db.execute("INSERT OR IGNORE INTO receipt_of VALUES (?, ?, ?)", (receipt.command, session, added[-1].seq))
    return added


def next_entries(db: sqlite3.Connection, session: str, after: int) -> tuple[int, tuple[Entry, ...], list[Receipt]]:
    """As many events after a number as fit into one batch: the first one's number, they, and their receipts."""
    found = read_with_text(db, session, after, limit=MOST_EVENTS, most_bytes=MOST_BYTES)
    if not found:
        return after + 1, (), []
    entries = [Entry(one.time, one.kind, one.data, text) for one, text in found]
    start, taken = batches(entries, found[0][0].seq)[0]
    return start, taken, _receipts(db, session, after + 1, start + len(taken) - 1)


def _receipts(db: sqlite3.Connection, session: str, first: int, last: int) -> list[Receipt]:
    """What the commands were answered that made these events."""
    rows = db.execute(
        "SELECT command, answer FROM receipt_of JOIN receipt USING (command)"
        " WHERE session = ? AND seq BETWEEN ? AND ? ORDER BY seq, command",
        (session, first, last),
    )
    return [Receipt(command, answer) for command, answer in rows]


def events_of(db: sqlite3.Connection, command: str) -> tuple[str, int, int]:
    """The session whose events a receipt goes with, their last number, and what NATS has of it; ("", 0, 0) for none."""
    row = db.execute(
        "SELECT receipt_of.session, receipt_of.seq, COALESCE(published.seq, 0)"
        " FROM receipt_of LEFT JOIN published USING (session) WHERE command = ?",
        (command,),
    ).fetchone()
    return row or ("", 0, 0)


def forget_old_receipts(db: sqlite3.Connection) -> None:
    """Within a change: receipts that are kept no longer go with no events."""
    db.execute("DELETE FROM receipt_of WHERE command NOT IN (SELECT command FROM receipt)")


def drop_tail(db: sqlite3.Connection, session: str, after: int) -> int:
    """Within a change: undo events that do not count, and what commands were answered with them. Out: how many."""
    tail = "(SELECT command FROM receipt_of WHERE session = ? AND seq > ?)"
    db.execute(f"DELETE FROM receipt WHERE command IN {tail}", (session, after))  # noqa: S608
    db.execute("DELETE FROM receipt_of WHERE session = ? AND seq > ?", (session, after))
    return cut_events(db, session, after)
