"""Whoever runs a session, played by a test. In: what happens. Out: what it tells of it, or fails to tell.

async with owned(server) as owner, followed(server, owner) as (remote, reader):
    await owner.tell(await owner.event())
    await reader.until(lambda: reader.numbers == [1])
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg

from handrail.bridge.cluster.following.live import Answer, Live, Page, encode, read_ask
from handrail.bridge.cluster.following.remote_session import RemoteSession
from handrail.bridge.cluster.nats.names import follow_subject, live_subject
from handrail.bridge.errors import ClusterAway
from handrail.bridge.session.events import item
from handrail.bridge.store.base import Bounds, Event, NewEvent, SessionRecord
from handrail.testing import NatsServer
from handrail.testing.memory_store import MemoryEventLog
from tests.bridge.cluster.elsewhere import Reader, connected, remote_session

Json = dict[str, Any]
ID = "s"
RECORD = SessionRecord(id=ID, cwd="/", created=1, changed=1, runner="r1")


class Owner:
    """Whoever runs the session, played by the test: it may forget to tell things, and tell them twice."""

    def __init__(self, connection: Client, log: MemoryEventLog, life: str = "a") -> None:
        self.connection, self.log, self.life = connection, log, life
        self.count = self.seq = self.asked = 0
        self.so_far: tuple[bytes, ...] = ()
        self.own: list[Event] = []
        """What it has and the record has not."""
        self.answers, self.nonsense, self.problem = True, b"", ""
        self.was_asked = asyncio.Event()

    async def open(self) -> None:
        self.seq = (await self.log.bounds(ID)).last
        self._asking = await self.connection.subscribe(follow_subject(ID), cb=self._asked)
        await self.settle()

    async def settle(self) -> None:
        for _ in range(2):  # the first may overtake what was said before
            await self.connection.flush()

    async def close(self) -> None:
        await self._asking.unsubscribe()
        await self.settle()

    async def _asked(self, message: Msg) -> None:
        self.asked += 1
        self.was_asked.set()
        ask = read_ask(message.data)
        if not self.answers:
            return None
        if self.nonsense:
            return await self.connection.publish(message.reply, self.nonsense)
        if ask.after >= 0:
            answer: Answer | Page = Page(tuple(one for one in self.own if one.seq > ask.after), self.problem)
        else:
            answer = Answer(self.life, self.count, self.seq, self.so_far)
        return await self.connection.publish(message.reply, encode(answer))

    async def event(self, **fields: Any) -> Live:
        """Something happens, and is on record. Out: how it is told."""
        (added,) = await self.log.append(ID, [NewEvent("changed", json.dumps(fields).encode())])
        self.seq = added.seq
        return self.say(item(added))

    def say(self, *items: bytes) -> Live:
        self.count += 1
        return Live(self.life, self.count, b",".join(items))

    def begin_anew(self, life: str) -> Live:
        self.life, self.count = life, 0
        return Live(life, 0)

    async def tell(self, *told: Live) -> None:
        for live in told:
            await self.connection.publish(live_subject(ID), encode(live))

    async def until_asked(self, times: int) -> None:
        while self.asked < times:
            self.was_asked.clear()
            await self.was_asked.wait()


class AwayLog(MemoryEventLog):
    """A record that cannot be read now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.asked = asyncio.Event()

    async def read(self, session: str, after: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        self._look()
        return await super().read(session, after, limit=limit, most_bytes=most_bytes)

    async def bounds(self, session: str) -> Bounds:
        self._look()
        return await super().bounds(session)

    def _look(self) -> None:
        if self.away:
            self.asked.set()
            raise ClusterAway("there is no majority")


@asynccontextmanager
async def owned(server: NatsServer, life: str = "a", log: MemoryEventLog | None = None) -> AsyncGenerator[Owner]:
    async with connected(server.url) as connection:
        owner = Owner(connection, log or MemoryEventLog(), life)
        await owner.open()
        yield owner


@asynccontextmanager
async def followed(server: NatsServer, owner: Owner, **options: Any) -> AsyncGenerator[tuple[RemoteSession, Reader]]:
    async with remote_session(server.url, owner.log, RECORD, **options) as remote:
        reader = Reader(remote.feed)
        yield remote, reader
        reader.close()
