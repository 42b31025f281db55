"""Deletes old data: sessions beyond the configured age or size, old receipts, old uploads.

A session that runs, has something pending or is followed by a client is kept, however old or large it is. Receipts are
deleted after 30 days, when no client retries a command any more, and uploads after a day. The usage of a deleted
session stays in the totals, without its id.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from handrail.bridge.errors import BridgeError
from handrail.bridge.store.base import AT_REST, SessionIndex, SessionRecord
from handrail.bridge.store.clock import earliest_now
from handrail.bridge.store.database import Database
from handrail.bridge.store.search_index import used_bytes

__all__ = ["DeletableSession", "DeletableSessions", "Limits", "Retention", "too_old"]

log = logging.getLogger("handrail.bridge")
Limits = tuple[float, int]
"""Days and bytes; 0 means unlimited."""
DAY: Final = 86_400_000
RECEIPT_DAYS: Final = 30
EVERY: Final = 3600.0
PAGE: Final = 1000


class DeletableSession(Protocol):
    """A session, as far as retention asks about it."""

    @property
    def in_use(self) -> bool:
        """It has a process, something pending or a follower."""
        ...


class DeletableSessions(Protocol):
    """The sessions of this machine, as far as retention uses them."""

    @property
    def own(self) -> SessionIndex:
        """The index of the sessions whose events are stored on this machine."""
        ...

    async def get(self, id: str) -> DeletableSession:
        """A session by its id."""
        ...

    async def delete(self, id: str) -> None:
        """Delete a session with its events."""
        ...


def too_old(records: Iterable[SessionRecord], days: float, now: int) -> list[SessionRecord]:
    """The sessions at rest that last changed more than this many days ago, oldest first."""
    if not days:
        return []
    before = now - round(days * DAY)
    old = [record for record in records if record.state in AT_REST and record.changed < before]
    return sorted(old, key=lambda record: (record.changed, record.id))


class Retention:
    """Applies the limits to one store. `clock` is in seconds since 1970."""

    def __init__(
        self,
        sessions: DeletableSessions,
        database: Database,
        limits: Limits,
        *,
        clock: Callable[[], float] = earliest_now,
    ) -> None:
        self._sessions, self._database, self._clock = sessions, database, clock
        self._days, self._bytes = limits

    async def run(self) -> None:
        """Tidy up now and every hour, until cancelled."""
        while True:
            try:
                await self.tidy()
            except BridgeError as error:
                log.error("failed to delete old sessions: %s; the next attempt is in an hour", error)
            await asyncio.sleep(EVERY)

    async def tidy(self) -> list[str]:
        """Delete everything beyond the limits; returns the ids of the deleted sessions."""
        now = round(self._clock() * 1000)
        await self._database.execute("DELETE FROM receipt WHERE time < ?", (now - RECEIPT_DAYS * DAY,))
        await self._database.execute("DELETE FROM upload WHERE time < ?", (now - DAY,))
        await self._database.execute("DELETE FROM used_total WHERE session NOT IN (SELECT id FROM session)")
        if not (self._days or self._bytes):
            return []
        records = await self._records()
        deleted = [record.id for record in too_old(records, self._days, now) if await self._delete(record)]
        if self._bytes:
            remaining = [record for record in records if record.id not in deleted]
            for record in sorted(remaining, key=lambda record: (record.changed, record.id)):
                if await self._database.look(used_bytes) <= self._bytes:
                    break
                if record.state in AT_REST and await self._delete(record):
                    deleted.append(record.id)
        if deleted:
            log.info("deleted %d old sessions", len(deleted))
        return deleted

    async def _records(self) -> list[SessionRecord]:
        found: list[SessionRecord] = []
        while page := await self._sessions.own.list(limit=PAGE, offset=len(found)):
            found += page
        return found

    async def _delete(self, listed: SessionRecord) -> bool:
        """Delete a session unless it changed or was taken into use since it was listed; True if it was deleted."""
        id = listed.id
        record = await self._sessions.own.get(id)
        if record is None or record.changed != listed.changed or (await self._sessions.get(id)).in_use:
            return False
        await self._sessions.delete(id)
        return True
