"""The session index of a machine in a cluster: its own records and those of all other machines as one list.

A record is stored in SQLite first and published to NATS afterwards, never before the events it summarises. Of several
pending records of a session only the newest is published. A record that could not be published is published by the
next process on the same store.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from handrail.bridge.cluster.store.event_log import Holds
from handrail.bridge.cluster.store.outbox import Outbox
from handrail.bridge.cluster.store.pacing import Debounced, RetryGate
from handrail.bridge.cluster.store.session_index import JetStreamSessionIndex
from handrail.bridge.errors import BridgeError, Fenced
from handrail.bridge.store.base import SessionLine, SessionRecord, matching_records
from handrail.bridge.store.database import Database
from handrail.bridge.store.session_index import SqliteSessionIndex, delete_record, put_record

__all__ = ["TABLES", "ClusterIndex"]

log = logging.getLogger("handrail.bridge")
TABLES: Final = """
CREATE TABLE IF NOT EXISTS sent (id TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
"""
"""The record last published for each session; empty if the deletion of the session is still to be published."""
_AT_REST: Final = frozenset({"hibernated", "failed"})
_SAVE_EVERY: Final = 1.0
"""Seconds between writes of the `sent` table."""
_DELETED: Final = b""
_decode: Final = msgspec.json.Decoder(SessionRecord).decode


class _Pending(Struct, frozen=True, eq=False):
    """A record to publish after event `through`; None for a deletion.

    taken  this machine took the session over, so the record on NATS still names another runner
    """

    record: SessionRecord | None
    through: int = 0
    taken: bool = False


class ClusterIndex:
    """Records of this machine, called `name`, and of all others. `alive` returns whether a machine has a lease."""

    def __init__(
        self,
        local: SqliteSessionIndex,
        shared: JetStreamSessionIndex,
        ownership: Holds,
        name: str,
        *,
        database: Database,
        outbox: Outbox,
        alive: Callable[[str], bool] = lambda name: True,
    ) -> None:
        self._local, self._shared, self._ownership, self._name = local, shared, ownership, name
        self._database, self._outbox, self._alive = database, outbox, alive
        self._pending: dict[str, _Pending] = {}
        self._sending: dict[str, asyncio.Task[None]] = {}
        self._gate = RetryGate()
        self._sent: dict[str, SessionRecord | None] = {}
        self._unsure: set[str] = set()
        """Sessions with a write whose caller was cancelled: the record may or may not have been committed."""
        self._saving = Debounced(self._save, _SAVE_EVERY)

    async def open(self) -> None:
        """Publish what an earlier process could not, and the records of a machine that was not in a cluster before."""

        def look(db: sqlite3.Connection) -> tuple[list[bytes], list[str]]:
            query = (
                "SELECT session.record FROM session LEFT JOIN sent USING (id) WHERE sent.record IS NOT session.record"
            )
            deleted = "SELECT id FROM sent WHERE record = ? AND id NOT IN (SELECT id FROM session)"
            return [row[0] for row in db.execute(query)], [row[0] for row in db.execute(deleted, (_DELETED,))]

        unsent, deleted = await self._database.look(look)
        for id in deleted:
            self._publish(id, None)
        for record in map(_decode, unsent):
            if not record.runner:
                await self.put(record)
            elif record.runner == self._name:
                self.publish(record)

    async def close(self) -> None:
        """Stop publishing; pending records are left to the next process."""
        tasks = [*self._sending.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._gate.close()
        self._unsure.clear()
        await self._saving.close()

    def own(self) -> SqliteSessionIndex:
        """The records in the store of this machine."""
        return self._local

    # Records

    def with_runner(self, record: SessionRecord) -> SessionRecord:
        """The record with this machine as its runner."""
        return replace(record, runner=self._name)

    async def put(self, record: SessionRecord) -> None:
        record = self.with_runner(record)
        await self._store(record)
        self.publish(record)

    async def get(self, id: str) -> SessionRecord | None:
        if self._ownership.holds(id):
            return await self._local.get(id)
        if (pending := self._pending.get(id)) is not None:
            return pending.record
        found = await self._shared.get(id)
        return await self._local.get(id) if found is None else self.shown(found)

    async def delete(self, id: str) -> None:
        def work(db: sqlite3.Connection) -> None:
            delete_record(db, id)
            db.execute("REPLACE INTO sent VALUES (?, ?)", (id, _DELETED))

        self._sent.pop(id, None)
        self._pending.pop(id, None)
        await self._outbox.append(id, (), also=work)
        self._publish(id, None)

    async def list(
        self, *, archived: bool | None = None, words: str = "", limit: int = 100, offset: int = 0
    ) -> list[SessionRecord]:
        if not self._shared.whole.is_set():
            return await self._local.list(archived=archived, words=words, limit=limit, offset=offset)
        end = offset + limit
        found = await self._shared.list(archived=archived, words=words, limit=end + len(self._pending))
        if self._pending:
            ours = [one.record for one in self._pending.values() if one.record is not None]
            others = [one for one in found if one.id not in self._pending]
            found = matching_records([*others, *ours], archived=archived, words=words)
        return [self.shown(record) for record in found[offset:end]]

    async def lines(
        self, *, archived: bool | None = None, words: str = "", limit: int = 100, offset: int = 0
    ) -> list[SessionLine]:
        found = await self.list(archived=archived, words=words, limit=limit, offset=offset)
        return [record.line() for record in found]

    def shown(self, record: SessionRecord) -> SessionRecord:
        """The record as clients see it: an active session whose machine lost its lease is interrupted."""
        runner = record.runner
        if record.state in _AT_REST or runner in ("", self._name) or self._alive(runner):
            return record
        return replace(record, state="interrupted")

    async def adopt(self, id: str) -> None:
        """Copy the record of a session that this machine took over, and publish it with this machine as runner."""
        found = await self._shared.get(id)
        if found is not None and found.runner != self._name and id not in self._pending:
            record = self.with_runner(found)
            await self._store(record)
            self._publish(id, record, taken=True)

    async def _store(self, record: SessionRecord) -> None:
        """Store a record after the events that were appended before."""
        await self._outbox.append(record.id, (), also=lambda db: put_record(db, record))

    # Publishing

    def publish(self, record: SessionRecord) -> None:
        """Publish a record that is in the store, after the events that were appended before this call."""
        self._publish(record.id, record)

    def publish_stored(self, id: str) -> None:
        """Publish the record of a session if a write in progress commits it."""
        self._unsure.add(id)
        self._saving.request()

    async def wait_published(self, id: str) -> None:
        """Wait until everything about a session is published, or until publishing ended."""
        sending = self._sending.get(id)
        if sending is not None:
            await asyncio.wait([sending])

    def resume(self) -> None:
        """Retry now, because the connection was restored."""
        self._gate.open()

    def _publish(self, id: str, record: SessionRecord | None, *, through: int = 0, taken: bool = False) -> None:
        self._pending[id] = _Pending(record, max(through, self._outbox.last(id)), taken)
        sending = self._sending.get(id)
        if sending is None or sending.done():
            sending = self._sending[id] = asyncio.create_task(self._send(id), name=f"handrail index {id}")
            sending.add_done_callback(partial(self._ended, id))

    def _ended(self, id: str, sending: asyncio.Task[None]) -> None:
        if self._sending.get(id) is sending:
            del self._sending[id]
        if not sending.cancelled() and (error := sending.exception()) is not None:
            log.error("the record of session %s was not published: %s", id, error)

    async def _send(self, id: str) -> None:
        while (pending := self._pending.get(id)) is not None:
            valid = pending.record is None or await self._events_are_published(id, pending.through)
            if self._pending.get(id) is not pending:
                continue
            if not valid:
                del self._pending[id]
                return
            await self._gate.wait()
            try:
                if pending.record is None:
                    await self._shared.delete(id)
                elif pending.taken or await self._is_newest_writer(id):
                    await self._shared.put(pending.record)
            except BridgeError as error:
                if self._gate.shut():
                    log.info("publishing of session records paused (session %s): %s", id, error)
                continue
            self._gate.reset_backoff()
            if self._pending.get(id) is pending:
                del self._pending[id]
                self._sent[id] = pending.record
                self._saving.request()

    async def _events_are_published(self, id: str, through: int) -> bool:
        """Wait until NATS has the events that a record summarises. Returns False if they are void or given up."""
        try:
            return await self._outbox.published(id, through)
        except Fenced:
            return False

    async def _is_newest_writer(self, id: str) -> bool:
        """Whether no other machine has published a record of the session since; ours would be outdated."""
        if self._ownership.holds(id):
            return True
        await self._shared.whole.wait()
        there = await self._shared.get(id)
        return there is None or there.runner in ("", self._name)

    async def _save(self) -> None:
        """Store which records were published. If that is lost in a crash, they are published again."""
        sent, self._sent = self._sent, {}
        unsure, self._unsure = self._unsure, set()

        def work(db: sqlite3.Connection) -> list[tuple[bytes, int]]:
            for id, record in sent.items():
                if record is None:
                    db.execute("DELETE FROM sent WHERE id = ? AND record = ?", (id, _DELETED))
                else:
                    db.execute("REPLACE INTO sent VALUES (?, ?)", (id, msgspec.json.encode(record)))
            query = (
                "SELECT session.record, COALESCE(log.last, 0) FROM session LEFT JOIN sent USING (id)"
                " LEFT JOIN log ON log.session = id WHERE id = ? AND sent.record IS NOT session.record"
            )
            return [row for id in unsure for row in db.execute(query, (id,))]

        if not sent and not unsure:
            return
        # The writer thread runs changes in order, so this one sees the outcome of the cancelled writes.
        # The outbox may not know their events yet, hence the event number from the store.
        for data, last in await self._database.change(work):
            record = _decode(data)
            if record.runner == self._name:
                self._publish(record.id, record, through=last)
