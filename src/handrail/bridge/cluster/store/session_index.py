"""The session index in NATS JetStream: a bucket with the record of each session, watched into memory.

Every node has the whole list and is told of each change: to list sessions, nobody is asked. What this node writes is in
its own list once NATS has it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Final

import msgspec
from nats.js import JetStreamContext

from handrail.bridge.cluster.failures import in_our_words
from handrail.bridge.cluster.names import SESSIONS, bucket_stream, bucket_subject, session_of
from handrail.bridge.cluster.store.messages import Message, Messages
from handrail.bridge.errors import BridgeError
from handrail.bridge.store.base import SessionRecord
from handrail.bridge.store.clock import latest_now
from handrail.bridge.store.memory_index import MemorySessionIndex

__all__ = ["Changed", "JetStreamSessionIndex"]

log = logging.getLogger("handrail.bridge")

Changed = Callable[[SessionRecord | None, SessionRecord | None], None]
"""Is given a record as it is, and as it was; None where there is none."""

_STREAM: Final = bucket_stream(SESSIONS)
_ALL: Final = f"$KV.{SESSIONS}.>"
_OPERATION: Final = "KV-Operation"
_GONE: Final = {_OPERATION, "Nats-Marker-Reason"}
"""Headers of a message that says that there is no value any more."""
_MARKED: Final = 24 * 60 * 60.0
"""Seconds that it stays on record that a session was deleted."""
_MISSED: Final = 60 * 60.0
"""After so long without a word all is read anew."""
_PAUSE: Final = 0.2
_decode: Final = msgspec.json.Decoder(SessionRecord).decode


class JetStreamSessionIndex(MemorySessionIndex):
    """Records in a bucket, and in memory.

    on_change   told of each change that another node made
    whole       set once all records that there were have been seen
    """

    def __init__(self, js: JetStreamContext) -> None:
        super().__init__()
        self._js = js
        self.on_change: list[Changed] = []
        self.whole = asyncio.Event()
        self._revisions: dict[str, int] = {}
        self._seen, self._heard, self._created = 0, 0.0, datetime.min
        self._writing: Counter[tuple[str, bytes]] = Counter()
        self._unread: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self._begun: asyncio.Future[None] | None = None

    async def open(self) -> None:
        """Begin to watch. Out: once all is there. ClusterAway where it is not yet; it is watched for all the same."""
        self._begun = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._watch(), name="session index")
        await self._begun

    async def close(self) -> None:
        """Watch no longer."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def put(self, record: SessionRecord) -> None:
        self._apply(record.id, record, await self._write(record.id, msgspec.json.encode(record)))

    async def delete(self, id: str) -> None:
        self._apply(id, None, await self._write(id, b"", {_OPERATION: "DEL"}, _MARKED))

    async def _write(
        self, id: str, data: bytes, headers: dict[str, str] | None = None, lasts: float | None = None
    ) -> int:
        self._writing[id, data] += 1
        try:
            with in_our_words(_STREAM):
                ack = await self._js.publish(bucket_subject(SESSIONS, id), data, headers=headers, msg_ttl=lasts)
            return ack.seq
        finally:
            self._writing[id, data] -= 1
            if not self._writing[id, data]:
                del self._writing[id, data]

    def _apply(self, id: str, record: SessionRecord | None, revision: int) -> None:
        """What we wrote, unless it is known already what came after it."""
        if revision > self._revisions.get(id, self._seen):
            self._revisions[id] = revision
            self._set(id, record)

    def _set(self, id: str, record: SessionRecord | None) -> None:
        if record is None:
            self._records.pop(id, None)
        else:
            self._records[id] = record

    async def _watch(self) -> None:
        while True:
            try:
                await self._follow()
            except BridgeError as error:
                log.info("the list of sessions is not followed just now: %s", error)
                if self._begun is not None and not self._begun.done():
                    self._begun.set_exception(error)
            except Exception:
                log.exception("the list of sessions cannot be followed just now")
            await asyncio.sleep(_PAUSE)

    async def _follow(self) -> None:
        """Take every change; at first, or where too much was missed or the bucket is another, all that there is."""
        with in_our_words(_STREAM):
            info = await self._js.stream_info(_STREAM)
        created = info.created or datetime.max
        if created != self._created or info.state.last_seq < self._seen:
            self._revisions.clear()
            self._seen = 0
        left = None if self._seen and latest_now() - self._heard < _MISSED else set(self._records)
        async with Messages(self._js, _STREAM, _ALL, after=self._seen, newest=left is not None) as messages:
            count = 0
            if left is not None and not messages.total:
                left = self._complete(left, created)
            async for message in messages:
                id, count, self._heard = self._take(message), count + 1, latest_now()
                if left is not None:
                    left.discard(id)
                    left = left if count < messages.total else self._complete(left, created)

    def _complete(self, left: set[str], created: datetime) -> None:
        """All that there is was seen. In: those that were not."""
        for id in left:
            if self._revisions.get(id, 0) <= self._seen:
                self._change(id, None)
        self._created, self._heard = created, latest_now()
        self.whole.set()
        if self._begun is not None and not self._begun.done():
            self._begun.set_result(None)

    def _take(self, message: Message) -> str:
        """One message of the watch. Out: whose it was."""
        id, place = session_of(message.subject), message.place
        self._seen = max(self._seen, place)
        if place < self._revisions.get(id, 0):
            return id
        ours = (id, message.data) in self._writing
        if _GONE & message.headers.keys():
            self._revisions.pop(id, None)
            self._change(id, None, ours=ours)
        elif record := self._record(id, message.data):
            self._revisions[id] = place
            self._change(id, record, ours=ours)
        return id

    def _record(self, id: str, data: bytes) -> SessionRecord | None:
        """What it says; None, and a word in the log, where it is no record of this session."""
        try:
            record = _decode(data)
            if record.id == id:
                return record
            error = "it is of another session"
        except msgspec.MsgspecError as why:
            error = str(why)
        if id not in self._unread:
            self._unread.add(id)
            log.warning("the record of session %s cannot be read and is left out: %s", id, error)
        return None

    def _change(self, id: str, record: SessionRecord | None, *, ours: bool = False) -> None:
        before = self._records.get(id)
        self._set(id, record)
        if ours or record == before or not self.whole.is_set():
            return
        for tell in self.on_change:
            try:
                tell(record, before)
            except Exception:
                log.exception("a change of session %s could not be told", id)
