"""The session index port on JetStream: a bucket with one record per session, mirrored in memory.

Every machine watches the bucket, so listing sessions needs no request. A record written here appears in the local list
as soon as NATS has it, without waiting for the watch.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Final

import msgspec
from nats.js import JetStreamContext

from handrail.bridge.cluster.nats.failures import translate_errors
from handrail.bridge.cluster.nats.names import SESSIONS, bucket_stream, bucket_subject, session_of
from handrail.bridge.cluster.store.bucket_watch import DELETE_MARKERS, BucketWatch
from handrail.bridge.cluster.store.stream_reader import Message, StreamReader
from handrail.bridge.store.base import SessionLine, SessionRecord, matching_records
from handrail.bridge.store.clock import latest_now

__all__ = ["Changed", "JetStreamSessionIndex"]

log = logging.getLogger("handrail.bridge")

Changed = Callable[[SessionRecord | None, SessionRecord | None], None]
"""Called with the new and the previous record; None for a deleted or a new session."""

_STREAM: Final = bucket_stream(SESSIONS)
_ALL: Final = f"$KV.{SESSIONS}.>"
_OPERATION: Final = "KV-Operation"
_MARKER_TTL: Final = 24 * 60 * 60.0
"""Seconds for which NATS keeps the marker of a deleted session."""
_MISSED: Final = 60 * 60.0
"""Seconds without a watch after which all records are read again: markers may have expired unseen."""
_decode: Final = msgspec.json.Decoder(SessionRecord).decode


class JetStreamSessionIndex:
    """Records in a bucket and in memory.

    on_change   called for every change made by another machine
    whole       set once all existing records have been read
    """

    def __init__(self, js: JetStreamContext) -> None:
        self._js = js
        self.on_change: list[Changed] = []
        self.whole = asyncio.Event()
        self._records: dict[str, SessionRecord] = {}
        self._revisions: dict[str, int] = {}
        self._seen, self._last_message, self._created = 0, 0.0, datetime.min
        self._writing: Counter[tuple[str, bytes]] = Counter()
        self._unreadable: set[str] = set()
        self._watch = BucketWatch("session records", self._follow)

    async def open(self) -> None:
        """Start watching and wait for all records. If NATS is away, raises ClusterAway and retries in background."""
        await self._watch.open()

    async def close(self) -> None:
        """Stop watching."""
        await self._watch.close()

    # Reading

    async def get(self, id: str) -> SessionRecord | None:
        return self._records.get(id)

    async def list(
        self, *, archived: bool | None = None, words: str = "", limit: int = 100, offset: int = 0
    ) -> list[SessionRecord]:
        return matching_records(self._records.values(), archived=archived, words=words)[offset : offset + limit]

    async def lines(
        self, *, archived: bool | None = None, words: str = "", limit: int = 100, offset: int = 0
    ) -> list[SessionLine]:
        found = await self.list(archived=archived, words=words, limit=limit, offset=offset)
        return [record.line() for record in found]

    # Writing

    async def put(self, record: SessionRecord) -> None:
        self._apply(record.id, record, await self._write(record.id, msgspec.json.encode(record)))

    async def delete(self, id: str) -> None:
        self._apply(id, None, await self._write(id, b"", {_OPERATION: "DEL"}, _MARKER_TTL))

    async def _write(
        self, id: str, data: bytes, headers: dict[str, str] | None = None, ttl: float | None = None
    ) -> int:
        # The watch may deliver the message before the acknowledgement arrives; it must not count as a foreign change.
        self._writing[id, data] += 1
        try:
            with translate_errors(_STREAM):
                ack = await self._js.publish(bucket_subject(SESSIONS, id), data, headers=headers, msg_ttl=ttl)
            return ack.seq
        finally:
            self._writing[id, data] -= 1
            if not self._writing[id, data]:
                del self._writing[id, data]

    def _apply(self, id: str, record: SessionRecord | None, revision: int) -> None:
        """Take over an own write, unless the watch has delivered a later one."""
        if revision > self._revisions.get(id, self._seen):
            self._revisions[id] = revision
            self._set(id, record)

    def _set(self, id: str, record: SessionRecord | None) -> None:
        if record is None:
            self._records.pop(id, None)
        else:
            self._records[id] = record

    # Watching

    async def _follow(self) -> None:
        """Read every change. Start from all records if this is the first watch, too long ago, or a recreated bucket."""
        with translate_errors(_STREAM):
            info = await self._js.stream_info(_STREAM)
        created = info.created or datetime.max
        if created != self._created or info.state.last_seq < self._seen:
            self._revisions.clear()
            self._seen = 0
        resume = self._seen and latest_now() - self._last_message < _MISSED
        left = None if resume else set(self._records)
        async with StreamReader(self._js, _STREAM, _ALL, after=self._seen, newest=left is not None) as messages:
            count = 0
            if left is not None and not messages.total:
                left = self._complete(left, created)
            async for message in messages:
                id, count, self._last_message = self._take(message), count + 1, latest_now()
                if left is not None:
                    left.discard(id)
                    left = left if count < messages.total else self._complete(left, created)

    def _complete(self, left: set[str], created: datetime) -> None:
        """All existing records were read; the sessions in `left` were not among them and are deleted."""
        for id in left:
            if self._revisions.get(id, 0) <= self._seen:
                self._change(id, None)
        self._created, self._last_message = created, latest_now()
        self.whole.set()
        self._watch.complete()

    def _take(self, message: Message) -> str:
        """Apply one message of the watch; return its session."""
        id, place = session_of(message.subject), message.place
        self._seen = max(self._seen, place)
        if place < self._revisions.get(id, 0):
            return id
        ours = (id, message.data) in self._writing
        if DELETE_MARKERS & message.headers.keys():
            self._revisions.pop(id, None)
            self._change(id, None, ours=ours)
        elif record := self._record(id, message.data):
            self._revisions[id] = place
            self._change(id, record, ours=ours)
        return id

    def _record(self, id: str, data: bytes) -> SessionRecord | None:
        """Decode a record; an invalid one is logged once per session and ignored."""
        try:
            record = _decode(data)
            if record.id == id:
                return record
            error = f"it has the id {record.id}"
        except msgspec.MsgspecError as why:
            error = str(why)
        if id not in self._unreadable:
            self._unreadable.add(id)
            log.warning("ignoring the invalid record of session %s: %s", id, error)
        return None

    def _change(self, id: str, record: SessionRecord | None, *, ours: bool = False) -> None:
        before = self._records.get(id)
        self._set(id, record)
        if ours or record == before or not self.whole.is_set():
            return
        for notify in self.on_change:
            try:
                notify(record, before)
            except Exception:
                log.exception("a handler of session record changes failed (session %s)", id)
