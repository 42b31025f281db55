"""The session index of a machine among many. In: records of its own sessions. Out: all machines' sessions, as one list.

A record is in the store first and goes to NATS behind: never before the events that it speaks of, and of several that
wait for it only the newest. What could not go out is noted, and goes out in a later life.
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

from handrail.bridge.cluster.store.gate import Gate
from handrail.bridge.cluster.store.log import Holds
from handrail.bridge.cluster.store.outbox import Outbox
from handrail.bridge.cluster.store.session_index import JetStreamSessionIndex
from handrail.bridge.cluster.store.soon import Soon
from handrail.bridge.errors import BridgeError, Fenced
from handrail.bridge.session.session_lines import session_line
from handrail.bridge.store.base import SessionLine, SessionRecord
from handrail.bridge.store.database import Database
from handrail.bridge.store.memory_index import chosen
from handrail.bridge.store.session_index import SqliteSessionIndex, delete_record

__all__ = ["TABLES", "ClusterIndex"]

log = logging.getLogger("handrail.bridge")
TABLES: Final = """
CREATE TABLE IF NOT EXISTS sent (id TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
"""
"""The record of each session that NATS was last given; an empty one where it has yet to be told that there is none."""
_AT_REST: Final = frozenset({"hibernated", "failed"})
_NOTED_EVERY: Final = 1.0
_GONE: Final = b""
_decode: Final = msgspec.json.Decoder(SessionRecord).decode


class _Waiting(Struct, frozen=True, eq=False):
    """What NATS is to be told of a session: a record, after the events through a number; None that it was deleted.

    taken  it is another's on NATS, and ours from now on
    """

    record: SessionRecord | None
    through: int = 0
    taken: bool = False


class ClusterIndex:
    """Records of this machine, whose name is `name`, and of all others. `alive`: whether a machine is there."""

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
        self._waiting: dict[str, _Waiting] = {}
        self._sending: dict[str, asyncio.Task[None]] = {}
        self._gate = Gate()
        self._noted: dict[str, SessionRecord | None] = {}
        self._notes = Soon(self._note, _NOTED_EVERY)

    async def open(self) -> None:
        """Go on with what an earlier life left. The sessions of a machine that was alone until now are told, too."""

        def look(db: sqlite3.Connection) -> tuple[list[bytes], list[str]]:
            query = (
                "SELECT session.record FROM session LEFT JOIN sent USING (id) WHERE sent.record IS NOT session.record"
            )
            gone = "SELECT id FROM sent WHERE record = ? AND id NOT IN (SELECT id FROM session)"
            return [row[0] for row in db.execute(query)], [row[0] for row in db.execute(gone, (_GONE,))]

        unsent, gone = await self._database.look(look)
        for id in gone:
            self._tell(id, None)
        for record in map(_decode, unsent):
            if not record.runner:
                await self.put(record)
            elif record.runner == self._name:
                self._tell(record.id, record)

    async def close(self) -> None:
        """Tell nothing more: what waits is told by the next life."""
        tasks = [*self._sending.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._gate.close()
        await self._notes.close()

    def own(self) -> SqliteSessionIndex:
        """What this machine has."""
        return self._local

    # Records

    async def put(self, record: SessionRecord) -> None:
        record = replace(record, runner=self._name)
        await self._local.put(record)
        self._tell(record.id, record)

    async def get(self, id: str) -> SessionRecord | None:
        if self._ownership.holds(id):
            return await self._local.get(id)
        if (waiting := self._waiting.get(id)) is not None:
            return waiting.record
        found = await self._shared.get(id)
        return await self._local.get(id) if found is None else self.shown(found)

    async def delete(self, id: str) -> None:
        def work(db: sqlite3.Connection) -> None:
            delete_record(db, id)
            db.execute("REPLACE INTO sent VALUES (?, ?)", (id, _GONE))

        self._noted.pop(id, None)
        self._waiting.pop(id, None)
        await self._database.change(work)
        self._tell(id, None)

    async def list(
        self, *, archived: bool | None = None, words: str = "", limit: int = 100, offset: int = 0
    ) -> list[SessionRecord]:
        if not self._shared.whole.is_set():
            return await self._local.list(archived=archived, words=words, limit=limit, offset=offset)
        end = offset + limit
        found = await self._shared.list(archived=archived, words=words, limit=end + len(self._waiting))
        if self._waiting:
            ours = [one.record for one in self._waiting.values() if one.record is not None]
            others = [one for one in found if one.id not in self._waiting]
            found = chosen([*others, *ours], archived=archived, words=words)
        return [self.shown(record) for record in found[offset:end]]

    async def lines(
        self, *, archived: bool | None = None, words: str = "", limit: int = 100, offset: int = 0
    ) -> list[SessionLine]:
        found = await self.list(archived=archived, words=words, limit=limit, offset=offset)
        return [session_line(record) for record in found]

    def shown(self, record: SessionRecord) -> SessionRecord:
        """A record as it is told: a session whose machine has gone in the middle of something is interrupted."""
        runner = record.runner
        if record.state in _AT_REST or runner in ("", self._name) or self._alive(runner):
            return record
        return replace(record, state="interrupted")

    async def take_up(self, id: str) -> None:
        """A session is ours from now on: its record, too, as whoever had it left it."""
        found = await self._shared.get(id)
        if found is not None and found.runner != self._name and id not in self._waiting:
            record = replace(found, runner=self._name)
            await self._local.put(record)
            self._tell(id, record, taken=True)

    # What NATS is told

    async def told(self, id: str) -> None:
        """Wait until NATS was told all of a session, or until nobody tries any more."""
        sending = self._sending.get(id)
        if sending is not None:
            await asyncio.wait([sending])

    def go_on(self) -> None:
        """NATS is there again."""
        self._gate.open()

    def _tell(self, id: str, record: SessionRecord | None, *, taken: bool = False) -> None:
        """Whoever puts a record has begun to append its events before: they are in the store, as it is."""
        self._waiting[id] = _Waiting(record, self._outbox.last(id), taken)
        sending = self._sending.get(id)
        if sending is None or sending.done():
            sending = self._sending[id] = asyncio.create_task(self._send(id), name=f"handrail index {id}")
            sending.add_done_callback(partial(self._sent, id))

    def _sent(self, id: str, sending: asyncio.Task[None]) -> None:
        if self._sending.get(id) is sending:
            del self._sending[id]
        if not sending.cancelled() and (error := sending.exception()) is not None:
            log.error("the record of session %s could not be told: %s", id, error)

    async def _send(self, id: str) -> None:
        while (waiting := self._waiting.get(id)) is not None:
            counts = waiting.record is None or await self._events_are_there(id, waiting.through)
            if self._waiting.get(id) is not waiting:
                continue
            if not counts:
                del self._waiting[id]
                return
            await self._gate.wait()
            try:
                if waiting.record is None:
                    await self._shared.delete(id)
                elif waiting.taken or await self._is_ours(id):
                    await self._shared.put(waiting.record)
            except BridgeError as error:
                if self._gate.shut():
                    log.info("records of sessions wait for a bit (%s): %s", id, error)
                continue
            self._gate.worked()
            if self._waiting.get(id) is waiting:
                del self._waiting[id]
                self._noted[id] = waiting.record
                self._notes.ask()

    async def _events_are_there(self, id: str, through: int) -> bool:
        """Wait until NATS has the events that a record speaks of. Out: False where they do not count."""
        try:
            return await self._outbox.published(id, through)
        except Fenced:
            return False

    async def _is_ours(self, id: str) -> bool:
        """Whether nobody else has put a record since: what we know of another's session is old."""
        if self._ownership.holds(id):
            return True
        await self._shared.whole.wait()
        there = await self._shared.get(id)
        return there is None or there.runner in ("", self._name)

    async def _note(self) -> None:
        """What NATS was told. It may get lost: then it is told again."""
        noted, self._noted = self._noted, {}

        def work(db: sqlite3.Connection) -> None:
            for id, record in noted.items():
                if record is None:
                    db.execute("DELETE FROM sent WHERE id = ? AND record = ?", (id, _GONE))
                else:
                    db.execute("REPLACE INTO sent VALUES (?, ?)", (id, msgspec.json.encode(record)))

        if noted:
            await self._database.change(work)
