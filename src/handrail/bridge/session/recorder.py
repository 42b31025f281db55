"""Persists the events of one session, then publishes them in the order of their sequence numbers.

Events and the record that summarises them are stored in one transaction. So after a crash the record never claims more
than the events show: a record that says "idle" while the events still show a running turn would hide that turn from
recovery.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from handrail.bridge.errors import BridgeError, CommandRefused, StoreFailed
from handrail.bridge.session.events import item
from handrail.bridge.session.feed import Feed
from handrail.bridge.store.base import Bounds, Event, EventLog, NewEvent, Receipt, SessionRecord, SessionWriter
from handrail.bridge.store.clock import latest_now

__all__ = ["Changed", "Recorder"]

log = logging.getLogger("handrail.bridge")
Changed = Callable[[SessionRecord, SessionRecord], None]
"""Called with a new record and the one before it."""
RETRY_EVERY: Final = 1.0
RETRY_FOR = 600.0
"""Seconds for which output of the CLI is offered to a store that is full or locked. The CLI waits meanwhile."""


class Recorder:
    """The record and the events of one session.

    `on_change` is called at once for each new record; it is stored with the next events, or alone if none follow.
    """

    def __init__(self, record: SessionRecord, log: EventLog, writer: SessionWriter, on_change: Changed) -> None:
        self.record = record
        self.feed = Feed()
        self.seq = 0
        """The number of the newest event that followers may have seen."""
        self._log, self._writer, self._on_change = log, writer, on_change
        self._dirty = False
        """The record differs from the stored one, and no write that would store it is under way."""
        self._unstarted = 0
        """Writes whose task has not begun yet."""
        self._published: dict[int, list[Event]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False
        self._frozen = False

    async def open(self) -> Bounds:
        """Read the range of stored events."""
        bounds = await self._log.bounds(self.record.id)
        self.seq = bounds.last
        return bounds

    # The record

    def change(self, *, active: bool = True, **fields: Any) -> None:
        """Replace fields of the record. `active=False`: not an activity, so the session keeps its date."""
        if active:
            fields["changed"] = round(latest_now() * 1000)
        before, self.record = self.record, replace(self.record, **fields)
        if self._frozen:
            return
        self._on_change(self.record, before)
        if not self._dirty:
            self._dirty = True
            self.run(self._save())

    def correct(self, **fields: Any) -> None:
        """Replace fields of the record without a notification; they are stored with the next change."""
        self.record = replace(self.record, **fields)

    async def update(self, **fields: Any) -> None:
        """Replace fields of the record; return when they are durable. Raises StoreFailed."""
        self.change(**fields)
        await self.write([])

    async def _save(self) -> None:
        """Store the record alone, unless a write that began in the same step includes it."""
        if self._dirty and not self._closed:
            await self.write([])

    # Events

    async def write(self, events: Sequence[NewEvent], receipt: Receipt | None = None) -> None:
        """Store events with the changed record, then publish them. Raises StoreFailed; nothing was stored then.

        Cancelling the caller leaves no gap: stored events are published in any case.
        """
        if (record := self._take_record()) is not None or events or receipt is not None:
            self._unstarted += 1
            await asyncio.shield(self.run(self._start_write(events, record, receipt)))

    def _take_record(self) -> SessionRecord | None:
        """The record if it has to be stored with the next write."""
        if self._closed:
            raise CommandRefused("not_found", "the session has been closed")
        record, self._dirty = (self.record if self._dirty else None), False
        return record

    async def _start_write(
        self, events: Sequence[NewEvent], record: SessionRecord | None, receipt: Receipt | None
    ) -> None:
        self._unstarted -= 1
        await self._write(events, record, receipt)

    async def _write(self, events: Sequence[NewEvent], record: SessionRecord | None, receipt: Receipt | None) -> None:
        try:
            added = await self._writer.write(self.record.id, events, record, receipt)
        except BaseException:
            self._dirty = self._dirty or record is not None
            raise
        if not added:
            return
        # Writes of one session may be acknowledged out of order where NATS is involved.
        self._published[added[0].seq] = added
        while batch := self._published.pop(self.seq + 1, None):
            self.seq = batch[-1].seq
            self.feed.publish([item(event) for event in batch])

    async def write_output(self, events: Sequence[NewEvent], give_up: Callable[[], bool]) -> None:
        """Write output of the CLI. While the store is full or locked, the CLI waits and nothing is lost.

        To be called in a task of `run` alone: cancelling it may leave stored events unpublished.
        Raises StoreFailed if the failure is permanent, `give_up` returns True, or RETRY_FOR seconds have passed.
        """
        end = time.monotonic() + RETRY_FOR
        while True:
            try:
                # A task for each write would cost a tenth of the CPU of a line. It is needed only behind writes whose
                # task has not begun: a write takes effect in its turn, and an older record must not replace a newer.
                if self._unstarted:
                    return await self.write(events)
                return await self._write(events, self._take_record(), None)
            except StoreFailed as failure:
                if failure.lasting or give_up() or time.monotonic() >= end:
                    raise
                log.error("session %s waits for the store: %s", self.record.id, failure)
                await asyncio.sleep(RETRY_EVERY)

    async def read(self, after: int, *, most_bytes: int = 2**20) -> list[Event]:
        """The stored events after a number."""
        return await self._log.read(self.record.id, after, most_bytes=most_bytes)

    async def read_all(self, after: int) -> list[Event]:
        """All stored events after a number."""
        found: list[Event] = []
        while page := await self.read(found[-1].seq if found else after):
            found += page
        return found

    # Background work

    def run(self, work: Awaitable[Any]) -> asyncio.Task[Any]:
        """Start work that outlives its caller; `finish` waits for it."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ran)
        return task  # type: ignore[return-value]

    def _ran(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("session %s: %s", self.record.id, error)

    @property
    def busy(self) -> bool:
        """Whether background work is in progress."""
        return bool(self._tasks)

    def freeze(self) -> None:
        """Store and report no further change: another machine owns the session."""
        self._frozen = self._closed = True

    def cancel(self) -> None:
        """Cancel all work under way."""
        for task in self._tasks:
            task.cancel()

    async def finish(self) -> None:
        """Wait for all work under way; nothing is stored afterwards."""
        while self._tasks:
            await asyncio.wait(self._tasks)
        if self._dirty and not self._closed:  # a write failed: try once more to store the record
            with contextlib.suppress(BridgeError):
                await self.write([])
        self.freeze()
