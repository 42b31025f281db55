"""Another machine, which follows sessions over NATS. In: sessions. Out: viewers there, and readers of a feed.

async with elsewhere(server.url, log, record) as there, there.viewer(session) as viewer:
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

from handrail.bridge.cluster.following.remote_session import RemoteSession
from handrail.bridge.server import Bridge
from handrail.bridge.session.feed import Feed
from handrail.bridge.store.base import EventLog, SessionRecord
from tests.bridge.stage import Clock, Stage

Json = dict[str, Any]


class Elsewhere:
    """What a client of the native protocol needs of a server: one session, which runs on another machine."""

    def __init__(self, remote: RemoteSession, log: EventLog) -> None:
        self.remote, self.events, self.list_feed = remote, log, Feed()
        self.sessions, self.router, self.watchers, self.name = self, self, set[object](), "here"

    async def follow(self, id: str) -> RemoteSession:
        assert id == self.remote.record.id
        return self.remote


class Reader:
    """A follower of a feed that reads at once, and remembers."""

    def __init__(self, feed: Feed) -> None:
        self.items: list[Json] = []
        self._follower = feed.follow()

    @property
    def numbers(self) -> list[int]:
        return [one["seq"] for one in self.items if "seq" in one]

    async def until(self, true: Callable[[], Any]) -> None:
        """CutOff where it has to begin anew."""
        while not true():
            await self._follower.wait()
            self.items += json.loads(b"[%s]" % self._follower.take())

    def close(self) -> None:
        self._follower.close()


@asynccontextmanager
async def connected(url: str, **options: Any) -> AsyncGenerator[Client]:
    """A connection that comes back quickly and says nothing on its own."""

    async def nothing(*_: object) -> None:
        return

    given = {"reconnect_time_wait": 0.02, "max_reconnect_attempts": -1, "error_cb": nothing, **options}
    connection = await nats.connect(url, **given)
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def remote_session(
    url: str, log: EventLog, record: SessionRecord, *, renew: float = 15.0
) -> AsyncGenerator[RemoteSession]:
    """A session that is followed from another machine, which asks again as soon as it is connected again."""
    remotes: list[RemoteSession] = []

    async def again() -> None:
        remotes[0].look_again()

    async with asyncio.timeout(60), connected(url, reconnected_cb=again) as connection:
        remote = RemoteSession(connection, log, record, renew=renew)
        remotes.append(remote)
        await remote.open()
        try:
            yield remote
        finally:
            await remote.close()


@asynccontextmanager
async def elsewhere(url: str, log: EventLog, record: SessionRecord, **options: Any) -> AsyncGenerator[Stage]:
    """A stage on the other machine."""
    async with remote_session(url, log, record, **options) as remote:
        yield Stage(cast("Bridge", Elsewhere(remote, log)), Path(), Clock())
