"""The suite of `EventLog`, on every implementation and on faulty ones."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from handrail.bridge.store.base import Bounds, Event, Hit, NewEvent, Receipt
from handrail.testing import DURABLE_EVENT_LOG_CHECKS, EVENT_LOG_CHECKS, EventLogCheck, PortFault, run_port_check
from handrail.testing import event_log_suite as suite
from handrail.testing.memory_store import MemoryEventLog
from tests.bridge.stores import MemoryPlace, Opens, jetstream_log, memory_log, sqlite_log


@pytest.mark.parametrize("check", EVENT_LOG_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("opens", [memory_log, sqlite_log, jetstream_log], ids=lambda opens: opens.__name__)
async def test_event_log_conforms(opens: Opens, check: EventLogCheck, tmp_path: Path):
    await run_port_check(check, lambda: opens(tmp_path))


@pytest.mark.parametrize("check", DURABLE_EVENT_LOG_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("opens", [sqlite_log, jetstream_log], ids=lambda opens: opens.__name__)
async def test_durable_event_log_conforms(opens: Opens, check: EventLogCheck, tmp_path: Path):
    await run_port_check(check, lambda: opens(tmp_path))


class Gapped(MemoryEventLog):
    async def append(
        self, session: str, events: Sequence[NewEvent], receipt: Receipt | None = None, *, time: int | None = None
    ) -> list[Event]:
        added = await super().append(session, events, receipt, time=time)
        self._last[session] = self._last.get(session, 0) + 1
        return added


class WithoutReceipts(MemoryEventLog):
    async def receipt(self, command: str) -> bytes | None:
        return None


class ReusingNumbers(MemoryEventLog):
    async def forget(self, session: str, *, through: int | None = None) -> None:
        await super().forget(session, through=through)
        if through is None:
            self._last[session] = 0


class ReadingInclusively(MemoryEventLog):
    async def read(self, session: str, after: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        return await super().read(session, after - 1, limit=limit, most_bytes=most_bytes)


class DroppingLargeEvents(MemoryEventLog):
    async def read(self, session: str, after: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        found = await super().read(session, after, limit=limit, most_bytes=most_bytes)
        return found if sum(len(event.data) for event in found) <= most_bytes else []


class AlwaysFromOne(MemoryEventLog):
    async def bounds(self, session: str) -> Bounds:
        return Bounds(1, (await super().bounds(session)).last)


class MatchingInsideWords(MemoryEventLog):
    async def search(self, words: str, *, limit: int = 50, session: str | None = None) -> list[Hit]:
        found = await super().search("", limit=limit)
        stored = [(id, pair) for id, pairs in self._events.items() for pair in pairs]
        return found + [
            Hit(id, event.seq, event.time, text)
            for id, (event, text) in stored
            if all(word.lower() in text.lower() for word in re.findall(r"\w+", words))
        ]


@pytest.mark.parametrize(
    ("kind", "check", "text"),
    [
        (Gapped, suite.events_are_numbered_from_one, r"\[1, 2\], \[4\]"),
        (Gapped, suite.concurrent_appends_leave_no_gap_and_keep_their_order, "numbers are missing"),
        (WithoutReceipts, suite.a_receipt_is_stored_with_its_events, "the receipt differs"),
        (ReusingNumbers, suite.numbers_are_never_reused, "first=1"),
        (ReadingInclusively, suite.reading_continues_after_any_number, r"after 1: \[1"),
        (
            DroppingLargeEvents,
            suite.read_respects_most_bytes_but_returns_at_least_one_event,
            "must be returned alone",
        ),
        (AlwaysFromOne, suite.forget_deletes_events_through_a_number, "first=1"),
        (MatchingInsideWords, suite.search_matches_word_prefixes_newest_first, "'s', 1"),
    ],
)
async def test_suite_detects_a_faulty_log(kind: type[MemoryEventLog], check: EventLogCheck, text: str):
    @asynccontextmanager
    async def opens() -> AsyncGenerator[MemoryPlace]:
        place = MemoryPlace()
        place.log = kind()
        yield place

    with pytest.raises(PortFault, match=text) as raised:
        await run_port_check(check, opens)
    assert str(raised.value).startswith(check.__name__.replace("_", " "))
