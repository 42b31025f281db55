"""The event log of a cluster: on JetStream alone, and as a machine with its own store reads and writes it."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from secrets import token_hex
from typing import Final, Protocol
from weakref import WeakValueDictionary

from msgspec import Struct
from nats.js import JetStreamContext
from nats.js.errors import APIError

from handrail.bridge.cluster.nats import names
from handrail.bridge.cluster.nats.failures import is_missing, translate_errors
from handrail.bridge.cluster.store.outbox import Outbox
from handrail.bridge.cluster.store.session_stream import Batch, Entry, SessionStream, Unsettled, message_id
from handrail.bridge.errors import CommandRefused, Fenced
from handrail.bridge.store.base import Bounds, Event, EventLog, Hit, NewEvent, Receipt
from handrail.bridge.store.clock import latest_now
from handrail.bridge.store.search_index import snippet, words_of

__all__ = ["ClusterLog", "Holds", "JetStreamEventLog"]

_PAGE: Final = 256
"""Events read at once by `read_back`."""
_MOST_HEADS: Final = 1000
_PAUSES: Final = (0.002, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Seconds between attempts while another message of the session is being stored."""
Search = Callable[[str, int, str | None], Awaitable[list[Hit]]]
"""Searches all machines: words, maximum number of hits, and optionally one session."""


class _Head(Struct, frozen=True):
    """The last message of a session when it was last read or written."""

    place: int = 0
    epoch: int = 0
    first: int = 1
    last: int = 0


class JetStreamEventLog:
    """Events in the stream that all machines share, without a local store. `stream` gives access to its batches.

    A machine that owns sessions numbers their events itself and publishes through `stream`, where a competing writer
    fences it. `append` is for writers that do not know the next number; several of them may append to one session
    concurrently. Search and size read the whole stream; machines ask their own stores for these.
    """

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


class Holds(Protocol):
    """Knows which sessions this machine owns."""

    def holds(self, session: str) -> bool:
        """Whether this machine certainly owns the session now."""
        ...


class ClusterLog:
    """Events of all machines, as one machine reads and writes them.

    Sessions that it holds are read from its store, all others from NATS.

    moves   other machines may take over its sessions: an event is acknowledged and readable only after NATS has it
    """

    def __init__(
        self,
        local: EventLog,
        remote: EventLog,
        outbox: Outbox,
        ownership: Holds,
        *,
        moves: bool,
        search: Search | None = None,
    ) -> None:
        self._local, self._remote, self._outbox, self._ownership = local, remote, outbox, ownership
        self._moves, self._search = moves, search

    async def append(
        self, session: str, events: Sequence[NewEvent], receipt: Receipt | None = None, *, time: int | None = None
    ) -> list[Event]:
        """Append as every log does. Raises CommandRefused("elsewhere") if another machine owns the session.

        That error ends the session's process here, and lets the client send its command to the other machine.
        """
        if not session or not events:  # a receipt without events belongs to the machine that answered
            return await self._local.append(session, events, receipt, time=time)
        added = await self.append_local(session, events, receipt, time=time)
        await self.wait_published(session, added[-1].seq)
        return added

    async def append_local(
        self,
        session: str,
        events: Sequence[NewEvent],
        receipt: Receipt | None = None,
        *,
        time: int | None = None,
        also: Callable[[sqlite3.Connection], None] | None = None,
    ) -> list[Event]:
        """The first half of `append`: check ownership and commit to the store, with `also` in the same transaction.

        Without events there is nothing to publish and no ownership to check; the change is still stored in order.
        """
        if events and not self._ownership.holds(session):
            raise CommandRefused("elsewhere", f"session {session} does not run on this machine")
        try:
            return await self._outbox.append(session, events, receipt, time=time, also=also)
        except Fenced as fenced:
            raise CommandRefused("elsewhere", str(fenced)) from fenced

    async def wait_published(self, session: str, through: int) -> None:
        """The second half of `append`: where sessions move, wait until NATS has event `through`."""
        if self._moves:
            await self._until_published(session, through)

    async def _until_published(self, session: str, through: int) -> None:
        try:
            if await self._outbox.published(session, through):
                return
        except Fenced as fenced:
            raise CommandRefused("elsewhere", str(fenced)) from fenced
        why = f"NATS was unreachable for too long; it is unknown whether the last change of session {session} is valid"
        raise CommandRefused("unreachable", why)

    # Reading

    def _is_here(self, session: str) -> bool:
        return not session or self._ownership.holds(session) or session in self._outbox.unclaimed

    def _newest(self, session: str, last: int) -> int:
        """Number of the newest event that may be read, at most `last`."""
        known = self._outbox.has(session) if self._moves else None
        return last if known is None else min(last, known)

    async def read(self, session: str, after: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        if not self._is_here(session):
            return await self._remote.read(session, after, limit=limit, most_bytes=most_bytes)
        found = await self._local.read(session, after, limit=limit, most_bytes=most_bytes)
        newest = self._newest(session, found[-1].seq) if found else 0
        return found if not found or found[-1].seq <= newest else [one for one in found if one.seq <= newest]

    async def read_back(self, session: str, before: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        if not self._is_here(session):
            return await self._remote.read_back(session, before, limit=limit, most_bytes=most_bytes)
        end = min(before, self._newest(session, before - 1) + 1)
        return await self._local.read_back(session, end, limit=limit, most_bytes=most_bytes)

    async def bounds(self, session: str) -> Bounds:
        if not self._is_here(session):
            return await self._remote.bounds(session)
        found = await self._local.bounds(session)
        return Bounds(found.first, self._newest(session, found.last))

    async def size(self, session: str) -> int:
        if not self._is_here(session):
            return await self._remote.size(session)
        return await self._local.size(session)

    async def receipt(self, command: str) -> bytes | None:
        """The answer of a command if its events are valid. Raises CommandRefused while that is unknown."""
        answer = await self._local.receipt(command)
        if answer is None:
            return None
        session, seq = await self._outbox.events_of(command)
        if not session or (not self._moves and not self._outbox.is_fenced(session)):
            return answer
        try:
            await self._until_published(session, seq)
        except CommandRefused:
            if self._outbox.is_fenced(session):  # the events of the command are void, and so is its answer
                return None
            raise
        return answer

    async def search(self, words: str, *, limit: int = 50, session: str | None = None) -> list[Hit]:
        if self._search is None:
            return await self._local.search(words, limit=limit, session=session)
        return await self._search(words, limit, session)

    # Deleting

    async def forget(self, session: str, *, through: int | None = None) -> None:
        """Delete events: of a session of this machine everywhere, of any other only the local copy."""
        if session and self._ownership.holds(session):
            await self._outbox.forget(session, through)
        else:
            await self._local.forget(session, through=through)

    async def close(self) -> None:
        await self._outbox.close()
