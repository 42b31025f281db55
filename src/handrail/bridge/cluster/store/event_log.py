"""The event log port on JetStream alone, without a local store.

A machine that owns sessions numbers their events itself and publishes through `stream`, where a competing writer fences
it. `append` is for writers that do not know the next number; several of them may append to one session concurrently.

Search and size read the whole stream. Machines ask their own stores for these.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from secrets import token_hex
from typing import Final
from weakref import WeakValueDictionary

from msgspec import Struct
from nats.js import JetStreamContext
from nats.js.errors import APIError

from handrail.bridge.cluster.nats import names
from handrail.bridge.cluster.nats.failures import is_missing, translate_errors
from handrail.bridge.cluster.store.batch import Batch, Entry
from handrail.bridge.cluster.store.session_stream import SessionStream, Unsettled, message_id
from handrail.bridge.errors import Fenced
from handrail.bridge.store.base import Bounds, Event, Hit, NewEvent, Receipt
from handrail.bridge.store.clock import latest_now
from handrail.bridge.store.snippet import snippet, words_of

__all__ = ["JetStreamEventLog"]

_PAGE: Final = 256
"""Events read at once by `read_back`."""
_MOST_HEADS: Final = 1000
_PAUSES: Final = (0.002, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Seconds between attempts while another message of the session is being stored."""


class _Head(Struct, frozen=True):
    """The last message of a session when it was last read or written."""

    place: int = 0
    epoch: int = 0
    first: int = 1
    last: int = 0


