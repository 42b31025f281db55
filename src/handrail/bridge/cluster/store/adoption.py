"""Takes a session up. In: a session that was claimed, under an epoch. Out: the store has what NATS has, and it is ours.

First it is said on NATS that somebody new writes: from then on whoever had it before is stopped, and what is there
stays as it is. Then the store is brought there. What only our store has goes on from it where we were the last to
write, and is given up where somebody else was: nobody was ever told of that. Cut off anywhere and begun again, the end
is the same.
"""

from __future__ import annotations

import logging
import sqlite3
from typing import Final

from msgspec.structs import replace

from handrail.bridge.cluster.store.batch import Batch
from handrail.bridge.cluster.store.cursors import Cursor, bounds_of, cursor_of, drop_tail, keep_cursor
from handrail.bridge.cluster.store.line import weight
from handrail.bridge.cluster.store.outbox import Outbox
from handrail.bridge.cluster.store.session_stream import Newest, SessionStream
from handrail.bridge.cluster.store.standing import Standing, standing
from handrail.bridge.errors import ClusterAway, Fenced
from handrail.bridge.store.base import Bounds, Event
from handrail.bridge.store.database import Database
from handrail.bridge.store.event_log import SqliteEventLog, place_events, size_after

__all__ = ["adopt"]

log = logging.getLogger("handrail.bridge")
PAGE_BYTES: Final = 2 * 1024 * 1024
PAGE_EVENTS: Final = 2000
"""So much is written in one step, so that whoever writes meanwhile waits for no more than that."""
MOST_TRIES: Final = 20
"""Whoever had it before may write a last message just before we do; not many."""


async def adopt(
    session: str,
    epoch: int,
    *,
    database: Database,
    local: SqliteEventLog,
    remote: SessionStream,
    outbox: Outbox,
    wait: bool = False,
) -> None:
    """Make it ours. `wait`: until NATS has all that we have. ClusterAway; Fenced where somebody claimed it after us."""
    await outbox.halt(session)
    known, bounds = await database.look(lambda db: cursor_of(db, session)), await local.bounds(session)
    new = epoch == 1 and known is None and bounds == Bounds()
    cursor, there = known or Cursor(), None
    for _ in range(MOST_TRIES):
        there = None if new else await remote.newest(session)
        new = False
        if there is not None and there.batch.epoch > epoch:
            raise Fenced(session)
        cursor = await _follow(session, epoch, cursor, there, database, outbox)
        try:
            place = await _begin(session, epoch, there, remote)
            break
        except Fenced:  # somebody wrote just now: look again
            continue
    else:
        raise ClusterAway(f"somebody else writes to session {session} all the time")
    first, last = (there.batch.first, there.batch.last) if there else (1, 0)
    had = (await local.bounds(session)).last
    await _fetch(session, first, last, database=database, remote=remote, had=had)
    ours = replace(cursor, epoch=epoch, claiming=0, place=place, seq=last, first=first, held=True)
    await _own(session, ours, database, outbox)
    if wait and not await outbox.published(session, outbox.last(session)):
        raise ClusterAway(f"session {session} was given up while it was taken up")


async def _follow(
    session: str, epoch: int, cursor: Cursor, there: Newest | None, database: Database, outbox: Outbox
) -> Cursor:
    """Give up what does not follow from what is there, and note that we are about to begin. Out: how we stand then.

    Noted before NATS knows: cut off between the two, our next life has to know that this epoch was ours.
    """
    found = standing(cursor, there)
    if found is Standing.ROLLED_BACK:
        had, has = cursor.seq, there.batch.last if there else 0
        outbox.alarm(f"NATS has lost events of session {session}: it has {has} of the {had} that it had")
        cursor = replace(cursor, seq=has)
    if found is Standing.FENCED:
        assert there is not None
        base = cursor.seq if there.batch.last >= cursor.seq else 0
        cursor = Cursor(seq=base, place=there.place, epoch=there.batch.epoch, first=there.batch.first)
    cursor = replace(cursor, claiming=epoch)

    def work(db: sqlite3.Connection) -> int:
        dropped = drop_tail(db, session, cursor.seq) if found is Standing.FENCED else 0
        keep_cursor(db, session, cursor)
        return dropped

    dropped = await database.change(work)
    if found is Standing.FENCED:
        outbox.drop(session)  # their numbers are others' now
    if dropped:
        text = "session %s: %d events after number %d were dropped: another machine has gone on without them"
        log.warning(text, session, dropped, cursor.seq)
    return cursor


async def _begin(session: str, epoch: int, there: Newest | None, remote: SessionStream) -> int:
    """Say on NATS that we write from now on. Out: where that stands. Fenced where somebody wrote meanwhile."""
    if there is None:
        return await remote.publish(session, Batch(epoch=epoch, first=1, start=1), expected=0)
    if there.batch.epoch == epoch:  # it was said before we were cut off
        return there.place
    beginning = Batch(epoch=epoch, first=there.batch.first, start=there.batch.last + 1)
    return await remote.publish(session, beginning, expected=there.place)


async def _fetch(session: str, first: int, last: int, *, database: Database, remote: SessionStream, had: int) -> None:
    """Bring the store from what it had to what NATS has, page by page."""
    reached = max(had, first - 1)
    page: list[Batch] = []
    size = 0
    if reached < last:
        async for _, batch in remote.batches(session, after=reached):
            reached = max(reached, batch.last)
            page.append(batch)
            size += weight(batch.entries)
            if size >= PAGE_BYTES or sum(len(one.entries) for one in page) >= PAGE_EVENTS:
                await _place(session, first, reached, page, database)
                page, size = [], 0
    if reached < last:
        raise ClusterAway(f"NATS gave {reached} of {last} events of session {session}")
    await _place(session, first, last, page, database)


async def _place(session: str, first: int, last: int, page: list[Batch], database: Database) -> None:
    pairs: list[tuple[Event, str]] = []
    receipts: list[tuple[str, bytes, int]] = []
    whose: list[tuple[str, str, int]] = []
    for batch in page:
        pairs += [
            (Event(seq, one.time, one.kind, one.data), one.text) for seq, one in enumerate(batch.entries, batch.start)
        ]
        time = batch.entries[-1].time if batch.entries else 0
        receipts += [(receipt.command, receipt.answer, time) for receipt in batch.receipts]
        whose += [(receipt.command, session, batch.last) for receipt in batch.receipts]

    def work(db: sqlite3.Connection) -> None:
        place_events(db, session, pairs, first=first, last=last)
        db.executemany("INSERT OR IGNORE INTO receipt VALUES (?, ?, ?)", receipts)
        db.executemany("INSERT OR IGNORE INTO receipt_of VALUES (?, ?, ?)", whose)

    await database.change(work)


async def _own(session: str, cursor: Cursor, database: Database, outbox: Outbox) -> None:
    """It is ours, and goes on from what NATS has."""

    def work(db: sqlite3.Connection) -> tuple[Bounds, int]:
        keep_cursor(db, session, cursor)
        return bounds_of(db, session), size_after(db, session, cursor.seq)

    bounds, size = await database.change(work)
    outbox.adopted(session, cursor, bounds, size)
