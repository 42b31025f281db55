"""Brings what the store has to NATS: in order, once. In: appends. Out: events, numbered; and that NATS has them.

A session's events are in the store first. From there they go out one batch after the other, each only where it follows
the one before it; so whoever takes the session over stops us by writing a single message. What happened while NATS was
away goes out when it is back, also in another life of this machine.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from msgspec.structs import replace

from handrail.bridge.cluster.store import cursors
from handrail.bridge.cluster.store.batch import Batch
from handrail.bridge.cluster.store.cursors import TABLES, Cursor
from handrail.bridge.cluster.store.gate import Gate
from handrail.bridge.cluster.store.layout import LARGEST_MESSAGE
from handrail.bridge.cluster.store.line import Behind, Line, weight
from handrail.bridge.cluster.store.session_stream import SessionStream, Unsettled
from handrail.bridge.cluster.store.soon import Soon
from handrail.bridge.cluster.store.standing import Standing, standing
from handrail.bridge.errors import BridgeError, ClusterAway, Fenced, OutboxFull, StoreFailed
from handrail.bridge.store.base import Bounds, Event, NewEvent, Receipt
from handrail.bridge.store.clock import latest_now
from handrail.bridge.store.database import Database
from handrail.bridge.store.event_log import SqliteEventLog

__all__ = ["TABLES", "Behind", "Outbox"]

log = logging.getLogger("handrail.bridge")
AT_ONCE: Final = 64
LARGEST: Final = LARGEST_MESSAGE - 64 * 1024
"""Bytes of one event; some room is for what goes with it."""
MOST_BEHIND: Final = 256 * 1024 * 1024
NOTED_EVERY: Final = 1.0
"""Seconds after which it is noted in the store how far everything has come."""
MOST_ALARMS: Final = 100
PARTING: Final = 1.0
"""Seconds that are left to what is still to go out when the machine ends."""
LOST_AFTER: Final = 3.0
"""Seconds for which the server may have less than it had; then it has lost it."""


class Outbox:
    """All sessions of one machine. `alarms` are for people; `on_fenced` is told which session somebody else has."""

    lost_after = LOST_AFTER

    def __init__(
        self, database: Database, local: SqliteEventLog, remote: SessionStream, *, most_behind: int = MOST_BEHIND
    ) -> None:
        self._database, self._local, self._remote, self._most = database, local, remote, most_behind
        self.alarms: deque[str] = deque(maxlen=MOST_ALARMS)
        self.on_fenced: list[Callable[[str], Awaitable[None]]] = []
        self.unclaimed: set[str] = set()
        """Sessions in the store that nobody ever claimed: they go out once we do."""
        self._before: dict[str, int] = {}
        self._lines: dict[str, Line] = {}
        self._size = 0
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self._gate = Gate()
        self._telling: set[asyncio.Future[None]] = set()
        self._notes = Soon(self._note, NOTED_EVERY)
        self._unsure: set[str] = set()
        """Sessions to which something was appended, perhaps: who did it did not wait for it."""

    # The beginning and the end

    async def open(self) -> None:
        """Go on with what an earlier life left."""
        await self._database.change(cursors.forget_old_receipts)
        found = await self._database.look(cursors.ahead)
        self._before = await self._database.look(cursors.held_epochs)
        self.unclaimed = {one.session for one in found if not one.cursor.epoch}
        for one in found:
            line = self._line(one.session, one.cursor)
            line.first, line.last, line.size = one.bounds.first, one.bounds.last, one.size
            self._size += one.size
            self._go(line)

    async def check(self) -> None:
        """See whether NATS still has what it had; what it has lost is published again. ClusterAway."""
        created, last = await self._remote.extent()
        if not await self._database.change(lambda db: cursors.note_stream(db, created, last)):
            return
        self.alarm("NATS has another stream of events than it had, or has lost the end of it: all is looked at")
        for one in await self._database.look(cursors.published_whole):
            line = self._line(one.session, one.cursor)
            if line.open:
                line.first, line.last = one.bounds.first, max(line.last, one.bounds.last)
                line.suspect, line.looked = True, False
                self._go(line)

    async def close(self) -> None:
        """Publish what can be published within a moment, and leave the rest to the next life."""
        under_way = [line.task for line in self._lines.values() if line.task is not None and not line.task.done()]
        if under_way and self._gate.is_open:
            await asyncio.wait(under_way, timeout=PARTING)
        for line in self._lines.values():
            line.open = False
            if line.task is not None:
                line.task.cancel()
        if under_way:
            await asyncio.wait(under_way)
        if self._telling:
            await asyncio.wait(self._telling, timeout=PARTING)
        self._gate.close()
        for line in self._lines.values():
            self._size -= line.end(fenced=line.fenced)
        await self._notes.close()

    @property
    def behind(self) -> Behind:
        """What NATS has not yet."""
        return Behind(sum(line.behind for line in self._lines.values()), self._size)

    # What is appended

    async def append(
        self, session: str, events: Sequence[NewEvent], receipt: Receipt | None = None, *, time: int | None = None
    ) -> list[Event]:
        """Write down what happened. Out: the events with their numbers, once the store has them."""
        if self._size >= self._most:
            raise OutboxFull(self._database.path, self._most)
        if (largest := max((weight([one]) for one in events), default=0)) > LARGEST:
            why = f"an event of {largest} bytes is more than NATS takes: {LARGEST} bytes"
            raise StoreFailed(self._database.path, why, lasting=True)
        now = round(latest_now() * 1000) if time is None else time
        fresh = session not in self._lines

        def work(db: sqlite3.Connection) -> tuple[list[Event], Cursor | None]:
            added = cursors.append_noted(db, session, events, receipt, now)
            return added, cursors.cursor_of(db, session) if fresh else None

        try:
            added, cursor = await self._database.change(work)
        except asyncio.CancelledError:  # whoever waited has gone; what was written goes out all the same
            self._unsure.add(session)
            self._notes.ask()
            raise
        if added:
            line = self._line(session, cursor)
            before = line.size
            line.note(added, events, receipt)
            self._size += line.size - before
            self._go(line)
        return added

    async def published(self, session: str, through: int) -> bool:
        """Wait until NATS has an event. Out: false where nobody tries any more; Fenced where another has it now."""
        line = self._lines.get(session)
        return line is None or await line.until(through)

    async def forget(self, session: str, through: int | None) -> None:
        """Give up events here, and on NATS when it is their turn."""
        await self._local.forget(session, through=through)
        line = self._line(session)
        line.first = (await self._local.bounds(session)).first
        self._go(line)

    def last(self, session: str) -> int:
        """The number of the newest event that was appended in this life; 0 where none was."""
        line = self._lines.get(session)
        return line.last if line else 0

    def has(self, session: str) -> int | None:
        """The number of the newest event that NATS has; None where nothing is known in this life."""
        line = self._lines.get(session)
        return line.cursor.seq if line and line.looked else None

    async def events_of(self, command: str) -> tuple[str, int]:
        """Which session's events a receipt goes with, and the last one's number; ("", 0) where NATS has them."""
        session, seq, has = await self._database.look(lambda db: cursors.events_of(db, command))
        return (session, seq) if seq > has else ("", 0)

    def is_fenced(self, session: str) -> bool:
        """Has somebody else the session, so that what we appended last does not count?"""
        line = self._lines.get(session)
        return line is not None and line.fenced

    # For whoever takes a session up, or loses it

    async def halt(self, session: str) -> None:
        """Publish nothing more of a session until it was adopted. What is noted of it is in the store then."""
        line = self._line(session)
        line.open, line.sending = False, None
        if line.task is not None and not line.task.done():
            line.task.cancel()
            await asyncio.wait([line.task])
        await self._notes.now()

    def adopted(self, session: str, cursor: Cursor, bounds: Bounds, size: int) -> None:
        """A session is ours from here on: publish what NATS has not."""
        line = self._line(session)
        self.unclaimed.discard(session)
        self._size += size - line.size
        line.fenced = line.given_up = line.dirty = False
        line.open = line.looked = line.adopted = True
        line.first, line.last, line.size = bounds.first, bounds.last, size
        line.forget_queue()
        line.move(cursor)
        line.dirty = False
        self._go(line)

    def drop(self, session: str) -> None:
        """What was appended to it and NATS has not does not count: whoever waits for it is told."""
        self._size -= self._line(session).end(fenced=True)

    def known_before(self, session: str) -> int | None:
        """The epoch under which a session is ours by what an earlier life noted, and was not let go."""
        return self._before.get(session)

    async def let_go(self, session: str) -> bool:
        """Somebody else may have a session once NATS has all of it. Out: whether that is so within a moment."""
        try:
            async with asyncio.timeout(PARTING):
                drained = await self.published(session, self.last(session))
        except (TimeoutError, Fenced):
            drained = False
        line = self._lines.get(session)
        if not drained or (line is not None and line.is_due):
            return False
        self._before.pop(session, None)
        if line is not None:
            line.move(replace(line.cursor, held=False))
            del self._lines[session]
            await self._database.change(lambda db: cursors.keep_cursor(db, session, line.cursor))
        return True

    def give_up(self, session: str) -> None:
        """Publish nothing more of it: whoever waits is told."""
        line = self._lines.get(session)
        if line is None or line.fenced:
            return
        if line.task is not None:
            line.task.cancel()
            line.task = None
        self._size -= line.end(fenced=False)

    def give_up_all(self) -> None:
        """The same for all."""
        for session in self._lines:
            self.give_up(session)

    def go_on(self) -> None:
        """NATS is there again, or our lease: go on where we were, if nobody else did meanwhile."""
        self._gate.open()
        for line in self._lines.values():
            if line.given_up and line.cursor.epoch:
                line.given_up, line.looked, line.open = False, False, True
                self._go(line)

    # One session

    def _line(self, session: str, cursor: Cursor | None = None) -> Line:
        line = self._lines.get(session)
        if line is None:
            line = self._lines[session] = Line(session, cursor)
        return line

    def _go(self, line: Line) -> None:
        if line.is_due and (line.task is None or line.task.done()):
            line.task = asyncio.create_task(self._run(line), name=f"handrail outbox {line.session}")

    async def _run(self, line: Line) -> None:
        while line.is_due:
            await self._gate.wait()
            async with self._at_once:
                if not self._gate.is_open:
                    continue
                try:
                    await self._step(line)
                    self._gate.worked()
                except Fenced:
                    self._lose(line)
                except Exception as error:
                    self._fail(line, error)

    async def _step(self, line: Line) -> None:
        """One batch."""
        if not line.looked:
            await self._look(line)
            return
        last = line.last
        if line.sending is None:
            line.sending = line.next_from_memory() or await self._next_from_store(line)
        if line.sending is None:
            await self._forget_there(line, last)
            return
        try:
            place = await self._remote.publish(line.session, line.sending, expected=line.cursor.place)
        except Fenced:
            return await self._look(line)
        except Unsettled as error:
            if error.place < line.cursor.place and line.lacks_for(self.lost_after):
                return await self._look(line)
            raise
        self._size -= line.acknowledge(line.sending, place)
        self._notes.ask()

    async def _next_from_store(self, line: Line) -> Batch | None:
        """What comes next of what does not lie in memory; None where there are no events for NATS."""
        after = max(line.cursor.seq, line.first - 1)
        found = await self._database.look(lambda db: cursors.next_entries(db, line.session, after))
        return line.batch(*found) if found[1] else None

    async def _forget_there(self, line: Line, last: int) -> None:
        """Tell NATS what was given up here; it may be all that it had not, through `last`."""
        given_up = line.batch(max(last, line.cursor.seq) + 1)
        try:
            place = await self._remote.publish(line.session, given_up, expected=line.cursor.place)
        except Fenced:
            await self._look(line)
            return
        await self._remote.purge(line.session)
        self._size -= line.acknowledge(given_up, place)
        self._notes.ask()

    async def _look(self, line: Line) -> None:
        """See what NATS has of a session, where that is not known or not as we thought. Fenced."""
        newest = await self._remote.newest(line.session)
        found = standing(line.cursor, newest)
        if found is Standing.FENCED:
            raise Fenced(line.session)
        seq, place = (newest.batch.last, newest.place) if newest else (0, 0)
        if found is Standing.ROLLED_BACK:
            self.alarm(
                f"NATS has lost events of session {line.session}: it has {seq} of the {line.cursor.seq} that it had;"
                " they are published again from here"
            )
            if not line.adopted and line.last > line.cursor.seq:  # somebody may have gone on without our last ones
                line.open = line.suspect = False
                self.unclaimed.add(line.session)
                return
        claimed = newest is not None and newest.batch.epoch == line.cursor.claiming
        epoch = line.cursor.claiming if claimed else line.cursor.epoch
        line.sending, line.looked, line.suspect = None, True, False
        line.forget_queue()
        line.move(replace(line.cursor, seq=seq, place=place, epoch=epoch))
        self._notes.ask()

    # What goes wrong

    def _fail(self, line: Line, error: Exception) -> None:
        """All wait for a bit, for what stops one stops all; what can never be published stops its own session."""
        if isinstance(error, BridgeError) and getattr(error, "lasting", not isinstance(error, ClusterAway)):
            self.alarm(f"session {line.session} is published no more: {error}")
            self._size -= line.end(fenced=False)
        elif self._gate.shut():
            ours = isinstance(error, BridgeError)
            log.info("publishing waits for a bit (session %s): %s", line.session, error, exc_info=not ours)

    def _lose(self, line: Line) -> None:
        if line.behind:
            log.warning("session %s has another owner: %d events here do not count", line.session, line.behind)
        self._size -= line.end(fenced=True)
        for tell in self.on_fenced:  # beside us: whoever is told may want us to stop
            task = asyncio.ensure_future(tell(line.session))
            self._telling.add(task)
            task.add_done_callback(self._told)

    def _told(self, task: asyncio.Future[None]) -> None:
        self._telling.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a session that has another owner was not given up as it should: %s", error)

    def alarm(self, text: str) -> None:
        """Somebody should look at it."""
        log.critical("%s", text)
        self.alarms.append(text)

    # What is noted

    async def _note(self) -> None:
        """How far everything has come. It may get lost: then NATS is asked."""
        unsure, self._unsure = self._unsure, set()
        moved = [line for line in self._lines.values() if line.dirty]
        noted = [(line.session, line.cursor) for line in moved]
        for line in moved:
            line.dirty = False

        def work(db: sqlite3.Connection) -> list[tuple[str, int, Cursor | None]]:
            for session, cursor in noted:
                cursors.keep_cursor(db, session, cursor)
            return [(name, cursors.bounds_of(db, name).last, cursors.cursor_of(db, name)) for name in unsure]

        if not noted and not unsure:
            return
        for session, last, cursor in await self._database.change(work):  # after what was being appended there
            line = self._line(session, cursor)
            line.last = max(line.last, last)
            self._go(line)
