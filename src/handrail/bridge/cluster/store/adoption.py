"""Brings the store up to date with NATS after this machine claimed a session.

The first step announces the new epoch on NATS, which fences the previous owner: from then on the session changes only
through this machine. Then the missing events are fetched. Unpublished events of this machine are kept if no other
machine has written since, and dropped otherwise; no client received an acknowledgement for those. An adoption that is
interrupted at any point and repeated has the same result.
"""

from __future__ import annotations

import logging
import sqlite3
from typing import Final

from msgspec.structs import replace

from handrail.bridge.cluster.store.cursors import (
    Cursor,
    Divergence,
    bounds_of,
    cursor_of,
    divergence,
    drop_tail,
    put_cursor,
)
from handrail.bridge.cluster.store.outbox import Outbox
from handrail.bridge.cluster.store.session_outbox import weight
from handrail.bridge.cluster.store.session_stream import Batch, Newest, SessionStream
from handrail.bridge.errors import ClusterAway, Fenced
from handrail.bridge.store.base import Bounds, Event
from handrail.bridge.store.database import Database
from handrail.bridge.store.event_log import SqliteEventLog, place_events, size_after

__all__ = ["adopt"]

log = logging.getLogger("handrail.bridge")
PAGE_BYTES: Final = 2 * 1024 * 1024
PAGE_EVENTS: Final = 2000
"""Size of one transaction; other writers of the store wait at most that long."""
MOST_TRIES: Final = 20
"""The previous owner may publish a last batch between our read and our write, but not many."""


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
    """Take over a session claimed under `epoch`. With `wait`, return only after NATS has all events of this machine.

    Raises ClusterAway, and Fenced if a later claim exists.
    """
    given_up = await outbox.halt(session)
    try:
        await _adopt(session, epoch, database=database, local=local, remote=remote, outbox=outbox)
    except BaseException:
        if given_up:  # as before, so callers do not wait and publishing resumes with the connection
            outbox.give_up(session)
        raise
    if wait and not await outbox.published(session, outbox.last(session)):
        raise ClusterAway(f"session {session} was given up while it was being adopted")


async def _adopt(
    session: str, epoch: int, *, database: Database, local: SqliteEventLog, remote: SessionStream, outbox: Outbox
) -> None:
    known, bounds = await database.look(lambda db: cursor_of(db, session)), await local.bounds(session)
    new = epoch == 1 and known is None and bounds == Bounds()
    cursor, there = known or Cursor(), None
    for _ in range(MOST_TRIES):
        there = None if new else await remote.newest(session)
        new = False
        if there is not None and there.batch.epoch > epoch:
            raise Fenced(session)
        cursor = await _reconcile(session, epoch, cursor, there, database, outbox)
        try:
            place = await _announce(session, epoch, there, remote)
            break
        except Fenced:  # another batch was published since the read
            continue
    else:
        raise ClusterAway(f"session {session} was not adopted: another machine kept writing to it")
    first, last = (there.batch.first, there.batch.last) if there else (1, 0)
    had = (await local.bounds(session)).last
    await _fetch(session, first, last, database=database, remote=remote, had=had)
    ours = replace(cursor, epoch=epoch, claiming=0, place=place, seq=last, first=first, held=True)
    await _own(session, ours, database, outbox)


async def _reconcile(
    session: str, epoch: int, cursor: Cursor, there: Newest | None, database: Database, outbox: Outbox
) -> Cursor:
    """Drop void events, store the intention to announce `epoch`, and return the resulting cursor.

    The intention is stored before NATS learns the epoch: after a crash between the two, the next process has to
    recognise the epoch as its own.
    """
    found = divergence(cursor, there)
    if found is Divergence.ROLLED_BACK:
        had, has = cursor.seq, there.batch.last if there else 0
        outbox.alarm(f"NATS lost events of session {session}: it has {has} of {had} published events")
        cursor = replace(cursor, seq=has)
    if found is Divergence.FENCED:
        assert there is not None
        base = cursor.seq if there.batch.last >= cursor.seq else 0
        cursor = Cursor(seq=base, place=there.place, epoch=there.batch.epoch, first=there.batch.first)
    cursor = replace(cursor, claiming=epoch)

    def work(db: sqlite3.Connection) -> int:
        dropped = drop_tail(db, session, cursor.seq) if found is Divergence.FENCED else 0
        put_cursor(db, session, cursor)
        return dropped

    if found is Divergence.FENCED:
        # Their numbers belong to events of the other owner. Before the transaction, so that none is appended after it.
        outbox.drop(session)
    dropped = await database.change(work)
    if dropped:
        text = "session %s: dropped %d unpublished events after number %d; another machine continued without them"
        log.warning(text, session, dropped, cursor.seq)
    return cursor


async def _announce(session: str, epoch: int, there: Newest | None, remote: SessionStream) -> int:
    """Publish the first, empty batch of `epoch`; return its stream sequence. Raises Fenced if `there` is outdated."""
    if there is None:
        return await remote.publish(session, Batch(epoch=epoch, first=1, start=1), expected=0)
    if there.batch.epoch == epoch:  # announced by an interrupted adoption
        return there.place
    beginning = Batch(epoch=epoch, first=there.batch.first, start=there.batch.last + 1)
    return await remote.publish(session, beginning, expected=there.place)


async def _fetch(session: str, first: int, last: int, *, database: Database, remote: SessionStream, had: int) -> None:
    """Copy the events above `had` from NATS into the store, page by page."""
    reached = max(had, first - 1)
    page: list[Batch] = []
    size = 0
    if reached < last:
        async for _, batch in remote.batches(session, after=reached):
            reached = max(reached, batch.last)
            page.append(batch)
            size += weight(batch.entries)
            if size >= PAGE_BYTES or sum(len(one.entries) for one in page) >= PAGE_EVENTS:
                await _store(session, first, reached, page, database)
                page, size = [], 0
    if reached < last:
        raise ClusterAway(f"NATS returned {reached} of {last} events of session {session}")
    await _store(session, first, last, page, database)


async def _store(session: str, first: int, last: int, page: list[Batch], database: Database) -> None:
    pairs: list[tuple[Event, str]] = []
    receipts: list[tuple[str, bytes, int]] = []
    belongs: list[tuple[str, str, int]] = []
    for batch in page:
        pairs += [
            (Event(seq, one.time, one.kind, one.data), one.text) for seq, one in enumerate(batch.entries, batch.start)
        ]
        time = batch.entries[-1].time if batch.entries else 0
        receipts += [(receipt.command, receipt.answer, time) for receipt in batch.receipts]
        belongs += [(receipt.command, session, batch.last) for receipt in batch.receipts]

    def work(db: sqlite3.Connection) -> None:
        place_events(db, session, pairs, first=first, last=last)
        db.executemany("INSERT OR IGNORE INTO receipt VALUES (?, ?, ?)", receipts)
        db.executemany("INSERT OR IGNORE INTO receipt_of VALUES (?, ?, ?)", belongs)

    await database.change(work)


async def _own(session: str, cursor: Cursor, database: Database, outbox: Outbox) -> None:
    """Store the cursor and start publishing from it."""

    def work(db: sqlite3.Connection) -> tuple[Bounds, int]:
        put_cursor(db, session, cursor)
        return bounds_of(db, session), size_after(db, session, cursor.seq)

    bounds, size = await database.change(work)
    outbox.adopted(session, cursor, bounds, size)
