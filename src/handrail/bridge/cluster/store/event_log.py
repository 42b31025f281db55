"""The event log in NATS JetStream: a subject for each session, and batches of events as messages on it.

Two write here. A node that owns sessions numbers their events itself and calls `publish`, which names what it takes to
be the newest message: where somebody else wrote meanwhile, it is `Fenced`. `append` is for whoever has no such numbers.

To find words or to sum up sizes, all is read through: nodes ask their own stores for that.
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

from handrail.bridge.cluster import names
from handrail.bridge.cluster.failures import in_our_words, is_missing
from handrail.bridge.cluster.store.batch import Batch, Entry
from handrail.bridge.cluster.store.session_stream import SessionStream, Unsettled, message_id
from handrail.bridge.errors import Fenced
from handrail.bridge.store.base import Bounds, Event, Hit, NewEvent, Receipt
from handrail.bridge.store.clock import latest_now
from handrail.bridge.store.snippet import snippet, words_of

__all__ = ["JetStreamEventLog"]

_PAGE: Final = 256
"""So many events are read at once by whoever reads backwards."""
_MOST_HEADS: Final = 1000
_PAUSES: Final = (0.002, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Seconds between attempts while another is being written."""


class Head(Struct, frozen=True):
    """How a session stood when it was last written or looked at."""

    place: int = 0
    epoch: int = 0
    first: int = 1
    last: int = 0


class JetStreamEventLog(SessionStream):
    """Events in one stream that all machines share."""

    def __init__(self, js: JetStreamContext) -> None:
        super().__init__(js)
        self._heads: dict[str, Head] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._writer, self._written = token_hex(6), 0

    async def append(
        self, session: str, events: Sequence[NewEvent], receipt: Receipt | None = None, *, time: int | None = None
    ) -> list[Event]:
        """As every log; one append is one message, and refused where it is larger than one may be."""
        now = round(latest_now() * 1000) if time is None else time
        entries = tuple(Entry(now, one.kind, one.data, one.text) for one in events)
        if not entries and receipt is None:
            return []
        receipts = () if receipt is None else (receipt,)
        async with self._alone(session):
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

    async def _add(self, session: str, batch: Batch, head: Head) -> bool:
        """Out: False where another was sooner. Many may append the same: the writer is part of what it is called."""
        self._written += 1
        id = f"{message_id(session, batch)}:{self._writer}:{self._written}"
        self._heads.pop(session, None)
        try:
            place = await self._settled(session, batch, head.place, id)
        except Fenced:
            return False
        self._heads[session] = Head(place, batch.epoch, batch.first, batch.last)
        if len(self._heads) > _MOST_HEADS:
            del self._heads[next(iter(self._heads))]
        return True

    async def _settled(self, session: str, batch: Batch, expected: int, id: str) -> int:
        """Write it, and wait a little where another is just being written."""
        for pause in _PAUSES:
            try:
                return await self.write(session, batch, expected, id)
            except Unsettled:
                await asyncio.sleep(pause)
        return await self.write(session, batch, expected, id)

    async def _head(self, session: str) -> Head:
        newest = await self.newest(session)
        if newest is None:
            return Head()
        return Head(newest.place, newest.batch.epoch, newest.batch.first, newest.batch.last)

    @asynccontextmanager
    async def _alone(self, session: str) -> AsyncGenerator[None]:
        """One at a time for each session, and `close` waits for all of them."""
        self._under_way += 1
        self._idle.clear()
        try:
            async with self._locks.setdefault(session, asyncio.Lock()):
                yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def read(self, session: str, after: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        newest = await self.newest(session)
        if newest is None:
            return []
        page, after = _Page(limit, most_bytes), max(after, newest.batch.first - 1)
        if newest.batch.start == after + 1:
            page.add(newest.batch.events(after))
            return page.events
        async with aclosing(self.through(session, after, newest)) as batches:
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
        async with aclosing(self.batches(session, start - 1)) as batches:
            async for _, batch in batches:
                found += [one for one in batch.events(found[-1].seq if found else start - 1) if one.seq < end]
                if batch.last >= end - 1:
                    break
        return found

    async def bounds(self, session: str) -> Bounds:
        head = await self._head(session)
        return Bounds(head.first, head.last)

    async def receipt(self, command: str) -> bytes | None:
        with in_our_words(names.RECEIPTS):
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
        with in_our_words(names.EVENTS):
            info = await self._js.stream_info(names.EVENTS, subjects_filter=names.STREAMS[names.EVENTS])
        return [names.session_of(subject) for subject in info.state.subjects or ()]

    async def _entries(self, session: str) -> AsyncGenerator[tuple[Entry, int]]:
        first = (await self.bounds(session)).first
        async for _, batch in self.batches(session):
            for seq, entry in enumerate(batch.entries, batch.start):
                if seq >= first:
                    yield entry, seq

    async def forget(self, session: str, *, through: int | None = None) -> None:
        async with self._alone(session):
            while True:
                head = await self._head(session)
                end = head.last if through is None else min(through, head.last)
                if end < head.first:
                    break
                if await self._add(session, Batch(epoch=head.epoch, first=end + 1, start=head.last + 1), head):
                    break
            await self.purge(session)

    async def size(self, session: str) -> int:
        return sum([len(entry.data) async for entry, _ in self._entries(session)])

    async def close(self) -> None:
        await self._idle.wait()


class _Page:
    """As many events as were asked for, at most so many bytes and at least one."""

    def __init__(self, limit: int, most_bytes: int) -> None:
        self._limit, self._room = limit, most_bytes
        self.events: list[Event] = []

    def add(self, more: list[Event]) -> bool:
        """Take what there is room for. Out: whether there is room for more."""
        for event in more:
            self._room -= len(event.data)
            if len(self.events) >= self._limit or (self.events and self._room < 0):
                return False
            self.events.append(event)
        return len(self.events) < self._limit
