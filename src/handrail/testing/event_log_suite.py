"""The conformance suite of the port `EventLog`.

    @pytest.mark.parametrize("check", EVENT_LOG_CHECKS, ids=lambda check: check.__name__)
    async def test_event_log(check):
        await run_port_check(check, open_new)

A check receives an `EventLogPlace`: an open log, and a way to close and reopen it. `DURABLE_EVENT_LOG_CHECKS` do not
apply to a log in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from handrail.bridge.store.base import Bounds, Event, EventLog, NewEvent, Receipt
from handrail.testing.port_check import expect

__all__ = ["DURABLE_EVENT_LOG_CHECKS", "EVENT_LOG_CHECKS", "EventLogCheck", "EventLogPlace"]


class EventLogPlace(Protocol):
    """A log and its storage."""

    log: EventLog

    async def reopen(self) -> EventLog:
        """Close the log and open it again; returns the new one, which is also `log` from then on."""
        ...


EventLogCheck = Callable[[EventLogPlace], Awaitable[None]]


def _new(*words: str) -> list[NewEvent]:
    return [NewEvent("said", b'{"word":"%s"}' % word.encode(), word) for word in words]


def _seqs(events: list[Event]) -> list[int]:
    return [event.seq for event in events]


async def events_are_numbered_from_one(place: EventLogPlace) -> None:
    first, second = await place.log.append("s", _new("a", "b")), await place.log.append("s", _new("c"))
    expect(_seqs(first) == [1, 2] and _seqs(second) == [3], f"{_seqs(first)}, {_seqs(second)}")


async def events_are_read_as_they_were_appended(place: EventLogPlace) -> None:
    added = await place.log.append("s", [NewEvent("frame", b'{"a": 1 }'), NewEvent("state", b"{}")], time=1234)
    read = await place.log.read("s", 0)
    expect(read == added, f"{read}")
    expect(read[0] == Event(1, 1234, "frame", b'{"a": 1 }'), f"{read[0]}")


async def read_back_returns_the_newest_events_in_order(place: EventLogPlace) -> None:
    await place.log.append("s", [NewEvent("said", b"x" * 100) for _ in range(6)])
    await place.log.append("t", _new("another"))
    expect(_seqs(await place.log.read_back("s", 5, limit=2)) == [3, 4], "these are not the two events before the fifth")
    expect(_seqs(await place.log.read_back("s", 100)) == [1, 2, 3, 4, 5, 6], "events are missing")
    expect(_seqs(await place.log.read_back("s", 1)) == [], "an event was returned before the first")
    expect(_seqs(await place.log.read_back("s", 7, most_bytes=250)) == [5, 6], "two events of 100 bytes fit into 250")
    expect(_seqs(await place.log.read_back("s", 4, most_bytes=10)) == [3], "a larger event must be returned alone")
    expect(await place.log.read_back("none", 5) == [], "an unknown session has events")


async def sessions_are_separate(place: EventLogPlace) -> None:
    await place.log.append("one", _new("a", "b", "c"))
    added = await place.log.append("two", _new("d"))
    expect(_seqs(added) == [1], f"the first event of a session is number {added[0].seq}")
    expect(await place.log.read("two", 0) == added, "events of another session were returned")
    expect(await place.log.read("three", 0) == [], "an unknown session has events")


async def reading_continues_after_any_number(place: EventLogPlace) -> None:
    await place.log.append("s", _new(*"abcdefgh"))
    for after in range(10):
        found = _seqs(await place.log.read("s", after))
        expect(found == list(range(after + 1, 9)), f"after {after}: {found}")


async def read_respects_the_limit(place: EventLogPlace) -> None:
    await place.log.append("s", _new(*"abcdefgh"))
    expect(_seqs(await place.log.read("s", 2, limit=3)) == [3, 4, 5], "the limit was exceeded")


async def read_respects_most_bytes_but_returns_at_least_one_event(place: EventLogPlace) -> None:
    await place.log.append("s", [NewEvent("frame", b'"%s"' % (b"x" * 98))] * 5)
    expect(_seqs(await place.log.read("s", 0, most_bytes=250)) == [1, 2], "two events of 100 bytes fit into 250")
    expect(_seqs(await place.log.read("s", 3, most_bytes=10)) == [4], "a larger event must be returned alone")


async def paging_returns_every_event_once(place: EventLogPlace) -> None:
    await place.log.append("s", [NewEvent("frame", b'"%s"' % (b"x" * (n % 50))) for n in range(700)])
    found: list[int] = []
    while page := await place.log.read("s", found[-1] if found else 0, limit=300, most_bytes=2000):
        found += _seqs(page)
    expect(found == list(range(1, 701)), f"{len(found)} events were returned")


async def concurrent_appends_leave_no_gap_and_keep_their_order(place: EventLogPlace) -> None:
    async def append(name: str) -> list[int]:
        numbers: list[int] = []
        for n in range(10):
            numbers += _seqs(await place.log.append("s", _new(f"{name}-{n}-0", f"{name}-{n}-1")))
        return numbers

    found = await asyncio.gather(*(append(f"w{n}") for n in range(20)))
    for numbers in found:
        expect(numbers == sorted(numbers), "a later append got a lower number")
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        expect(all(second == first + 1 for first, second in pairs), "the events of one append are not contiguous")
    expect(
        sorted(number for numbers in found for number in numbers) == list(range(1, 401)),
        "numbers are missing or were assigned more than once",
    )
    expect(_seqs(await place.log.read("s", 0)) == list(range(1, 401)), "the stored events have gaps")


async def sessions_are_written_concurrently(place: EventLogPlace) -> None:
    sessions = [f"session-{n}" for n in range(30)]
    await asyncio.gather(*(place.log.append(id, _new(id)) for id in sessions for _ in range(5)))
    for id in sessions:
        found = await place.log.read(id, 0)
        expect(_seqs(found) == [1, 2, 3, 4, 5], f"{id}: {_seqs(found)}")
        expect({event.data for event in found} == {b'{"word":"%s"}' % id.encode()}, f"{id} has a foreign event")


async def an_acknowledged_event_is_readable_at_once(place: EventLogPlace) -> None:
    for n in range(1, 21):
        await place.log.append("s", _new("x"))
        expect(len(await place.log.read("s", 0)) == n, f"event {n} was acknowledged but cannot be read")


async def a_receipt_is_stored_with_its_events(place: EventLogPlace) -> None:
    expect(await place.log.receipt("c1") is None, "an unknown command has a receipt")
    await place.log.append("s", _new("a"), Receipt("c1", b'{"ok":true}'))
    expect(await place.log.receipt("c1") == b'{"ok":true}', "the receipt differs")
    expect(await place.log.receipt("c2") is None, "a second command has a receipt")


async def a_receipt_can_be_stored_alone(place: EventLogPlace) -> None:
    expect(await place.log.append("", [], Receipt("c", b"{}")) == [], "events were returned although none were given")
    expect(await place.log.receipt("c") == b"{}", "the receipt is missing")


async def the_first_receipt_wins(place: EventLogPlace) -> None:
    await place.log.append("s", [], Receipt("c", b"1"))
    await place.log.append("s", [], Receipt("c", b"2"))
    expect(await place.log.receipt("c") == b"1", "a receipt was overwritten")


async def bounds_are_the_range_of_stored_events(place: EventLogPlace) -> None:
    expect(await place.log.bounds("s") == Bounds(1, 0), "an unknown session")
    await place.log.append("s", _new("a", "b", "c"))
    expect(await place.log.bounds("s") == Bounds(1, 3), f"{await place.log.bounds('s')}")


async def forget_deletes_events_through_a_number(place: EventLogPlace) -> None:
    await place.log.append("s", _new(*"abcde"))
    await place.log.append("t", _new("a"))
    await place.log.forget("s", through=3)
    expect(await place.log.bounds("s") == Bounds(4, 5), f"{await place.log.bounds('s')}")
    expect(_seqs(await place.log.read("s", 0)) == [4, 5], "deleted events were returned")
    expect(await place.log.bounds("t") == Bounds(1, 1), "events of another session were deleted")


async def forgetting_a_lower_number_restores_nothing(place: EventLogPlace) -> None:
    await place.log.append("s", _new(*"abcde"))
    for through in (3, 1, 0):
        await place.log.forget("s", through=through)
        expect(await place.log.bounds("s") == Bounds(4, 5), f"through {through}: {await place.log.bounds('s')}")
    await place.log.forget("unknown", through=3)
    expect(await place.log.bounds("unknown") == Bounds(1, 0), "an unknown session has bounds")


async def forgetting_beyond_the_last_event_deletes_all(place: EventLogPlace) -> None:
    await place.log.append("s", _new(*"abc"))
    await place.log.forget("s", through=99)
    expect(await place.log.bounds("s") == Bounds(4, 3), f"{await place.log.bounds('s')}")


async def numbers_are_never_reused(place: EventLogPlace) -> None:
    await place.log.append("s", _new(*"abc"))
    await place.log.forget("s")
    expect(await place.log.bounds("s") == Bounds(4, 3), f"{await place.log.bounds('s')}")
    expect(_seqs(await place.log.append("s", _new("d"))) == [4], "a number was reused")


async def a_receipt_survives_forgetting(place: EventLogPlace) -> None:
    await place.log.append("s", _new("a"), Receipt("c", b"1"))
    await place.log.forget("s")
    expect(await place.log.receipt("c") == b"1", "the receipt was deleted: a retried command would run again")


async def search_matches_word_prefixes_newest_first(place: EventLogPlace) -> None:
    await place.log.append("s", [NewEvent("frame", b"{}", "The harbour in the morning")], time=1)
    await place.log.append("t", [NewEvent("frame", b"{}", "A harbour master, in the evening")], time=2)
    hits = [(hit.session, hit.seq) for hit in await place.log.search("harb")]
    expect(hits == [("t", 1), ("s", 1)], f"{hits}")
    hits = [(hit.session, hit.seq) for hit in await place.log.search("morn HARBOUR")]
    expect(hits == [("s", 1)], f"every word must match: {hits}")
    expect(await place.log.search("arbour") == [], "the middle of a word matched")
    hits = [(hit.session, hit.seq) for hit in await place.log.search("harbour", session="s")]
    expect(hits == [("s", 1)], f"another session was searched: {hits}")
    expect(len(await place.log.search("harbour", limit=1)) == 1, "the limit was exceeded")
    expect("harbour" in (await place.log.search("harb"))[0].snippet, "the snippet lacks the match")


async def search_accepts_any_text(place: EventLogPlace) -> None:
    await place.log.append("s", [NewEvent("frame", b"{}", "one two")])
    for words in (
        "",
        '"',
        "one AND",
        'one"; DROP TABLE event',
        "NEAR(",
        "*",
        "col:one",
        "^",
        "___",
        "\x00",
        "-two",
        "𝒳",
    ):
        await place.log.search(words)
    expect(len(await place.log.search("one - two!")) == 1, "punctuation hid a match")


async def search_skips_forgotten_events(place: EventLogPlace) -> None:
    await place.log.append("s", _new("apple", "banana"))
    await place.log.forget("s", through=1)
    expect(await place.log.search("apple") == [], "a deleted event was found")
    expect(len(await place.log.search("banana")) == 1, "a stored event was not found")


async def size_is_the_sum_of_stored_bytes(place: EventLogPlace) -> None:
    expect(await place.log.size("s") == 0, "an empty session has a size")
    await place.log.append("s", [NewEvent("frame", b'"1234"'), NewEvent("frame", b'"12"')])
    expect(await place.log.size("s") == 10, f"{await place.log.size('s')}")
    await place.log.forget("s", through=1)
    expect(await place.log.size("s") == 4, f"{await place.log.size('s')}")


async def everything_survives_reopening(place: EventLogPlace) -> None:
    added = await place.log.append("s", _new("apple", "banana"), Receipt("c", b"1"))
    await place.log.forget("s", through=1)
    log = await place.reopen()
    expect(await log.read("s", 0) == added[1:], "events are missing")
    expect(await log.bounds("s") == Bounds(2, 2), f"{await log.bounds('s')}")
    expect(await log.receipt("c") == b"1", "the receipt is missing")
    expect(len(await log.search("ban")) == 1, "the search index is lost")
    expect(_seqs(await log.append("s", _new("c"))) == [3], "numbering did not continue")


async def pending_appends_are_finished_at_close(place: EventLogPlace) -> None:
    pending = [asyncio.create_task(place.log.append("s", _new(str(n)))) for n in range(50)]
    await asyncio.sleep(0)
    log = await place.reopen()
    numbers = sorted(event.seq for added in await asyncio.gather(*pending) for event in added)
    expect(numbers == _seqs(await log.read("s", 0)), "the acknowledged events are not the stored ones")


EVENT_LOG_CHECKS: tuple[EventLogCheck, ...] = (
    events_are_numbered_from_one,
    events_are_read_as_they_were_appended,
    read_back_returns_the_newest_events_in_order,
    sessions_are_separate,
    reading_continues_after_any_number,
    read_respects_the_limit,
    read_respects_most_bytes_but_returns_at_least_one_event,
    paging_returns_every_event_once,
    concurrent_appends_leave_no_gap_and_keep_their_order,
    sessions_are_written_concurrently,
    an_acknowledged_event_is_readable_at_once,
    a_receipt_is_stored_with_its_events,
    a_receipt_can_be_stored_alone,
    the_first_receipt_wins,
    bounds_are_the_range_of_stored_events,
    forget_deletes_events_through_a_number,
    forgetting_a_lower_number_restores_nothing,
    forgetting_beyond_the_last_event_deletes_all,
    numbers_are_never_reused,
    a_receipt_survives_forgetting,
    search_matches_word_prefixes_newest_first,
    search_accepts_any_text,
    search_skips_forgotten_events,
    size_is_the_sum_of_stored_bytes,
)
"""For every log."""
DURABLE_EVENT_LOG_CHECKS: tuple[EventLogCheck, ...] = (
    everything_survives_reopening,
    pending_appends_are_finished_at_close,
)
"""For logs that survive their process."""
