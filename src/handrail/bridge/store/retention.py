"""What is not kept for ever. In: how long and how much may be kept. Out: sessions deleted, the oldest first.

A session that runs, that waits for something or that somebody looks at stays, however old and large it is. Receipts of
commands go after a month: nobody sends the same command again after that. Pictures go after a day. What a session used
stays, without its name.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterable
from typing import Final

from handrail.bridge.errors import BridgeError
from handrail.bridge.session.sessions import Sessions
from handrail.bridge.store.base import AT_REST, SessionRecord
from handrail.bridge.store.clock import earliest_now
from handrail.bridge.store.database import Database

__all__ = ["Limits", "Retention", "too_old"]

log = logging.getLogger("handrail.bridge")
Limits = tuple[float, int]
"""Days and bytes; 0 is without end."""
DAY: Final = 86_400_000
RECEIPT_DAYS: Final = 30
EVERY: Final = 3600.0
PAGE: Final = 1000


def too_old(records: Iterable[SessionRecord], days: float, now: int) -> list[SessionRecord]:
    """Those at rest for longer than so many days, the oldest first. Pure."""
    if not days:
        return []
    before = now - round(days * DAY)
    old = [record for record in records if record.state in AT_REST and record.changed < before]
    return sorted(old, key=lambda record: (record.changed, record.id))


class Retention:
    """Looks after one store. `clock` is in seconds since 1970."""

    def __init__(
        self, sessions: Sessions, database: Database, limits: Limits, *, clock: Callable[[], float] = earliest_now
    ) -> None:
        self._sessions, self._database, self._clock = sessions, database, clock
        self._days, self._bytes = limits

    async def run(self) -> None:
        """Tidy up now and every hour, until cancelled."""
        while True:
            try:
                await self.tidy()
            except BridgeError as error:
                log.error("old sessions could not be deleted: %s", error)
            await asyncio.sleep(EVERY)

    async def tidy(self) -> list[str]:
        """Once. Out: the ids of the sessions that went."""
        now = round(self._clock() * 1000)
        await self._database.execute("DELETE FROM receipt WHERE time < ?", (now - RECEIPT_DAYS * DAY,))
        await self._database.execute("DELETE FROM upload WHERE time < ?", (now - DAY,))
        await self._database.execute("DELETE FROM used_total WHERE session NOT IN (SELECT id FROM session)")
        if not (self._days or self._bytes):
            return []
        records = await self._records()
        gone = [record.id for record in too_old(records, self._days, now) if await self._delete(record)]
        if self._bytes:
            resting = sorted((one for one in records if one.id not in gone), key=lambda one: (one.changed, one.id))
            for record in resting:
                if await self._used() <= self._bytes:
                    break
                if record.state in AT_REST and await self._delete(record):
                    gone.append(record.id)
        if gone:
            log.info("%d old sessions were deleted", len(gone))
        return gone

    async def _records(self) -> list[SessionRecord]:
        found: list[SessionRecord] = []
        while page := await self._sessions.own.list(limit=PAGE, offset=len(found)):
            found += page
        return found

    async def _used(self) -> int:
        """How many bytes of the file hold something."""

        def look(db: sqlite3.Connection) -> int:
            size, pages, free = (
                db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
            )
            return size * (pages - free)

        return await self._database.look(look)

    async def _delete(self, seen: SessionRecord) -> bool:
        """Delete a session, if it is still at rest. Out: whether it went."""
        id = seen.id
        record = await self._sessions.own.get(id)
        if record is None or record.changed != seen.changed or (await self._sessions.get(id)).in_use:
            return False
        await self._sessions.delete(id)
        return True
