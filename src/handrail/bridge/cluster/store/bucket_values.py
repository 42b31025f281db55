"""The port of shared values on JetStream: a bucket that every gateway watches, and a copy of it in SQLite.

Reading uses the copy, so a request of a client waits for no NATS server. A change made by another gateway arrives with
the watch. While NATS does not answer the copy stays valid, also after a restart, and changes are refused.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Final

from nats.js import JetStreamContext

from handrail.bridge.cluster.leases.entries import Conflict, Entries, Entry
from handrail.bridge.cluster.nats.failures import translate_errors
from handrail.bridge.cluster.nats.names import ACCESS, bucket_stream, session_of
from handrail.bridge.cluster.store.bucket_watch import DELETE_MARKERS, BucketWatch
from handrail.bridge.cluster.store.stream_reader import Message, StreamReader
from handrail.bridge.errors import ClusterAway
from handrail.bridge.store.shared_values import Change, Changed, SqliteValues

__all__ = ["BucketValues"]

log = logging.getLogger("handrail.bridge")
_STREAM: Final = bucket_stream(ACCESS)
_ALL: Final = f"$KV.{ACCESS}.>"
_DELETED_SECONDS: Final = 24 * 60 * 60
"""NATS keeps the marker of a deleted value for this time."""
_AWAY: Final = "NATS does not answer, so devices, links and push subscriptions cannot be changed now; retry later"


class BucketValues:
    """Shared values of a cluster. `is_up`: whether NATS is connected; otherwise changes are refused at once."""

    def __init__(self, js: JetStreamContext, local: SqliteValues, is_up: Callable[[], bool]) -> None:
        self._js, self._local, self._is_up = js, local, is_up
        self._entries = Entries(js, ACCESS)
        self.on_change: list[Changed] = local.on_change
        self._revisions: dict[str, int] = {}
        self._created, self._last = datetime.min, 0
        self._copying: set[asyncio.Task[None]] = set()
        self._watch = BucketWatch("devices and links", self._follow)

    # Reading

    def get(self, key: str) -> bytes | None:
        return self._local.get(key)

    def below(self, prefix: str) -> dict[str, bytes]:
        return self._local.below(prefix)

    # Writing

    async def create(self, key: str, value: bytes, *, seconds: int | None = None) -> bool:
        before = Entry(self._revisions.get(key, 0), self.get(key))
        while before.value is None:
            try:
                await self._write(key, value, before.revision, seconds)
            except Conflict:
                before = await self._reread(key)
            else:
                return True
        return False

    async def update(self, key: str, change: Change, *, seconds: int | None = None) -> bytes | None:
        before = Entry(self._revisions.get(key, 0), self.get(key))
        if before.revision == 0:  # from the copy on disk, and not confirmed by NATS yet
            before = await self._reread(key)
        while before.value is not None:
            value = change(before.value)
            if value == before.value:
                return value
            try:
                await self._write(key, value, before.revision, seconds)
            except Conflict:
                before = await self._reread(key)
            else:
                return value
        return None

    async def take(self, key: str) -> bytes | None:
        if (found := await self._local.take_unpublished(key)) is not None:
            return found
        entry = await self._read(key)
        if entry.value is None:
            return None
        try:
            await self._entries.remove(key, after=entry.revision, ttl=_DELETED_SECONDS)
        except Conflict:
            return None
        if self._revisions.get(key, 0) <= entry.revision:
            self._revisions[key] = entry.revision
            await self._copy(key, None)
        return entry.value

    async def _read(self, key: str) -> Entry:
        if not self._is_up():
            raise ClusterAway(_AWAY)
        return await self._entries.read(key)

    async def _reread(self, key: str) -> Entry:
        """Read a value that another gateway may have changed, without waiting for the watch."""
        entry = await self._read(key)
        self._adopt(key, entry.value, entry.revision)
        return entry

    def _adopt(self, key: str, value: bytes | None, revision: int) -> asyncio.Task[None] | None:
        """Take over a value unless the same or a later one is known."""
        if revision <= self._revisions.get(key, 0):
            return None
        self._revisions[key] = revision
        return self._copy(key, value)

    async def _write(self, key: str, value: bytes, after: int, seconds: int | None) -> None:
        """Write on condition that the revision is `after`; returns once the copy has it too. Raises Conflict."""
        if not self._is_up():
            raise ClusterAway(_AWAY)
        revision = await self._entries.write(key, value, after=after, ttl=seconds)
        if (copying := self._adopt(key, value, revision)) is not None:
            await asyncio.shield(copying)

    def _copy(self, key: str, value: bytes | None) -> asyncio.Task[None]:
        """Take over a value in memory now, and on disk when the task is done."""
        # Always a task: tasks begin in the order in which they are created, and so the rows are written in that order.
        task = asyncio.ensure_future(self._local.copy(key, value))
        self._copying.add(task)
        task.add_done_callback(self._copied)
        return task

    def _copied(self, task: asyncio.Task[None]) -> None:
        self._copying.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("cannot persist the local copy of devices and links: %s", error)

    # Watching

    async def open(self) -> None:
        """Start watching, and wait for all values. If NATS is away, raises ClusterAway and retries in background."""
        await self._watch.open()

    async def close(self) -> None:
        """Stop watching, and finish writing the copy."""
        await self._watch.close()
        if self._copying:
            await asyncio.wait(self._copying)

    async def _follow(self) -> None:
        """Read all values, then every change."""
        with translate_errors(_STREAM):
            info = await self._js.stream_info(_STREAM)
        created = info.created or datetime.max
        if created != self._created or info.state.last_seq < self._last:  # a new bucket counts from 1 again
            self._revisions.clear()
        self._created, self._last = created, info.state.last_seq
        left = set(self.below("")) - (await self._local.unpublished()).keys()
        async with StreamReader(self._js, _STREAM, _ALL, newest=True) as messages:
            count = 0
            if not messages.total:
                await self._read_all(left)
            async for message in messages:
                count += 1
                left.discard(self._take(message))
                if count == messages.total:
                    await self._read_all(left)

    def _take(self, message: Message) -> str:
        """Apply one message of the watch; return its key."""
        key = session_of(message.subject)
        self._last = max(self._last, message.place)
        self._adopt(key, None if DELETE_MARKERS & message.headers.keys() else message.data, message.place)
        return key

    async def _read_all(self, left: set[str]) -> None:
        """All values were read. Those in `left` were not among them; values of this machine alone are published."""
        for key in left:
            # The watch may come from a server that lags behind; only the leader knows that a value was deleted.
            entry = await self._entries.read(key)
            is_newest = not entry.revision or self._revisions.get(key, 0) <= entry.revision
            if entry.value is None and is_newest:
                self._revisions.pop(key, None)
                self._copy(key, None)
        if self._watch.is_opening:
            for key, (value, seconds) in (await self._local.unpublished()).items():
                with suppress(Conflict):  # another gateway has published it; the watch brings that value
                    await self._write(key, value, 0, seconds or None)
        self._watch.complete()
