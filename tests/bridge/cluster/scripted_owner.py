"""The owner of a session, scripted by a test: it decides which live messages are published, lost or repeated.

async with owned(server) as owner, followed(server, owner) as (remote, reader):
    await owner.publish(await owner.event())
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
from handrail.bridge.cluster.following.remote_sessions import RemoteSession
from handrail.bridge.cluster.nats.names import follow_subject, live_subject
from handrail.bridge.errors import ClusterAway
from handrail.bridge.session.events import item
from handrail.bridge.store.base import Bounds, Event, NewEvent, SessionRecord
from handrail.testing import NatsServer
from handrail.testing.memory_store import MemoryEventLog
from tests.bridge.cluster.remote_stage import FeedReader, connected, remote_session

Json = dict[str, Any]
ID = "s"
RECORD = SessionRecord(id=ID, cwd="/", created=1, changed=1, runner="r1")


class ScriptedOwner:
    """Answers requests about one session; the test publishes its live messages."""

    def __init__(self, connection: Client, log: MemoryEventLog, life: str = "a") -> None:
        self.connection, self.log, self.life = connection, log, life
        self.count = self.seq = self.asked = 0
        self.so_far: tuple[bytes, ...] = ()
        self.unpublished: list[Event] = []
        """Events that the log does not contain yet."""
        self.answers, self.invalid_answer, self.problem = True, b"", ""
        self.was_asked = asyncio.Event()

    async def open(self) -> None:
        self.seq = (await self.log.bounds(ID)).last
        self._asking = await self.connection.subscribe(follow_subject(ID), cb=self._asked)
        await self.settle()

    async def settle(self) -> None:
        for _ in range(2):  # the first flush may overtake earlier messages
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
        if self.invalid_answer:
            return await self.connection.publish(message.reply, self.invalid_answer)
        if ask.after >= 0:
            answer: Answer | Page = Page(tuple(one for one in self.unpublished if one.seq > ask.after), self.problem)
        else:
            answer = Answer(self.life, self.count, self.seq, self.so_far)
        return await self.connection.publish(message.reply, encode(answer))

    async def event(self, **fields: Any) -> Live:
        """Append an event to the log; return its live message, not yet published."""
        (added,) = await self.log.append(ID, [NewEvent("changed", json.dumps(fields).encode())])
        self.seq = added.seq
        return self.live_message(item(added))

    def live_message(self, *items: bytes) -> Live:
        self.count += 1
        return Live(self.life, self.count, b",".join(items))

    def start_life(self, life: str) -> Live:
        self.life, self.count = life, 0
        return Live(life, 0)

    async def publish(self, *messages: Live) -> None:
        for live in messages:
            await self.connection.publish(live_subject(ID), encode(live))

    async def until_asked(self, times: int) -> None:
        while self.asked < times:
            self.was_asked.clear()
            await self.was_asked.wait()


class UnavailableLog(MemoryEventLog):
    """An event log that raises ClusterAway while `away` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.asked = asyncio.Event()

    async def read(self, session: str, after: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        self._check()
        return await super().read(session, after, limit=limit, most_bytes=most_bytes)

    async def bounds(self, session: str) -> Bounds:
        self._check()
        return await super().bounds(session)

    def _check(self) -> None:
        if self.away:
            self.asked.set()
            raise ClusterAway("the stream lost its majority")


@asynccontextmanager
async def owned(
    server: NatsServer, life: str = "a", log: MemoryEventLog | None = None
) -> AsyncGenerator[ScriptedOwner]:
    async with connected(server.url) as connection:
        owner = ScriptedOwner(connection, log or MemoryEventLog(), life)
        await owner.open()
        yield owner


@asynccontextmanager
async def followed(
    server: NatsServer, owner: ScriptedOwner, **options: Any
) -> AsyncGenerator[tuple[RemoteSession, FeedReader]]:
    async with remote_session(server.url, owner.log, RECORD, **options) as remote:
        reader = FeedReader(remote.feed)
        yield remote, reader
        reader.close()
