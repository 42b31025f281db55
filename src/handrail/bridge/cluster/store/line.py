"""What of one session NATS has not yet. In: events as they are appended, what was acknowledged. Out: what is next.

The newest lie in memory, up to a bound; what is older is in the store. Whoever waits for an event is told once NATS
has it, or once nobody tries any more.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Sequence
from itertools import count
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from handrail.bridge.cluster.store.batch import Batch, Entry, batches
from handrail.bridge.cluster.store.cursors import Cursor
from handrail.bridge.errors import Fenced
from handrail.bridge.store.base import Event, NewEvent, Receipt

__all__ = ["Behind", "Line", "weight"]

MOST_QUEUED: Final = 1024 * 1024
"""Bytes of one session that lie in memory."""
_order = count()


def weight(entries: Sequence[Entry | NewEvent]) -> int:
    """How much room they take."""
    return sum(len(one.data) + len(one.text) for one in entries)


class Behind(Struct, frozen=True):
    """What NATS has not yet, of one session or of all."""

    events: int = 0
    size: int = 0


class Line:
    """One session. It is `open` where we have written to it before: what follows may go out."""

    def __init__(self, session: str, cursor: Cursor | None = None) -> None:
        self.session = session
        self.cursor = cursor or Cursor()
        self.first = self.cursor.first
        """The lowest number that the store has."""
        self.last = self.cursor.seq
        """The number of the newest event in the store."""
        self.size = 0
        """Bytes of what NATS has not."""
        self.open = bool(self.cursor.epoch)
        self.looked = False
        """What NATS has was looked at in this life; until then the cursor may be behind."""
        self.suspect = False
        """NATS may have lost what it had."""
        self.adopted = self.fenced = self.given_up = False
        self.dirty = False
        """The cursor in the store is older than this one."""
        self._lacking = 0.0
        """Since when the server has less than it had; 0 where it has not."""
        self.sending: Batch | None = None
        """It may be in the stream already, with its answer lost: it is sent again as it was, or not at all."""
        self.task: asyncio.Task[None] | None = None
        self._queue: list[Entry] = []
        self._start = 0
        self._queued = 0
        self._receipts: list[tuple[int, Receipt]] = []
        self._waiting: list[tuple[int, int, asyncio.Future[bool]]] = []

    @property
    def is_due(self) -> bool:
        """Is there something for NATS?"""
        return self.open and (self.suspect or self.cursor.seq < self.last or self.cursor.first < self.first)

    @property
    def behind(self) -> int:
        """How many events NATS has not, of those that it shall have."""
        return 0 if self.fenced or self.given_up else max(0, self.last - self.cursor.seq)

    # What is appended

    def note(self, added: Sequence[Event], events: Sequence[NewEvent], receipt: Receipt | None) -> None:
        """Events are in the store."""
        start = added[0].seq
        size = weight(events)
        self.last = max(self.last, added[-1].seq)
        if self.fenced or self.given_up:
            return
        self.size += size
        end = self._start + len(self._queue)
        if self._queue and (start != end or self._queued + size > MOST_QUEUED):
            self.forget_queue()
        if not self._queue and start != max(self.cursor.seq, self.sending.last if self.sending else 0) + 1:
            return  # there is more before it, in the store
        if size > MOST_QUEUED:
            return
        if not self._queue:
            self._start = start
        self._queue += [Entry(one.time, one.kind, one.data, new.text) for one, new in zip(added, events, strict=True)]
        self._queued += size
        if receipt is not None:
            self._receipts.append((added[-1].seq, receipt))

    def forget_queue(self) -> None:
        """What lies in memory is read from the store when it is its turn."""
        self._queue, self._receipts, self._queued, self._start = [], [], 0, 0

    # What is sent

    def next_from_memory(self) -> Batch | None:
        """What comes next; None where it is in the store alone."""
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
        """Entries as ours."""
        return Batch(
            epoch=self.cursor.epoch, first=self.first, start=start, entries=tuple(entries), receipts=tuple(receipts)
        )

    def lacks_for(self, seconds: float) -> bool:
        """The server has less than it had. Out: whether that has been so for a while."""
        self._lacking = self._lacking or time.monotonic()
        return time.monotonic() - self._lacking >= seconds

    def acknowledge(self, batch: Batch, place: int) -> int:
        """NATS has it. Out: by how many bytes there is less."""
        self.sending = None
        gone = min(self.size, weight(batch.entries))
        self.size -= gone
        first = self.cursor.first if batch.entries else batch.first
        self.move(replace(self.cursor, seq=batch.last, place=place, first=first))
        if self.cursor.seq >= self.last:
            gone, self.size = gone + self.size, 0
        return gone

    def move(self, cursor: Cursor) -> None:
        """NATS has so much."""
        self._lacking = 0.0
        self.cursor, self.dirty = cursor, True
        while self._waiting and self._waiting[0][0] <= cursor.seq:
            _settle(heapq.heappop(self._waiting)[2], found=True)

    # Who waits

    async def until(self, through: int) -> bool:
        """Wait until NATS has an event. Out: whether it has; Fenced where somebody else has the session."""
        if self.cursor.seq >= through and not self.suspect:
            return True
        if self.fenced:
            raise Fenced(self.session)
        if self.given_up:
            return False
        waiting: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (through, next(_order), waiting))
        return await waiting

    def end(self, *, fenced: bool) -> int:
        """Nobody tries any more. Out: by how many bytes there is less."""
        self.open, self.sending, self.suspect, self.adopted = False, None, False, False
        self.fenced, self.given_up = fenced, not fenced
        self.forget_queue()
        for _, _, waiting in self._waiting:
            _settle(waiting, Fenced(self.session) if fenced else None)
        self._waiting.clear()
        gone, self.size = self.size, 0
        return gone


def _settle(waiting: asyncio.Future[bool], error: Fenced | None = None, *, found: bool = False) -> None:
    if waiting.done():  # whoever waited has gone
        return
    if error is None:
        waiting.set_result(found)
    else:
        waiting.set_exception(error)
