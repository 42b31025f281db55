"""The sessions of other machines that clients follow here, opened on demand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from nats.aio.client import Client as NatsClient

from handrail.bridge.cluster.following.remote_session import RemoteSession
from handrail.bridge.errors import CommandRefused
from handrail.bridge.store.base import EventLog, SessionIndex, SessionRecord

__all__ = ["Remotes"]

KEPT_SECONDS: Final = 60.0
"""Seconds that an unused remote session stays open."""


class Remotes:
    """Remote sessions by id."""

    def __init__(
        self, nats: NatsClient, log: EventLog, index: SessionIndex, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._nats, self._log, self._index, self._clock = nats, log, index, clock
        self._open: dict[str, RemoteSession] = {}
        self._opening: dict[str, asyncio.Task[RemoteSession]] = {}

    async def get(self, id: str) -> RemoteSession:
        """Follow a session. Raises CommandRefused if it does not exist."""
        if (known := self._open.get(id)) is not None:
            known.touched = self._clock()
            return known
        task = self._opening.get(id)
        if task is None:
            task = self._opening[id] = asyncio.create_task(self._follow(id), name="handrail following")
            task.add_done_callback(lambda _: self._opening.pop(id, None))
        return await asyncio.shield(task)

    async def _follow(self, id: str) -> RemoteSession:
        record = await self._index.get(id)
        if record is None:
            raise CommandRefused("not_found", f"session {id} not found")
        remote = RemoteSession(self._nats, self._log, record)
        remote.touched = self._clock()
        await remote.open()
        self._open[id] = remote
        return remote

    def changed(self, record: SessionRecord) -> None:
        """Called when a record changed, possibly with a new owner."""
        if (remote := self._open.get(record.id)) is not None:
            remote.changed(record)

    def ask_owners(self) -> None:
        """Called after a reconnect: messages sent during the outage were lost."""
        for remote in self._open.values():
            remote.ask_owner()

    async def drop(self, id: str, why: str) -> None:
        """Close a remote session; its clients subscribe again."""
        if (remote := self._open.pop(id, None)) is not None:
            remote.feed.cut(why)
            await remote.close()

    async def sweep(self) -> None:
        """Close sessions without followers."""
        now = self._clock()
        unused = [id for id, one in self._open.items() if not one.feed.followers and now - one.touched >= KEPT_SECONDS]
        for id in unused:
            await self._open.pop(id).close()

    async def close(self) -> None:
        """Close all sessions."""
        for task in list(self._opening.values()):
            task.cancel()
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        for remote in self._open.values():
            await remote.close()
        self._open.clear()
