"""A machine that follows sessions of another one over NATS, with viewers and feed readers.

async with remote_stage(server.url, log, record) as remote, remote.viewer(session) as viewer:
    await viewer.until_state("idle")
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import nats
from nats.aio.client import Client

from handrail.bridge.cluster.following.remote_sessions import RemoteSession
from handrail.bridge.server import Bridge
from handrail.bridge.session.feed import Feed
from handrail.bridge.store.base import EventLog, SessionRecord
from tests.bridge.stage import Clock, Stage

Json = dict[str, Any]


class RemoteBridge:
    """The parts of a bridge that a native client uses, with one session of another machine."""

    def __init__(self, remote: RemoteSession, log: EventLog) -> None:
        self.remote, self.events, self.list_feed = remote, log, Feed()
        self.sessions, self.router, self.watchers, self.name = self, self, set[object](), "here"

    async def follow(self, id: str, after: int = 0) -> RemoteSession:
        assert id == self.remote.record.id
        await self.remote.reach(after)
        return self.remote


class FeedReader:
    """Reads a feed immediately and keeps all items."""

    def __init__(self, feed: Feed) -> None:
        self.items: list[Json] = []
        self._follower = feed.follow()

    @property
    def numbers(self) -> list[int]:
        return [one["seq"] for one in self.items if "seq" in one]

    async def until(self, condition: Callable[[], Any]) -> None:
        """Read until the condition holds. Raises CutOff if the feed was cut."""
        while not condition():
            await self._follower.wait()
            self.items += json.loads(b"[%s]" % self._follower.take())

    def close(self) -> None:
        self._follower.close()


@asynccontextmanager
async def connected(url: str, **options: Any) -> AsyncGenerator[Client]:
    """A connection that reconnects quickly and does not print errors."""

    async def ignore(*_: object) -> None:
        return

    given = {"reconnect_time_wait": 0.02, "max_reconnect_attempts": -1, "error_cb": ignore, **options}
    connection = await nats.connect(url, **given)
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def remote_session(
    url: str, log: EventLog, record: SessionRecord, *, renew: float = 15.0
) -> AsyncGenerator[RemoteSession]:
    """A session followed from another machine. It asks the owner again after every reconnect."""
    remotes: list[RemoteSession] = []

    async def ask_again() -> None:
        remotes[0].ask_owner()

    async with asyncio.timeout(60), connected(url, reconnected_cb=ask_again) as connection:
        remote = RemoteSession(connection, log, record, renew=renew)
        remotes.append(remote)
        await remote.open()
        try:
            yield remote
        finally:
            await remote.close()


@asynccontextmanager
async def remote_stage(url: str, log: EventLog, record: SessionRecord, **options: Any) -> AsyncGenerator[Stage]:
    """A stage whose bridge follows one session of another machine."""
    async with remote_session(url, log, record, **options) as remote:
        yield Stage(cast("Bridge", RemoteBridge(remote, log)), Path(), Clock())
