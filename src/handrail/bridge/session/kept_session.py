"""A session's record and events. In: changes. Out: kept, and told to whoever follows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec.structs import replace

from handrail.bridge.session.feed import Feed
from handrail.bridge.session.journal import Journal
from handrail.bridge.store.clock import latest_now
from handrail.bridge.store.events_base import Event, EventLog, NewEvent, Receipt
from handrail.bridge.store.index_base import SessionIndex, SessionRecord

__all__ = ["Changed", "KeptSession"]

log = logging.getLogger("handrail.bridge")
Changed = Callable[[SessionRecord, SessionRecord], None]
"""Is told of a record, and of the one that was before."""


class KeptSession:
    """What is known of one session. `on_change` is told of every new record, and of the one before."""

    def __init__(
        self,
        record: SessionRecord,
        *,
        events: EventLog,
        index: SessionIndex,
        on_change: Changed = lambda record, before: None,
    ) -> None:
        self.record = record
        self._index, self._on_change = index, on_change
        self._over = False
        self._keeping: asyncio.Task[None] | None = None
        self._working: set[asyncio.Task[Any]] = set()
        self._journal = Journal(record.id, events, self._work)

    @property
    def feed(self) -> Feed:
        """What followers are told."""
        return self._journal.feed

    @property
    def seq(self) -> int:
        """The number of the newest event that followers may have seen."""
        return self._journal.seq

    async def record_events(self, events: Sequence[NewEvent], receipt: Receipt | None = None) -> None:
        """Write down what happened, then tell it; always in the order of the numbers."""
        await self._journal.write(events, receipt)

    def _state_events(self) -> list[NewEvent]:
        """Events of a state that has become another, where there are states."""
        return []

    async def _tell_state(self, *before: NewEvent, receipt: Receipt | None = None) -> None:
        """Write down what happened, and which state that makes."""
        events = [*before, *self._state_events()]
        if events:
            await self.record_events(events, receipt)

    async def read(self, after: int, *, most_bytes: int = 2**20) -> list[Event]:
        """What is on record after a number."""
        return await self._journal.read(after, most_bytes=most_bytes)

    def change(self, **fields: Any) -> None:
        """Another record: kept soon, told at once."""
        before, self.record = self.record, replace(self.record, changed=round(latest_now() * 1000), **fields)
        if self._over:
            return
        self._on_change(self.record, before)
        if self._keeping is None:
            self._keeping = self._work(self._keep_record())

    async def keep(self, **fields: Any) -> None:
        """Another record, told at once. Out: once it is kept for good."""
        self.change(**fields)
        if self._keeping is not None:
            await asyncio.shield(self._keeping)

    async def _keep_record(self) -> None:
        """Never before the events that go with it: a record that says more than they do would hide what was open.

        Whoever changes the record goes on to write its events, and those are on their way two turns of the loop later.
        """
        record, self._keeping = self.record, None
        for _ in range(2):
            await asyncio.sleep(0)
        await self._index.put(record)

    def _work(self, work: Awaitable[Any]) -> asyncio.Task[Any]:
        """Go on with it, whatever becomes of the caller."""
        task = asyncio.ensure_future(work)
        self._working.add(task)
        task.add_done_callback(self._done)
        return task  # type: ignore[return-value]

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._working.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("session %s: %s", self.record.id, error)

    async def _finish(self) -> None:
        """Wait for all that is under way; from then on nothing is kept."""
        while self._working:
            await asyncio.wait(self._working)
        self._over = True
        self._journal.close()
