"""The store in memory, for tests: an event log, a session index and a session writer."""

from __future__ import annotations

import re
import time as clock
from collections.abc import Sequence

import msgspec

from handrail.bridge.store.base import (
    Bounds,
    Event,
    Hit,
    NewEvent,
    Receipt,
    SessionLine,
    SessionRecord,
    matching_records,
)
from handrail.bridge.store.search_index import snippet, words_of

__all__ = ["MemoryEventLog", "MemorySessionIndex", "MemorySessionWriter"]


class MemoryEventLog:
    """Events in lists."""

    def __init__(self) -> None:
        self._events: dict[str, list[tuple[Event, str]]] = {}
        self._last: dict[str, int] = {}
        self._receipts: dict[str, bytes] = {}

    async def append(
        self, session: str, events: Sequence[NewEvent], receipt: Receipt | None = None, *, time: int | None = None
    ) -> list[Event]:
        if receipt is not None:
            self._receipts.setdefault(receipt.command, receipt.answer)
        now = round(clock.time() * 1000) if time is None else time
        last, stored = self._last.get(session, 0), self._events.setdefault(session, [])
        added = [Event(last + n, now, event.kind, event.data) for n, event in enumerate(events, 1)]
        stored += zip(added, (event.text for event in events), strict=True)
        self._last[session] = last + len(added)
        return added

    async def read(self, session: str, after: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        found: list[Event] = []
        for event, _ in self._events.get(session, ()):
            if event.seq <= after:
                continue
            most_bytes -= len(event.data)
            if len(found) >= limit or (found and most_bytes < 0):
                break
            found.append(event)
        return found

    async def read_back(self, session: str, before: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        found: list[Event] = []
        for event, _ in reversed(self._events.get(session, ())):
            if event.seq >= before:
                continue
            most_bytes -= len(event.data)
            if len(found) >= limit or (found and most_bytes < 0):
                break
            found.append(event)
        return found[::-1]

    async def bounds(self, session: str) -> Bounds:
        last, stored = self._last.get(session, 0), self._events.get(session)
        return Bounds(stored[0][0].seq if stored else last + 1, last)

    async def receipt(self, command: str) -> bytes | None:
        return self._receipts.get(command)

    async def search(self, words: str, *, limit: int = 50, session: str | None = None) -> list[Hit]:
        wanted = words_of(words)
        patterns = [re.compile(rf"\b{re.escape(word)}", re.IGNORECASE) for word in wanted]
        hits = [
            Hit(id, event.seq, event.time, snippet(text, wanted))
            for id, stored in self._events.items()
            for event, text in stored
            if patterns and session in (None, id) and all(pattern.search(text) for pattern in patterns)
        ]
        return sorted(hits, key=lambda hit: (hit.time, hit.seq), reverse=True)[:limit]

    async def forget(self, session: str, *, through: int | None = None) -> None:
        stored = self._events.get(session, [])
        self._events[session] = [] if through is None else [pair for pair in stored if pair[0].seq > through]

    async def size(self, session: str) -> int:
        return sum(len(event.data) for event, _ in self._events.get(session, ()))

    async def close(self) -> None:
        return


class MemorySessionIndex:
    """Records in a dict."""

    def __init__(self) -> None:
        self._records: dict[str, SessionRecord] = {}

    async def put(self, record: SessionRecord) -> None:
        self._records[record.id] = record

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

    async def delete(self, id: str) -> None:
        self._records.pop(id, None)


class MemorySessionWriter:
    """Writes a log and an index in memory. It validates everything first, so that a write never fails halfway."""

    def __init__(self, log: MemoryEventLog, index: MemorySessionIndex) -> None:
        self._log, self._index = log, index

    async def write(
        self,
        session: str,
        events: Sequence[NewEvent],
        record: SessionRecord | None = None,
        receipt: Receipt | None = None,
    ) -> list[Event]:
        if record is not None:
            msgspec.json.encode(record)
        for event in events:
            f"{event.kind}{event.text}".encode()  # raises for text that no store can encode
        # Neither of the two calls suspends, so no other task runs between them.
        if record is not None:
            await self._index.put(record)
        return await self._log.append(session, events, receipt) if events or receipt is not None else []
