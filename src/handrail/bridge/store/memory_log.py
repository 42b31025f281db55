"""An event log that lives as long as the process: for tests and for trying things out."""

from __future__ import annotations

import re
import time as clock
from collections.abc import Sequence

from handrail.bridge.store.base import Bounds, Event, Hit, NewEvent, Receipt
from handrail.bridge.store.snippet import snippet, words_of

__all__ = ["MemoryEventLog"]


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
        last, kept = self._last.get(session, 0), self._events.setdefault(session, [])
        added = [Event(last + n, now, event.kind, event.data) for n, event in enumerate(events, 1)]
        kept += zip(added, (event.text for event in events), strict=True)
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
        last, kept = self._last.get(session, 0), self._events.get(session)
        return Bounds(kept[0][0].seq if kept else last + 1, last)

    async def receipt(self, command: str) -> bytes | None:
        return self._receipts.get(command)

    async def search(self, words: str, *, limit: int = 50, session: str | None = None) -> list[Hit]:
        given = words_of(words)
        wanted = [re.compile(rf"\b{re.escape(word)}", re.IGNORECASE) for word in given]
        hits = [
            Hit(id, event.seq, event.time, snippet(text, given))
            for id, kept in self._events.items()
            for event, text in kept
            if wanted and session in (None, id) and all(word.search(text) for word in wanted)
        ]
        return sorted(hits, key=lambda hit: (hit.time, hit.seq), reverse=True)[:limit]

    async def forget(self, session: str, *, through: int | None = None) -> None:
        kept = self._events.get(session, [])
        self._events[session] = [] if through is None else [pair for pair in kept if pair[0].seq > through]

    async def size(self, session: str) -> int:
        return sum(len(event.data) for event, _ in self._events.get(session, ()))

    async def close(self) -> None:
        return