class JetStreamEventLog:
    """Events in the stream that all machines share. `stream` gives access to its batches."""

    def __init__(self, js: JetStreamContext) -> None:
        self._js = js
        self.stream = SessionStream(js)
        self._heads: dict[str, _Head] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._writer, self._written = token_hex(6), 0

    async def append(
        self, session: str, events: Sequence[NewEvent], receipt: Receipt | None = None, *, time: int | None = None
    ) -> list[Event]:
        """Append as one message. Raises StoreFailed if it is too large, Fenced if a new owner has written."""
        now = round(latest_now() * 1000) if time is None else time
        entries = tuple(Entry(now, one.kind, one.data, one.text) for one in events)
        if not entries and receipt is None:
            return []
        receipts = () if receipt is None else (receipt,)
        async with self._exclusive(session):
            head = self._heads.get(session) or await self._head(session)
            while True:
                batch = Batch(
                    epoch=head.epoch, first=head.first, start=head.last + 1, entries=entries, receipts=receipts
                )
                if await self._add(session, batch, head):
                    return batch.events(head.last)
                found = await self._head(session)
                if found.epoch > head.epoch:
                    raise Fenced(session)
                head = found

    async def _add(self, session: str, batch: Batch, head: _Head) -> bool:
        """Publish a batch; return False if another writer was first.

        Two writers may append equal events under equal numbers, so the message id includes the writer.
        """
        self._written += 1
        id = f"{message_id(session, batch)}:{self._writer}:{self._written}"
        self._heads.pop(session, None)
        try:
            place = await self._publish_settled(session, batch, head.place, id)
        except Fenced:
            return False
        self._heads[session] = _Head(place, batch.epoch, batch.first, batch.last)
        if len(self._heads) > _MOST_HEADS:
            del self._heads[next(iter(self._heads))]
        return True

    async def _publish_settled(self, session: str, batch: Batch, expected: int, id: str) -> int:
        """Publish, retrying for a moment while another message is being stored."""
        for pause in _PAUSES:
            try:
                return await self.stream.publish_as(session, batch, expected, id)
            except Unsettled:
                await asyncio.sleep(pause)
        return await self.stream.publish_as(session, batch, expected, id)

    async def _head(self, session: str) -> _Head:
        newest = await self.stream.newest(session)
        if newest is None:
            return _Head()
        return _Head(newest.place, newest.batch.epoch, newest.batch.first, newest.batch.last)

    @asynccontextmanager
    async def _exclusive(self, session: str) -> AsyncGenerator[None]:
        """One writer per session at a time; `close` waits for all of them."""
        self._running += 1
        self._idle.clear()
        try:
            async with self._locks.setdefault(session, asyncio.Lock()):
                yield
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def read(self, session: str, after: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        newest = await self.stream.newest(session)
        if newest is None:
            return []
        page, after = _Page(limit, most_bytes), max(after, newest.batch.first - 1)
        if newest.batch.start == after + 1:
            page.add(newest.batch.events(after))
            return page.events
        async with aclosing(self.stream.through(session, after, newest)) as batches:
            async for _, batch in batches:
                if not page.add(batch.events(page.events[-1].seq if page.events else after)):
                    break
        return page.events

    async def read_back(self, session: str, before: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        bounds = await self.bounds(session)
        page, end, more = _Page(limit, most_bytes), min(before, bounds.last + 1), True
        while more and end > bounds.first:
            start = max(bounds.first, end - min(_PAGE, limit - len(page.events)))
            more = page.add((await self._between(session, start, end))[::-1])
            end = start
        return page.events[::-1]

    async def _between(self, session: str, start: int, end: int) -> list[Event]:
        found: list[Event] = []
        async with aclosing(self.stream.batches(session, start - 1)) as batches:
            async for _, batch in batches:
                found += [one for one in batch.events(found[-1].seq if found else start - 1) if one.seq < end]
                if batch.last >= end - 1:
                    break
        return found

    async def bounds(self, session: str) -> Bounds:
        head = await self._head(session)
        return Bounds(head.first, head.last)

    async def receipt(self, command: str) -> bytes | None:
        with translate_errors(names.RECEIPTS):
            try:
                return (await self._js.get_last_msg(names.RECEIPTS, names.receipt_subject(command))).data or b""
            except APIError as error:
                if is_missing(error):
                    return None
                raise

    async def search(self, words: str, *, limit: int = 50, session: str | None = None) -> list[Hit]:
        given = words_of(words)
        wanted = [re.compile(rf"\b{re.escape(word)}", re.IGNORECASE) for word in given]
        hits: list[Hit] = []
        for id in ([session] if session is not None else await self._sessions()) if wanted else ():
            async for entry, seq in self._entries(id):
                if all(word.search(entry.text) for word in wanted):
                    hits.append(Hit(id, seq, entry.time, snippet(entry.text, given)))
        return sorted(hits, key=lambda hit: (hit.time, hit.seq), reverse=True)[:limit]

    async def _sessions(self) -> list[str]:
        with translate_errors(names.EVENTS):
            info = await self._js.stream_info(names.EVENTS, subjects_filter=names.STREAMS[names.EVENTS])
        return [names.session_of(subject) for subject in info.state.subjects or ()]

    async def _entries(self, session: str) -> AsyncGenerator[tuple[Entry, int]]:
        first = (await self.bounds(session)).first
        async for _, batch in self.stream.batches(session):
            for seq, entry in enumerate(batch.entries, batch.start):
                if seq >= first:
                    yield entry, seq

    async def forget(self, session: str, *, through: int | None = None) -> None:
        async with self._exclusive(session):
            while True:
                head = await self._head(session)
                end = head.last if through is None else min(through, head.last)
                if end < head.first:
                    break
                if await self._add(session, Batch(epoch=head.epoch, first=end + 1, start=head.last + 1), head):
                    break
            await self.stream.purge(session)

    async def size(self, session: str) -> int:
        return sum([len(entry.data) async for entry, _ in self._entries(session)])

    async def close(self) -> None:
        await self._idle.wait()


class _Page:
    """Collects events up to a number and a size, but at least one."""

    def __init__(self, limit: int, most_bytes: int) -> None:
        self._limit, self._room = limit, most_bytes
        self.events: list[Event] = []

    def add(self, more: list[Event]) -> bool:
        """Take the events that fit. Returns whether there is room for more."""
        for event in more:
            self._room -= len(event.data)
            if len(self.events) >= self._limit or (self.events and self._room < 0):
                return False
            self.events.append(event)
        return len(self.events) < self._limit
