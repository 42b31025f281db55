"""Events of one session not yet published to NATS, and the state of their publication.

The newest events are queued in memory up to a limit; older ones are read from the store. A caller that waits for an
event is released when NATS has it, or when publication ends.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Sequence
from enum import Enum
from itertools import count
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from handrail.bridge.cluster.store.cursors import Cursor
from handrail.bridge.cluster.store.session_stream import Batch, Entry, batches
from handrail.bridge.errors import Fenced
from handrail.bridge.store.base import Bounds, Event, NewEvent, Receipt
from handrail.errors import InternalError

__all__ = ["ACTIVE", "TRANSITIONS", "Backlog", "IllegalTransition", "Publication", "SessionOutbox", "weight"]

MOST_QUEUED: Final = 1024 * 1024
"""Bytes of one session that are queued in memory."""
_order = count()


class Publication(Enum):
    """What may be sent to NATS for one session.

    UNCLAIMED   nothing, until the session is adopted: it was never claimed, it is being adopted, or NATS lost messages
                after which another machine may have written
    UNVERIFIED  this machine wrote to it before; the cursor is compared with NATS before the next batch
    SUSPECT     NATS may have lost messages; the cursor is compared even if no batch is pending
    PUBLISHING  the cursor matches NATS; batches are sent
    GIVEN_UP    nothing, until publishing resumes or the session is adopted; events appended meanwhile do not count
                as pending
    FENCED      nothing, until the session is adopted: another machine owns it, and unpublished events are void
    """

    UNCLAIMED = "unclaimed"
    UNVERIFIED = "unverified"
    SUSPECT = "suspect"
    PUBLISHING = "publishing"
    GIVEN_UP = "given up"
    FENCED = "fenced"


_P = Publication
ACTIVE: Final = frozenset({_P.UNVERIFIED, _P.SUSPECT, _P.PUBLISHING})
"""The states in which a task may talk to NATS about the session."""

TRANSITIONS: Final = {
    (_P.UNCLAIMED, _P.PUBLISHING): "adopted",
    (_P.UNCLAIMED, _P.GIVEN_UP): "lease lost or machine closing, or the adoption of a session that was given up failed",
    (_P.UNCLAIMED, _P.FENCED): "adoption found events of another owner",
    (_P.UNVERIFIED, _P.UNCLAIMED): "adoption started, or NATS lost messages of a session not adopted in this process",
    (_P.UNVERIFIED, _P.SUSPECT): "the stream was recreated or truncated",
    (_P.UNVERIFIED, _P.PUBLISHING): "cursor compared with NATS",
    (_P.UNVERIFIED, _P.GIVEN_UP): "lease lost, machine closing, or an event NATS can never store",
    (_P.UNVERIFIED, _P.FENCED): "the comparison found another owner",
    (_P.SUSPECT, _P.UNCLAIMED): "adoption started, or NATS lost messages of a session not adopted in this process",
    (_P.SUSPECT, _P.PUBLISHING): "cursor compared with NATS; lost messages are published again",
    (_P.SUSPECT, _P.GIVEN_UP): "lease lost, machine closing, or an event NATS can never store",
    (_P.SUSPECT, _P.FENCED): "the comparison found another owner",
    (_P.PUBLISHING, _P.UNCLAIMED): "adoption started, or NATS lost messages of a session not adopted in this process",
    (_P.PUBLISHING, _P.SUSPECT): "the stream was recreated or truncated",
    (_P.PUBLISHING, _P.GIVEN_UP): "lease lost, machine closing, or an event NATS can never store",
    (_P.PUBLISHING, _P.FENCED): "a batch was rejected because another owner wrote",
    (_P.GIVEN_UP, _P.UNCLAIMED): "adoption started",
    (_P.GIVEN_UP, _P.UNVERIFIED): "lease or connection regained",
    (_P.GIVEN_UP, _P.PUBLISHING): "adopted",
    (_P.GIVEN_UP, _P.FENCED): "adoption found events of another owner",
    (_P.FENCED, _P.PUBLISHING): "adopted again",
}
"""The allowed transitions and their causes. Entering the current state again is always allowed."""


class IllegalTransition(InternalError, RuntimeError):
    """A defect of the caller: the publication state cannot change this way."""

    def __init__(self, session: str, old: Publication, new: Publication) -> None:
        self.old, self.new = old, new
        super().__init__(f"session {session} cannot change from {old.value!r} to {new.value!r}")


def weight(entries: Sequence[Entry | NewEvent]) -> int:
    """Bytes that count against the limits of the outbox."""
    return sum(len(one.data) + len(one.text) for one in entries)


class Backlog(Struct, frozen=True):
    """Events not yet published, of one session or of all."""

    events: int = 0
    size: int = 0


class SessionOutbox:
    """One session. `state` decides what is sent; the fields below are independent of it.

    cursor     what NATS has as far as this machine knows; outlives every state
    confirmed  number of the newest event that NATS confirmed in this process, None while that is unknown. Readers rely
               on it, also after publication ended
    first      lowest event number in the store
    last       number of the newest event in the store
    size       bytes of the unpublished events
    adopted    the session was adopted in this process. Not a state, because a session resumed from an earlier process
               goes through the same states without it; it only decides whether a rollback of NATS may be followed by
               events that NATS never had
    dirty      the cursor in the store is older than `cursor`, whichever state moved it
    sending    batch that may be in the stream already, its answer lost: it is sent again unchanged or not at all
    committing  a commit of several sessions that includes this one is under way
    """

    def __init__(self, session: str, cursor: Cursor | None = None) -> None:
        self.session = session
        self.cursor = cursor or Cursor()
        self._state = _P.UNVERIFIED if self.cursor.epoch else _P.UNCLAIMED
        self.confirmed: int | None = None
        self.first = self.cursor.first
        self.last = self.cursor.seq
        self.size = 0
        self.adopted = False
        self.dirty = False
        self.sending: Batch | None = None
        self.committing = False
        self.task: asyncio.Task[None] | None = None
        self._lagging_since = 0.0
        self._queue: list[Entry] = []
        self._start = 0
        self._queued = 0
        self._receipts: list[tuple[int, Receipt]] = []
        self._waiting: list[tuple[int, int, asyncio.Future[bool]]] = []

    # State

    @property
    def state(self) -> Publication:
        return self._state

    def _enter(self, state: Publication) -> None:
        if state is not self._state and (self._state, state) not in TRANSITIONS:
            raise IllegalTransition(self.session, self._state, state)
        self._state = state

    @property
    def is_active(self) -> bool:
        return self._state in ACTIVE

    @property
    def is_due(self) -> bool:
        """Whether there is something to send to NATS, or to compare with it."""
        pending = self.cursor.seq < self.last or self.cursor.first < self.first
        return self._state is _P.SUSPECT or (self.is_active and pending)

    @property
    def is_idle(self) -> bool:
        """Whether neither a task nor a commit with other sessions publishes this session."""
        return not self.committing and (self.task is None or self.task.done())

    @property
    def may_share(self) -> bool:
        """Whether the next batch is in memory and can be committed together with those of other sessions.

        Receipts are stored one by one after their events, so events with receipts are published by themselves.
        """
        return self._state is _P.PUBLISHING and self.sending is None and bool(self._queue) and not self._receipts

    @property
    def behind(self) -> int:
        """Number of events that NATS still has to get."""
        return 0 if self._state in (_P.FENCED, _P.GIVEN_UP) else max(0, self.last - self.cursor.seq)

    def halt(self) -> None:
        """Send nothing until the session is adopted. A fenced session stays fenced."""
        self.sending = None
        if self._state is not _P.FENCED:
            self._enter(_P.UNCLAIMED)

    def suspect(self, bounds: Bounds) -> None:
        """NATS may have lost messages of this session, which has these bounds in the store."""
        self._enter(_P.SUSPECT)
        self.first, self.last = bounds.first, max(self.last, bounds.last)
        self.confirmed = None

    def verified(self, cursor: Cursor) -> None:
        """The cursor was compared with NATS and corrected. Only adoption leads from an inactive state to PUBLISHING."""
        if not self.is_active:
            raise IllegalTransition(self.session, self._state, _P.PUBLISHING)
        self._enter(_P.PUBLISHING)
        self.sending = None
        self.forget_queue()
        self.move(cursor)

    def adopt(self, cursor: Cursor, bounds: Bounds, size: int) -> None:
        """This machine owns the session: `cursor` is stored, `size` bytes above it are unpublished."""
        self._enter(_P.PUBLISHING)
        self.adopted = True
        self.first, self.last, self.size = bounds.first, bounds.last, size
        self.forget_queue()
        self.move(cursor)
        self.dirty = False

    def resume(self) -> bool:
        """Continue after publication was given up. Returns False if it was not, or if the session has no epoch."""
        if self._state is not _P.GIVEN_UP or not self.cursor.epoch:
            return False
        self._enter(_P.UNVERIFIED)
        self.confirmed = None
        return True

    def end(self, *, fenced: bool) -> int:
        """Stop publishing and release all waiting callers. Returns by how many bytes the backlog shrinks."""
        self._enter(_P.FENCED if fenced else _P.GIVEN_UP)
        self.sending, self.adopted = None, False
        self.forget_queue()
        for _, _, waiting in self._waiting:
            _settle(waiting, Fenced(self.session) if fenced else None)
        self._waiting.clear()
        released, self.size = self.size, 0
        return released

    # Appended events

    def note(self, added: Sequence[Event], events: Sequence[NewEvent], receipt: Receipt | None) -> None:
        """Queue events that were appended to the store, if they follow the queue and fit into it."""
        start = added[0].seq
        size = weight(events)
        self.last = max(self.last, added[-1].seq)
        if self._state in (_P.FENCED, _P.GIVEN_UP):
            return
        self.size += size
        end = self._start + len(self._queue)
        if self._queue and (start != end or self._queued + size > MOST_QUEUED):
            self.forget_queue()
        if not self._queue and start != max(self.cursor.seq, self.sending.last if self.sending else 0) + 1:
            return  # earlier events are only in the store and have to be sent first
        if size > MOST_QUEUED:
            return
        if not self._queue:
            self._start = start
        self._queue += [Entry(one.time, one.kind, one.data, new.text) for one, new in zip(added, events, strict=True)]
        self._queued += size
        if receipt is not None:
            self._receipts.append((added[-1].seq, receipt))

    def forget_queue(self) -> None:
        """Drop the queue; its events are read from the store when they are due."""
        self._queue, self._receipts, self._queued, self._start = [], [], 0, 0

    # Batches

    def next_from_memory(self) -> Batch | None:
        """Take the next batch from the queue; None if it has to be read from the store."""
        if not self._queue or self._start != self.cursor.seq + 1:
            self.forget_queue()
            return None
        ((start, entries), *_) = batches(self._queue, self._start)
        del self._queue[: len(entries)]
        self._start += len(entries)
        self._queued -= weight(entries)
        last = start + len(entries) - 1
        receipts = [receipt for seq, receipt in self._receipts if seq <= last]
        del self._receipts[: len(receipts)]
        return self.batch(start, entries, receipts)

    def batch(self, start: int, entries: Sequence[Entry] = (), receipts: Sequence[Receipt] = ()) -> Batch:
        """A batch under the epoch of this machine."""
        return Batch(
            epoch=self.cursor.epoch, first=self.first, start=start, entries=tuple(entries), receipts=tuple(receipts)
        )

    def lags_for(self, seconds: float) -> bool:
        """Note that the server lacks confirmed messages. Returns whether that has lasted for `seconds`."""
        self._lagging_since = self._lagging_since or time.monotonic()
        return time.monotonic() - self._lagging_since >= seconds

    def acknowledge(self, batch: Batch, place: int) -> int:
        """NATS stored a batch at stream sequence `place`. Returns by how many bytes the backlog shrinks."""
        self.sending = None
        released = min(self.size, weight(batch.entries))
        self.size -= released
        first = self.cursor.first if batch.entries else batch.first
        self.move(replace(self.cursor, seq=batch.last, place=place, first=first))
        if self.cursor.seq >= self.last:
            released, self.size = released + self.size, 0
        return released

    def move(self, cursor: Cursor) -> None:
        """NATS confirmed everything up to `cursor`: release the callers that waited for it."""
        self._lagging_since = 0.0
        self.cursor, self.confirmed, self.dirty = cursor, cursor.seq, True
        while self._waiting and self._waiting[0][0] <= cursor.seq:
            _settle(heapq.heappop(self._waiting)[2], found=True)

    # Waiting callers

    async def until(self, through: int) -> bool:
        """Wait until NATS has event `through`. Returns False if publication was given up; raises Fenced."""
        if self.cursor.seq >= through and self._state is not _P.SUSPECT:
            return True
        if self._state is _P.FENCED:
            raise Fenced(self.session)
        if self._state is _P.GIVEN_UP:
            return False
        waiting: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (through, next(_order), waiting))
        return await waiting


def _settle(waiting: asyncio.Future[bool], error: Fenced | None = None, *, found: bool = False) -> None:
    if waiting.done():  # the caller was cancelled
        return
    if error is None:
        waiting.set_result(found)
    else:
        waiting.set_exception(error)
