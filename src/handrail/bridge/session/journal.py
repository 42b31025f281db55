"""What happens in one session. In: events. Out: on record first, then told, in the order of the numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.events import item
from handrail.bridge.session.feed import Feed
from handrail.bridge.store.events_base import Bounds, Event, EventLog, NewEvent, Receipt

__all__ = ["Journal"]


class Journal:
    """The events of one session, past and coming. `run` starts work that goes on whatever becomes of its caller."""

    def __init__(self, session: str, log: EventLog, run: Callable[[Awaitable[Any]], asyncio.Task[Any]]) -> None:
        self.feed = Feed()
        self.seq = 0
        """The number of the newest event that followers may have seen."""
        self._session, self._log, self._run = session, log, run
        self._ready: dict[int, list[Event]] = {}
        self._closed = False

    async def open(self) -> Bounds:
        """See what there is."""
        bounds = await self._log.bounds(self._session)
        self.seq = bounds.last
        return bounds

    async def write(self, events: Sequence[NewEvent], receipt: Receipt | None = None) -> None:
        """Write down what happened, then tell it. StoreFailed where it could not be written: then nobody was told.

        Whoever is cancelled while he waits leaves no gap: what is on record is told all the same.
        """
        if self._closed:
            raise CommandRefused("not_found", "the session has been closed")
        await asyncio.shield(self._run(self._write(events, receipt)))

    async def _write(self, events: Sequence[NewEvent], receipt: Receipt | None) -> None:
        added = await self._log.append(self._session, events, receipt)
        if not added:
            return
        self._ready[added[0].seq] = added
        while batch := self._ready.pop(self.seq + 1, None):
            self.seq = batch[-1].seq
            self.feed.publish([item(one) for one in batch])

    async def read(self, after: int, *, most_bytes: int = 2**20) -> list[Event]:
        """What is on record after a number."""
        return await self._log.read(self._session, after, most_bytes=most_bytes)

    async def read_all(self, after: int) -> list[Event]:
        """Everything after a number."""
        found: list[Event] = []
        while page := await self.read(found[-1].seq if found else after):
            found += page
        return found

    def close(self) -> None:
        """Nothing more is written."""
        self._closed = True
