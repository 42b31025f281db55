"""Publishes the events of this machine's sessions to NATS, in order and once.

Events are appended to the SQLite store first. From there they are published batch by batch, each on condition that it
follows the batch before; a machine that takes over a session fences this one with a single message. Events appended
while NATS was unreachable are published when it returns, also by a later process on the same store.

The batches of all sessions that are due at one moment go to NATS in one commit. A session whose batch needs more than
that (it was refused, its answer was lost, it is only in the store, it carries a receipt) is published by a task.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from handrail.bridge.cluster.store import cursors
from handrail.bridge.cluster.store.cursors import TABLES, Cursor, Divergence, divergence
from handrail.bridge.cluster.store.layout import LARGEST_MESSAGE
from handrail.bridge.cluster.store.pacing import CommitPace, Debounced, RetryGate
from handrail.bridge.cluster.store.session_outbox import Backlog, Publication, SessionOutbox, weight
from handrail.bridge.cluster.store.session_stream import Batch, SessionStream, Unsettled
from handrail.bridge.errors import BridgeError, ClusterAway, Fenced, OutboxFull, StoreFailed
from handrail.bridge.store.base import Bounds, Event, NewEvent, Receipt
from handrail.bridge.store.clock import latest_now
from handrail.bridge.store.database import Database
from handrail.bridge.store.event_log import SqliteEventLog

__all__ = ["TABLES", "Backlog", "Outbox"]

log = logging.getLogger("handrail.bridge")
AT_ONCE: Final = 64
"""Sessions that publish by themselves concurrently."""
MOST_TOGETHER: Final = 250
"""Sessions in one commit; JetStream accepts up to 1,000 messages."""
MOST_TOGETHER_BYTES: Final = 1024 * 1024
LONGEST_WAIT: Final = 0.05
"""Seconds for which an event of one session may wait for events of others; see `CommitPace`."""
LARGEST: Final = LARGEST_MESSAGE - 64 * 1024
"""Bytes of one event; the rest of a message is for its text, its receipts and the encoding."""
MOST_BEHIND: Final = 256 * 1024 * 1024
"""Unpublished bytes above which nothing more is accepted."""
CURSORS_EVERY: Final = 1.0
"""Seconds between writes of cursors to the store."""
MOST_ALARMS: Final = 100
CLOSE_WITHIN: Final = 1.0
"""Seconds to finish publishing when the machine shuts down or releases a session."""
LOST_AFTER: Final = 3.0
"""Seconds for which a server may lack confirmed messages before they count as lost. A replica that just became the
leader lags for a moment."""


class _Append(Struct, frozen=True, eq=False):
    """Events to be stored; `done` gets them numbered."""

    session: str
    events: Sequence[NewEvent]
    receipt: Receipt | None
    time: int
    also: Callable[[sqlite3.Connection], None] | None
    done: asyncio.Future[list[Event]]

    def store(self, db: sqlite3.Connection, *, fresh: bool) -> tuple[list[Event], Cursor | None]:
        """In a transaction: number and store the events. Returns the cursor too if the session is `fresh`."""
        added: list[Event] = []
        if self.events or self.receipt is not None:
            added = cursors.append_with_receipt(db, self.session, self.events, self.receipt, self.time)
        if self.also is not None:
            self.also(db)
        return added, cursors.cursor_of(db, self.session) if fresh else None

    def settle(self, added: list[Event] | BaseException) -> None:
        if self.done.done():  # the caller was cancelled
            return
        if isinstance(added, BaseException):
            self.done.set_exception(added)
        else:
            self.done.set_result(added)


class Outbox:
    """All sessions of one machine.

    moves      callers wait for NATS, so events of several sessions share the transaction in the store too; otherwise
               they are stored at once, and only their publication waits for others
    alarms     messages for the administrator, newest last
    on_fenced  awaited with the id of a session that another machine owns now
    unclaimed  sessions in the store that are published only after this machine claims them
    """

    lost_after = LOST_AFTER

    def __init__(
        self,
        database: Database,
        local: SqliteEventLog,
        remote: SessionStream,
        *,
        moves: bool = False,
        most_behind: int = MOST_BEHIND,
    ) -> None:
        self._database, self._local, self._remote, self._most = database, local, remote, most_behind
        self.alarms: deque[str] = deque(maxlen=MOST_ALARMS)
        self.on_fenced: list[Callable[[str], Awaitable[None]]] = []
        self.unclaimed: set[str] = set()
        self._held_before: dict[str, int] = {}
        self._boxes: dict[str, SessionOutbox] = {}
        self._size = 0
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self._gate = RetryGate()
        self._notifying: set[asyncio.Future[None]] = set()
        self._saving = Debounced(self._save, CURSORS_EVERY)
        self._appends: list[_Append] = []
        self._storing: set[asyncio.Task[None]] = set()
        self._store_pace = CommitPace(self._store_soon, LONGEST_WAIT if moves else 0.0)
        self._ready: dict[str, SessionOutbox] = {}
        self._sharing: asyncio.Task[None] | None = None
        self._share_pace = CommitPace(self._share_soon, 0.0 if moves else LONGEST_WAIT)

    # Open and close

    async def open(self) -> None:
        """Resume publishing what an earlier process left in the store."""
        await self._database.change(cursors.forget_old_receipts)
        found = await self._database.look(cursors.unpublished)
        self._held_before = await self._database.look(cursors.held_epochs)
        self.unclaimed = {one.session for one in found if not one.cursor.epoch}
        for one in found:
            box = self._box(one.session, one.cursor)
            box.first, box.last, box.size = one.bounds.first, one.bounds.last, one.size
            self._size += one.size
            self._start(box)

    async def check(self) -> None:
        """Detect a stream that was recreated or truncated, and publish the lost events again. Raises ClusterAway."""
        created, last = await self._remote.extent()
        if not await self._database.change(lambda db: cursors.note_stream(db, created, last)):
            return
        self.alarm("the events stream on NATS was recreated or lost its last messages; all sessions are compared")
        for one in await self._database.look(cursors.published_sessions):
            box = self._box(one.session, one.cursor)
            if box.is_active:
                box.suspect(one.bounds)
                self._start(box)

    async def close(self) -> None:
        """Publish for at most CLOSE_WITHIN seconds. The next process publishes the rest from the store."""
        # The callers of appends in progress may wait for NATS, so their events are published within that time too.
        await self._stored()
        self._share_pace.commit_now()
        if self._gate.is_open:
            await self._until_idle(CLOSE_WITHIN)
        for box in self._boxes.values():
            box.halt()  # ends the loop of a task whose cancellation nats-py swallows
        self._ready.clear()
        for task in self._running():
            task.cancel()
        await self._until_idle(None)
        if self._notifying:
            await asyncio.wait(self._notifying, timeout=CLOSE_WITHIN)
        self._gate.close()
        for box in self._boxes.values():
            self._size -= box.end(fenced=box.state is Publication.FENCED)
        await self._saving.close()

    def _running(self) -> list[asyncio.Task[None]]:
        tasks = [self._sharing, *(box.task for box in self._boxes.values())]
        return [task for task in tasks if task is not None and not task.done()]

    async def _until_idle(self, timeout: float | None) -> None:
        """Wait until no task publishes; one may start another."""
        end = None if timeout is None else asyncio.get_running_loop().time() + timeout
        while running := self._running():
            left = None if end is None else end - asyncio.get_running_loop().time()
            if left is not None and left <= 0:
                return
            await asyncio.wait(running, timeout=left)

    @property
    def behind(self) -> Backlog:
        """All events not yet published."""
        return Backlog(sum(box.behind for box in self._boxes.values()), self._size)

    # Appending

    async def append(
        self,
        session: str,
        events: Sequence[NewEvent],
        receipt: Receipt | None = None,
        *,
        time: int | None = None,
        also: Callable[[sqlite3.Connection], None] | None = None,
    ) -> list[Event]:
        """Append events; return them numbered once the store has them, before they are published.

        `also` runs in the same transaction, after the events: both are stored, or neither. It may come without events:
        it is then stored after everything that was appended before. Raises Fenced, OutboxFull, and StoreFailed for an
        event that is too large for NATS.
        """
        if events and self._size >= self._most:
            raise OutboxFull(self._database.path, self._most)
        if (largest := max((weight([one]) for one in events), default=0)) > LARGEST:
            why = f"event of {largest} bytes exceeds the limit of {LARGEST} bytes for events on NATS"
            raise StoreFailed(self._database.path, why, lasting=True)
        now = round(latest_now() * 1000) if time is None else time
        done: asyncio.Future[list[Event]] = asyncio.get_running_loop().create_future()
        self._appends.append(_Append(session, events, receipt, now, also, done))
        self._store_pace.request(session, urgent=receipt is not None)
        # A cancelled caller does not cancel the append: it is stored and published all the same.
        return await done

    def _store_soon(self) -> None:
        appends, self._appends = self._appends, []
        if appends:
            task = asyncio.create_task(self._store(appends), name="handrail outbox store")
            self._storing.add(task)
            task.add_done_callback(self._storing.discard)

    async def _stored(self) -> None:
        """Wait until all appends made so far are in the store, or have failed."""
        self._store_pace.commit_now()
        if self._storing:
            await asyncio.wait(self._storing)

    async def _store(self, appends: list[_Append]) -> None:
        """Store appends in one transaction, and publish their events."""
        # Checked in the step that queues the transaction: an adoption that drops void events first marks the session as
        # fenced, so an append is either dropped with them or refused here.
        fenced = [one for one in appends if one.events and self.is_fenced(one.session)]
        for one in fenced:
            one.settle(Fenced(one.session))
        appends = [one for one in appends if one not in fenced]
        try:
            works = [partial(one.store, fresh=one.session not in self._boxes) for one in appends]
            outcomes = await self._database.change_all(works)
        except StoreFailed as error:
            outcomes = [error] * len(appends)
        for one, outcome in zip(appends, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                one.settle(outcome)
                continue
            added, cursor = outcome
            one.settle(added)
            if added:
                box = self._box(one.session, cursor)
                before = box.size
                box.note(added, one.events, one.receipt)
                self._size += box.size - before
                self._start(box)

    async def published(self, session: str, through: int) -> bool:
        """Wait until NATS has event `through`. Returns False if publishing was given up; raises Fenced."""
        box = self._boxes.get(session)
        return box is None or await box.until(through)

    async def forget(self, session: str, through: int | None) -> None:
        """Delete events here at once, and on NATS after the events before them."""
        await self._stored()
        await self._local.forget(session, through=through)
        box = self._box(session)
        box.first = (await self._local.bounds(session)).first
        self._start(box)

    def last(self, session: str) -> int:
        """Number of the newest event as far as this process knows; 0 for an unknown session."""
        box = self._boxes.get(session)
        return box.last if box else 0

    def has(self, session: str) -> int | None:
        """Number of the newest event that NATS confirmed to this process; None if unknown."""
        box = self._boxes.get(session)
        return box.confirmed if box else None

    async def events_of(self, command: str) -> tuple[str, int]:
        """Session and last event number that belong to a receipt; ("", 0) if NATS has them."""
        session, seq, has = await self._database.look(lambda db: cursors.events_of(db, command))
        return (session, seq) if seq > has else ("", 0)

    def is_fenced(self, session: str) -> bool:
        """Whether another machine owns the session, so that unpublished events here are void."""
        box = self._boxes.get(session)
        return box is not None and box.state is Publication.FENCED

    # Changes of ownership

    async def halt(self, session: str) -> bool:
        """Publish nothing more of a session until it is adopted; return whether it had been given up.

        Afterwards the cursor in the store is up to date. `resume` does not continue a halted session, or a reconnect in
        the middle of an adoption would take the new epoch on NATS for that of another machine. A commit with a batch of
        the session may still be under way; its answer is ignored, and adoption reads its outcome from NATS.
        """
        await self._stored()
        box = self._box(session)
        given_up = box.state is Publication.GIVEN_UP
        box.halt()
        if box.task is not None and not box.task.done():
            box.task.cancel()
            await asyncio.wait([box.task])
        await self._saving.now()
        return given_up

    def adopted(self, session: str, cursor: Cursor, bounds: Bounds, size: int) -> None:
        """This machine owns the session from `cursor` on: publish what follows."""
        box = self._box(session)
        self.unclaimed.discard(session)
        self._size += size - box.size
        box.adopt(cursor, bounds, size)
        self._start(box)

    def drop(self, session: str) -> None:
        """The unpublished events of a session are void. Callers waiting for them get Fenced."""
        self._size -= self._box(session).end(fenced=True)

    def epoch_before(self, session: str) -> int | None:
        """The epoch under which an earlier process of this machine owned a session and did not release it."""
        return self._held_before.get(session)

    async def release(self, session: str) -> bool:
        """Release a session if NATS has all its events within CLOSE_WITHIN seconds. Returns whether it was released."""
        try:
            async with asyncio.timeout(CLOSE_WITHIN):
                drained = await self.published(session, self.last(session))
        except (TimeoutError, Fenced):
            drained = False
        box = self._boxes.get(session)
        if not drained or (box is not None and box.is_due):
            return False
        self._held_before.pop(session, None)
        if box is not None:
            box.move(replace(box.cursor, held=False))
            del self._boxes[session]
            await self._database.change(lambda db: cursors.put_cursor(db, session, box.cursor))
        return True

    def give_up(self, session: str) -> None:
        """Stop publishing a session; callers waiting for it get False. A fenced session stays fenced."""
        box = self._boxes.get(session)
        if box is None or box.state is Publication.FENCED:
            return
        if box.task is not None:
            box.task.cancel()
            box.task = None
        self._size -= box.end(fenced=False)

    def give_up_all(self) -> None:
        """Stop publishing all sessions."""
        for session in self._boxes:
            self.give_up(session)

    def resume(self) -> None:
        """Resume after the connection or the lease was restored; each session first checks that it is not fenced."""
        self._gate.open()
        for box in self._boxes.values():
            if box.resume():
                self._start(box)

    # What is due

    def _box(self, session: str, cursor: Cursor | None = None) -> SessionOutbox:
        box = self._boxes.get(session)
        if box is None:
            box = self._boxes[session] = SessionOutbox(session, cursor)
        return box

    def _start(self, box: SessionOutbox) -> None:
        """Publish what is due: together with other sessions if possible."""
        if not box.may_share:
            self._start_alone(box)
        elif box.is_idle:
            self._ready[box.session] = box
            self._share_pace.request(box.session)

    def _start_alone(self, box: SessionOutbox) -> None:
        if box.is_due and box.is_idle:
            box.task = asyncio.create_task(self._run(box), name=f"handrail outbox {box.session}")

    # Publishing many sessions in one commit

    def _share_soon(self) -> None:
        if self._ready and (self._sharing is None or self._sharing.done()):
            self._sharing = asyncio.create_task(self._share(), name="handrail outbox commits")

    async def _share(self) -> None:
        """Publish the sessions that are ready, commit by commit; more become ready while a commit is under way."""
        while self._ready:
            await self._gate.wait()
            taken = self._take_ready()
            if not taken:
                continue
            items = [(box.session, batch, box.cursor.place) for box, batch in taken]
            places: list[int] = []
            try:
                places = await self._remote.publish_together(items)
            except Exception as error:
                log.debug("%d sessions are published one by one: %s", len(items), error)
            finally:
                for box, _ in taken:
                    box.committing = False
            if not places:
                for box, _ in taken:
                    self._start_alone(box)
                continue
            self._gate.reset_backoff()
            for (box, batch), place in zip(taken, places, strict=True):
                self._acknowledge(box, batch, place)
                self._start(box)

    def _take_ready(self) -> list[tuple[SessionOutbox, Batch]]:
        """The next batch of each ready session, as far as they fit into one commit."""
        taken: list[tuple[SessionOutbox, Batch]] = []
        size = 0
        while self._ready and len(taken) < MOST_TOGETHER and size < MOST_TOGETHER_BYTES:
            box = self._ready.pop(next(iter(self._ready)))
            batch = box.next_from_memory() if box.may_share and box.is_idle else None
            if batch is None:  # it was halted or ended, or the batch has to be read from the store
                self._start_alone(box)
                continue
            box.sending, box.committing = batch, True
            size += weight(batch.entries)
            taken.append((box, batch))
        return taken

    def _acknowledge(self, box: SessionOutbox, batch: Batch, place: int) -> None:
        if box.sending is batch:  # else the session was halted, and its cursor is read from NATS again
            self._size -= box.acknowledge(batch, place)
            self._saving.request()

    # Publishing one session

    async def _run(self, box: SessionOutbox) -> None:
        while box.is_due:
            await self._gate.wait()
            async with self._at_once:
                if not self._gate.is_open:
                    continue
                try:
                    await self._step(box)
                    self._gate.reset_backoff()
                except Fenced:
                    self._lose(box)
                except Exception as error:
                    self._fail(box, error)

    async def _step(self, box: SessionOutbox) -> None:
        """Publish one batch, or compare the cursor with NATS if it is not verified."""
        if box.state is not Publication.PUBLISHING:
            await self._verify(box)
            return
        last = box.last
        if box.sending is None:
            box.sending = box.next_from_memory() or await self._next_from_store(box)
        if box.sending is None:
            await self._publish_deletion(box, last)
            return
        await self._publish(box, box.sending)

    async def _publish(self, box: SessionOutbox, batch: Batch) -> None:
        try:
            place = await self._remote.publish(box.session, batch, expected=box.cursor.place)
        except Fenced:
            return await self._verify(box)
        except Unsettled as error:
            if error.place < box.cursor.place and box.lags_for(self.lost_after):
                return await self._verify(box)
            raise
        self._acknowledge(box, batch, place)

    async def _next_from_store(self, box: SessionOutbox) -> Batch | None:
        """Read the next batch; None if only a deletion is left to publish."""
        after = max(box.cursor.seq, box.first - 1)
        found = await self._database.look(lambda db: cursors.next_entries(db, box.session, after))
        return box.batch(*found) if found[1] else None

    async def _publish_deletion(self, box: SessionOutbox, last: int) -> None:
        """Publish the new lower bound as an empty batch; everything unpublished through `last` may be deleted too."""
        deletion = box.batch(max(last, box.cursor.seq) + 1)
        try:
            place = await self._remote.publish(box.session, deletion, expected=box.cursor.place)
        except Fenced:
            await self._verify(box)
            return
        await self._remote.purge(box.session)
        if box.is_active:
            self._size -= box.acknowledge(deletion, place)
            self._saving.request()

    async def _verify(self, box: SessionOutbox) -> None:
        """Compare the cursor with NATS and correct it. Raises Fenced."""
        newest = await self._remote.newest(box.session)
        if not box.is_active:  # it was halted or ended meanwhile
            return
        found = divergence(box.cursor, newest)
        if found is Divergence.FENCED:
            raise Fenced(box.session)
        seq, place = (newest.batch.last, newest.place) if newest else (0, 0)
        if found is Divergence.ROLLED_BACK:
            self.alarm(
                f"NATS lost events of session {box.session}: it has {seq} of {box.cursor.seq} published events;"
                " they are published again from this machine"
            )
            if not box.adopted and box.last > box.cursor.seq:
                # Another machine may have claimed the session, continued without the unpublished events here, and lost
                # its messages in the same rollback. Only a claim decides whose events are valid.
                box.halt()
                self.unclaimed.add(box.session)
                return
        claimed = newest is not None and newest.batch.epoch == box.cursor.claiming
        epoch = box.cursor.claiming if claimed else box.cursor.epoch
        box.verified(replace(box.cursor, seq=seq, place=place, epoch=epoch))
        self._saving.request()

    # Failures

    def _fail(self, box: SessionOutbox, error: Exception) -> None:
        """Pause all sessions, since an outage stops all alike; an event NATS can never store stops its own session."""
        if isinstance(error, BridgeError) and getattr(error, "lasting", not isinstance(error, ClusterAway)):
            self.alarm(f"session {box.session} is no longer published: {error}")
            if box.is_active:
                self._size -= box.end(fenced=False)
        elif self._gate.shut():
            ours = isinstance(error, BridgeError)
            log.info("publishing paused (session %s): %s", box.session, error, exc_info=not ours)

    def _lose(self, box: SessionOutbox) -> None:
        if not box.is_active:
            return
        if box.behind:
            log.warning("session %s has another owner: %d unpublished events are void", box.session, box.behind)
        self._size -= box.end(fenced=True)
        for notify in self.on_fenced:  # in tasks, because a handler may halt this session and wait for its task
            task = asyncio.ensure_future(notify(box.session))
            self._notifying.add(task)
            task.add_done_callback(self._notified)

    def _notified(self, task: asyncio.Future[None]) -> None:
        self._notifying.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a handler of a fenced session failed: %s", error)

    def alarm(self, text: str) -> None:
        """Report something to the administrator."""
        log.critical("%s", text)
        self.alarms.append(text)

    # Cursors

    async def _save(self) -> None:
        """Store the cursors that moved. A cursor that is lost in a crash is read from NATS by the next process."""
        moved = [box for box in self._boxes.values() if box.dirty]
        saved = [(box.session, box.cursor) for box in moved]
        for box in moved:
            box.dirty = False

        def work(db: sqlite3.Connection) -> None:
            for session, cursor in saved:
                cursors.put_cursor(db, session, cursor)

        if saved:
            await self._database.change(work)
