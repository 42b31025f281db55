"""Writes the events of a session and the record that summarises them in one transaction."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence

from handrail.bridge.cluster.store.cluster_index import ClusterIndex
from handrail.bridge.cluster.store.event_log import ClusterLog
from handrail.bridge.store.base import Event, NewEvent, Receipt, SessionRecord
from handrail.bridge.store.session_index import put_record

__all__ = ["ClusterSessionWriter"]


class ClusterSessionWriter:
    """The session writer of a machine in a cluster. Log and index must share one store."""

    def __init__(self, log: ClusterLog, index: ClusterIndex) -> None:
        self._log, self._index = log, index

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
            added = await self._log.append_local(session, events, receipt, also=also)
        except asyncio.CancelledError:
            # The outbox stores it all the same, and a stored record has to be published.
            if record is not None:
                self._index.publish_stored(record.id)
            raise
        if record is not None:
            self._index.publish(record)
        if added:
            await self._log.wait_published(session, added[-1].seq)
        return added
