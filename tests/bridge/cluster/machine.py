"""One machine of several, for tests. In: a folder and a NATS server. Out: its store, its outbox and what is on NATS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import nats
from nats.js import JetStreamContext

from handrail.bridge.cluster.store import adoption, outbox
from handrail.bridge.cluster.store import index as shared
from handrail.bridge.cluster.store.event_log import JetStreamEventLog
from handrail.bridge.cluster.store.layout import lay_out
from handrail.bridge.cluster.store.log import ClusterLog
from handrail.bridge.cluster.store.outbox import Outbox
from handrail.bridge.store import event_log as events
from handrail.bridge.store import session_index as index
from handrail.bridge.store.base import Event, NewEvent
from handrail.bridge.store.database import Database
from handrail.testing import NatsServer


class Prompt:
    """What a machine holds, as it was told."""

    def __init__(self) -> None:
        self.sessions: set[str] = set()

    def holds(self, session: str) -> bool:
        return session in self.sessions


class Machine:
    """One life of one machine."""

    def __init__(self, folder: Path, js: JetStreamContext, *, moves: bool, most_behind: int) -> None:
        folder.mkdir(exist_ok=True)
        self.js = js
        self.database = Database(folder / "handrail.db", events.TABLES, index.TABLES, outbox.TABLES, shared.TABLES)
        self.local = events.SqliteEventLog(self.database)
        self.remote = JetStreamEventLog(js)
        self.stream = self.remote.stream
        self.outbox = Outbox(self.database, self.local, self.stream, most_behind=most_behind)
        self.outbox.lost_after = 0.1
        self.held = Prompt()
        self.log = ClusterLog(self.local, self.remote, self.outbox, self.held, moves=moves)
        self.moves = moves

        self.lost = asyncio.Event()

        async def lost(session: str) -> None:
            self.held.sessions.discard(session)
            self.lost.set()

        self.outbox.on_fenced.append(lost)

    async def adopt(self, session: str, epoch: int) -> None:
        """As whoever has claimed it."""
        parts = {"database": self.database, "local": self.local, "remote": self.stream, "outbox": self.outbox}
        await adoption.adopt(session, epoch, **parts, wait=self.moves)
        self.held.sessions.add(session)

    async def drained(self, session: str) -> bool:
        """Once NATS has all that was appended."""
        return await self.outbox.published(session, (await self.local.bounds(session)).last)


def new(*words: str) -> list[NewEvent]:
    """Events that say so."""
    return [NewEvent("said", b'"%s"' % word.encode(), word) for word in words]


def said(found: list[Event]) -> list[str]:
    """What events say, and that their numbers follow each other."""
    if found:
        assert [one.seq for one in found] == list(range(found[0].seq, found[0].seq + len(found)))
    return [one.data.decode().strip('"') for one in found]


@asynccontextmanager
async def connected(server: NatsServer) -> AsyncGenerator[JetStreamContext]:
    """JetStream with all that the bridge needs there. Nothing with it takes half a minute."""
    connection = await nats.connect(
        server.url, max_reconnect_attempts=-1, reconnect_time_wait=0.02, error_cb=_nothing, connect_timeout=1
    )
    js = connection.jetstream(timeout=1.0)
    try:
        async with asyncio.timeout(30):
            await lay_out(js, 1)
            yield js
    finally:
        with suppress(OSError):  # it has no end where the server has gone
            await connection.close()


@asynccontextmanager
async def living(
    folder: Path, js: JetStreamContext, *, moves: bool = False, most_behind: int = 2**28
) -> AsyncGenerator[Machine]:
    """One life of a machine on a folder of its own, which may have been used before."""
    machine = Machine(folder, js, moves=moves, most_behind=most_behind)
    await machine.outbox.open()
    try:
        yield machine
    finally:
        await machine.outbox.close()
        await machine.database.close()


@asynccontextmanager
async def joined(
    folder: Path, server: NatsServer, *, moves: bool = False, most_behind: int = 2**28
) -> AsyncGenerator[Machine]:
    """The same with a connection of its own."""
    async with connected(server) as js, living(folder, js, moves=moves, most_behind=most_behind) as machine:
        yield machine


async def _nothing(_: Exception) -> None:
    return
