"""The store of one machine: the local database, its outbox, and the streams on NATS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import nats
from nats.js import JetStreamContext

from handrail.bridge.cluster.store import adoption, outbox
from handrail.bridge.cluster.store import cluster_index as shared
from handrail.bridge.cluster.store.cluster_index import ClusterIndex
from handrail.bridge.cluster.store.event_log import ClusterLog, JetStreamEventLog
from handrail.bridge.cluster.store.layout import lay_out
from handrail.bridge.cluster.store.outbox import Outbox
from handrail.bridge.cluster.store.session_index import JetStreamSessionIndex
from handrail.bridge.store import event_log as events
from handrail.bridge.store import session_index as index
from handrail.bridge.store.base import Event, NewEvent
from handrail.bridge.store.database import Database
from handrail.bridge.store.session_index import SqliteSessionIndex
from handrail.testing import NatsServer


class HeldSessions:
    """The sessions a machine holds, set by the test."""

    def __init__(self) -> None:
        self.sessions: set[str] = set()

    def holds(self, session: str) -> bool:
        return session in self.sessions


class MachineStore:
    """The store of a machine from one start to the next."""

    def __init__(self, folder: Path, js: JetStreamContext, *, moves: bool, most_behind: int) -> None:
        folder.mkdir(exist_ok=True)
        self.js = js
        self.database = Database(folder / "handrail.db", events.TABLES, index.TABLES, outbox.TABLES, shared.TABLES)
        self.local = events.SqliteEventLog(self.database)
        self.remote = JetStreamEventLog(js)
        self.stream = self.remote.stream
        self.outbox = Outbox(self.database, self.local, self.stream, moves=moves, most_behind=most_behind)
        self.outbox.lost_after = 0.1
        self.held = HeldSessions()
        self.log = ClusterLog(self.local, self.remote, self.outbox, self.held, moves=moves)
        self.moves = moves

        self.lost = asyncio.Event()

        async def lost(session: str) -> None:
            self.held.sessions.discard(session)
            self.lost.set()

        self.outbox.on_fenced.append(lost)

    async def adopt(self, session: str, epoch: int) -> None:
        """Adopt a session as after a successful claim."""
        parts = {"database": self.database, "local": self.local, "remote": self.stream, "outbox": self.outbox}
        await adoption.adopt(session, epoch, **parts, wait=self.moves)
        self.held.sessions.add(session)

    async def wait_until_published(self, session: str) -> bool:
        """Wait until NATS has every stored event; return False if the session was given up."""
        return await self.outbox.published(session, (await self.local.bounds(session)).last)


def new(*words: str) -> list[NewEvent]:
    """Events with the given words as data and search text."""
    return [NewEvent("said", b'"%s"' % word.encode(), word) for word in words]


def said(found: list[Event]) -> list[str]:
    """The words of events whose numbers must be consecutive."""
    if found:
        assert [one.seq for one in found] == list(range(found[0].seq, found[0].seq + len(found)))
    return [one.data.decode().strip('"') for one in found]


@asynccontextmanager
async def connected(server: NatsServer, *, answer_within: float = 5.0) -> AsyncGenerator[JetStreamContext]:
    """JetStream with the streams of the bridge. The block must finish within 30 seconds.

    Tests in which requests must fail pass a short `answer_within`; elsewhere it leaves room for a busy machine.
    """
    connection = await nats.connect(
        server.url, max_reconnect_attempts=-1, reconnect_time_wait=0.02, error_cb=_ignore, connect_timeout=5
    )
    js = connection.jetstream(timeout=answer_within)
    try:
        async with asyncio.timeout(30):
            await lay_out(js, 1)
            yield js
    finally:
        with suppress(OSError):  # closing fails if the server was killed
            await connection.close()


@asynccontextmanager
async def open_store(
    folder: Path, js: JetStreamContext, *, moves: bool = False, most_behind: int = 2**28
) -> AsyncGenerator[MachineStore]:
    """Open the store in a folder, which may contain data of an earlier run."""
    machine = MachineStore(folder, js, moves=moves, most_behind=most_behind)
    await machine.outbox.open()
    try:
        yield machine
    finally:
        await machine.outbox.close()
        await machine.database.close()


@asynccontextmanager
async def connected_store(
    folder: Path, server: NatsServer, *, moves: bool = False, most_behind: int = 2**28, answer_within: float = 5.0
) -> AsyncGenerator[MachineStore]:
    """Open the store with a separate connection."""
    async with (
        connected(server, answer_within=answer_within) as js,
        open_store(folder, js, moves=moves, most_behind=most_behind) as machine,
    ):
        yield machine


class Node:
    """A machine with its session index."""

    def __init__(self, machine: MachineStore, name: str, alive: Callable[[str], bool]) -> None:
        self.machine = machine
        self.local, self.shared = SqliteSessionIndex(machine.database), JetStreamSessionIndex(machine.js)
        self.index = ClusterIndex(
            self.local,
            self.shared,
            machine.held,
            name,
            database=machine.database,
            outbox=machine.outbox,
            alive=alive,
        )

    async def sees(self, id: str, **fields: Any) -> None:
        """Wait until a record has these fields; without fields, until it is deleted."""
        changed = asyncio.Event()
        self.shared.on_change.append(lambda record, before: changed.set())
        while True:
            changed.clear()
            found = await self.index.get(id)
            if found is None and not fields:
                return
            if found is not None and fields and all(getattr(found, name) == value for name, value in fields.items()):
                return
            await changed.wait()


@asynccontextmanager
async def node(
    folder: Path,
    js: JetStreamContext,
    *,
    name: str | None = None,
    alive: Callable[[str], bool] = lambda name: True,
    moves: bool = False,
) -> AsyncGenerator[Node]:
    """A machine named after its folder."""
    async with open_store(folder, js, moves=moves) as machine:
        one = Node(machine, folder.name if name is None else name, alive)
        await one.shared.open()
        await one.index.open()
        try:
            yield one
        finally:
            await one.machine.outbox.close()
            await one.index.close()
            await one.shared.close()


async def _ignore(_: Exception) -> None:
    return
