"""Every event log does what every event log must, and the suite notices one that does not."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from handrail.bridge.store.base import Bounds, Event, Hit, NewEvent, Receipt
from handrail.bridge.store.memory_log import MemoryEventLog
from handrail.testing import DURABLE_EVENT_LOG_CHECKS, EVENT_LOG_CHECKS, EventLogCheck, PortFault, run_port_check
from handrail.testing import event_log_suite as suite
from tests.bridge.stores import MemoryPlace, Opens, jetstream_log, memory_log, sqlite_log


@pytest.mark.parametrize("check", EVENT_LOG_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("opens", [memory_log, sqlite_log, jetstream_log], ids=lambda opens: opens.__name__)
async def test_an_event_log_keeps_its_word(opens: Opens, check: EventLogCheck, tmp_path: Path):
    await run_port_check(check, lambda: opens(tmp_path))


@pytest.mark.parametrize("check", DURABLE_EVENT_LOG_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("opens", [sqlite_log, jetstream_log], ids=lambda opens: opens.__name__)
async def test_a_log_that_lasts_outlives_its_process(opens: Opens, check: EventLogCheck, tmp_path: Path):
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


class UsingNumbersAgain(MemoryEventLog):
    async def forget(self, session: str, *, through: int | None = None) -> None:
        await super().forget(session, through=through)
        if through is None:
            self._last[session] = 0


class ReadingFromTheNumberItself(MemoryEventLog):
    async def read(self, session: str, after: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        return await super().read(session, after - 1, limit=limit, most_bytes=most_bytes)


class GivingNothingWhereOneIsTooLarge(MemoryEventLog):
    async def read(self, session: str, after: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        found = await super().read(session, after, limit=limit, most_bytes=most_bytes)
        return found if sum(len(one.data) for one in found) <= most_bytes else []


class ForgettingWhereItBegins(MemoryEventLog):
    async def bounds(self, session: str) -> Bounds:
        return Bounds(1, (await super().bounds(session)).last)


class FindingTheMiddleOfWords(MemoryEventLog):
    async def search(self, words: str, *, limit: int = 50, session: str | None = None) -> list[Hit]:
        found = await super().search("", limit=limit)
        kept = [(id, pair) for id, pairs in self._events.items() for pair in pairs]
        return found + [
            Hit(id, event.seq, event.time, text)
            for id, (event, text) in kept
            if all(word.lower() in text.lower() for word in re.findall(r"\w+", words))
        ]


@pytest.mark.parametrize(
    ("kind", "check", "text"),
    [
        (Gapped, suite.events_get_the_numbers_one_two_three, r"\[1, 2\], \[4\]"),
        (Gapped, suite.many_appenders_at_once_make_no_gap_and_lose_no_order, "numbers are missing"),
        (WithoutReceipts, suite.a_receipt_is_kept_with_the_events, "the receipt is another"),
        (UsingNumbersAgain, suite.a_number_is_never_used_again, "first=1"),
        (ReadingFromTheNumberItself, suite.reading_goes_on_after_any_number, r"after 1: \[1"),
        (
            GivingNothingWhereOneIsTooLarge,
            suite.reading_keeps_to_a_number_of_bytes_but_gives_at_least_one_event,
            "must come alone",
        ),
        (ForgettingWhereItBegins, suite.what_is_forgotten_is_gone_and_the_rest_is_not, "first=1"),
        (FindingTheMiddleOfWords, suite.a_search_finds_beginnings_of_words_newest_first, "'s', 1"),
    ],
)
async def test_the_suite_notices_a_log_with_a_fault(kind: type[MemoryEventLog], check: EventLogCheck, text: str):
    @asynccontextmanager
    async def opens() -> AsyncGenerator[MemoryPlace]:
        place = MemoryPlace()
        place.log = kind()
        yield place

    with pytest.raises(PortFault, match=text) as raised:
        await run_port_check(check, opens)
    assert str(raised.value).startswith(check.__name__.replace("_", " "))
