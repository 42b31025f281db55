"""Writes the events of a session and the record that summarises them in one transaction."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence

from handrail.bridge.cluster.store.cluster_index import ClusterIndex
from handrail.bridge.cluster.store.event_log import ClusterLog
from handrail.bridge.store.base import Event, NewEvent, Receipt, SessionRecord
from handrail.bridge.store.clock import latest_now
from handrail.bridge.store.database import Database
from handrail.bridge.store.event_log import append_events
from handrail.bridge.store.session_index import put_record

__all__ = ["ClusterSessionWriter"]


class ClusterSessionWriter:
    """The session writer of a machine in a cluster. All three arguments must share one store."""

    def __init__(self, database: Database, log: ClusterLog, index: ClusterIndex) -> None:
        self._database, self._log, self._index = database, log, index

    async def write(
        self,
        session: str,
        events: Sequence[NewEvent],
        record: SessionRecord | None = None,
        receipt: Receipt | None = None,
    ) -> list[Event]:
        """Store events, record and receipt together or not at all; return the numbered events.

        The record gets this machine as its runner and is published to NATS after the events. Where sessions move, the
        call returns only after NATS has the events. Raises CommandRefused("elsewhere") if another machine owns the
        session; a record without events needs no ownership, and is published only if it is still this machine's.
        """
        record = None if record is None else self._index.with_runner(record)

        def also(db: sqlite3.Connection) -> None:
            if record is not None:
                put_record(db, record)

        try:
            if session and events:
                added = await self._log.append_local(session, events, receipt, also=also)
            else:
                added = await self._write_local(session, events, receipt, also)
        except asyncio.CancelledError:
            # The writer thread commits the transaction all the same, and a committed record has to be published.
            if record is not None:
                self._index.publish_stored(record.id)
            raise
        if record is not None:
            self._index.publish(record)
        if session and added:
            await self._log.wait_published(session, added[-1].seq)
        return added

    async def _write_local(
        self,
        session: str,
        events: Sequence[NewEvent],
        receipt: Receipt | None,
        also: Callable[[sqlite3.Connection], None],
    ) -> list[Event]:
        """Without events of a session nothing has to follow anything else on NATS."""
        now = round(latest_now() * 1000)

        def work(db: sqlite3.Connection) -> list[Event]:
            added = append_events(db, session, events, receipt, now) if events or receipt is not None else []
            also(db)
            return added

        return await self._database.change(work)
