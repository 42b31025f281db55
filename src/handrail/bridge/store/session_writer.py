"""Writes a session's events and its record in one SQLite transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from handrail.bridge.store.base import Event, NewEvent, Receipt, SessionRecord
from handrail.bridge.store.clock import latest_now
from handrail.bridge.store.database import Database
from handrail.bridge.store.event_log import append_events
from handrail.bridge.store.session_index import put_record

__all__ = ["SqliteSessionWriter"]


class SqliteSessionWriter:
    """The event log and the session index of one file, written together."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(
        self,
        session: str,
        events: Sequence[NewEvent],
        record: SessionRecord | None = None,
        receipt: Receipt | None = None,
    ) -> list[Event]:
        """Store events, record and receipt; all of them or none."""
        now = round(latest_now() * 1000)

        def work(db: sqlite3.Connection) -> list[Event]:
            if record is not None:
                put_record(db, record)
            if not events and receipt is None:
                return []
            return append_events(db, session, events, receipt, now)

        return await self._database.change(work)
