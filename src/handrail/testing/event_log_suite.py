"""What every event log must do. In: how to open one. Out: nothing, or a PortFault.

    @pytest.mark.parametrize("check", EVENT_LOG_CHECKS, ids=lambda check: check.__name__)
    async def test_an_event_log_keeps_its_word(check):
        await run_port_check(check, open_new)

A check is given a `Place`: a log that is open, and a way to close it and open it again where it lies. A log that lives
only as long as its process passes over the checks in `DURABLE_EVENT_LOG_CHECKS`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from handrail.bridge.store.base import Bounds, Event, EventLog, NewEvent, Receipt
from handrail.testing.port_check import expect

__all__ = ["DURABLE_EVENT_LOG_CHECKS", "EVENT_LOG_CHECKS", "EventLogCheck", "EventLogPlace"]


class EventLogPlace(Protocol):
    """Where a log lies."""

    log: EventLog

    async def open_again(self) -> EventLog:
        """Close the log and open it anew. Out: the new one, which is `log` from now on."""
        ...


EventLogCheck = Callable[[EventLogPlace], Awaitable[None]]


def _new(*words: str) -> list[NewEvent]:
    return [NewEvent("said", b'{"word":"%s"}' % word.encode(), word) for word in words]


def _seqs(events: list[Event]) -> list[int]:
    return [event.seq for event in events]


async def events_get_the_numbers_one_two_three(place: EventLogPlace) -> None:
    first, second = await place.log.append("s", _new("a", "b")), await place.log.append("s", _new("c"))
    expect(_seqs(first) == [1, 2] and _seqs(second) == [3], f"{_seqs(first)}, {_seqs(second)}")


async def what_is_read_is_what_was_appended(place: EventLogPlace) -> None:
    added = await place.log.append("s", [NewEvent("frame", b'{"a": 1 }'), NewEvent("state", b"{}")], time=1234)
    read = await place.log.read("s", 0)
    expect(read == added, f"{read}")
    expect(read[0] == Event(1, 1234, "frame", b'{"a": 1 }'), f"{read[0]}")


async def what_came_before_a_number_is_read_in_order(place: EventLogPlace) -> None:
    await place.log.append("s", [NewEvent("said", b"x" * 100) for _ in range(6)])
    await place.log.append("t", _new("another"))
    expect(_seqs(await place.log.read_back("s", 5, limit=2)) == [3, 4], "not the newest two before the fifth")
    expect(_seqs(await place.log.read_back("s", 100)) == [1, 2, 3, 4, 5, 6], "not all of them")
    expect(_seqs(await place.log.read_back("s", 1)) == [], "there is something before the first")
    expect(_seqs(await place.log.read_back("s", 7, most_bytes=250)) == [5, 6], "two of 100 bytes fit into 250")
    expect(_seqs(await place.log.read_back("s", 4, most_bytes=10)) == [3], "one that is too large must come alone")
    expect(await place.log.read_back("none", 5) == [], "a session of which nothing is known has events")


async def a_session_knows_nothing_of_another(place: EventLogPlace) -> None:
    await place.log.append("one", _new("a", "b", "c"))
    added = await place.log.append("two", _new("d"))
    expect(_seqs(added) == [1], f"the first event of a session has the number {added[0].seq}")
    expect(await place.log.read("two", 0) == added, "events of another session were read")
    expect(await place.log.read("three", 0) == [], "a session of which nothing is known has events")


async def reading_goes_on_after_any_number(place: EventLogPlace) -> None:
    await place.log.append("s", _new(*"abcdefgh"))
    for after in range(10):
        found = _seqs(await place.log.read("s", after))
        expect(found == list(range(after + 1, 9)), f"after {after}: {found}")


async def reading_keeps_to_a_number_of_events(place: EventLogPlace) -> None:
    await place.log.append("s", _new(*"abcdefgh"))
    expect(_seqs(await place.log.read("s", 2, limit=3)) == [3, 4, 5], "the limit does not hold")


async def reading_keeps_to_a_number_of_bytes_but_gives_at_least_one_event(place: EventLogPlace) -> None:
    await place.log.append("s", [NewEvent("frame", b'"%s"' % (b"x" * 98))] * 5)
    expect(_seqs(await place.log.read("s", 0, most_bytes=250)) == [1, 2], "two of 100 bytes fit into 250")
    expect(_seqs(await place.log.read("s", 3, most_bytes=10)) == [4], "one that is too large must come alone")


async def pages_of_any_size_give_everything_once(place: EventLogPlace) -> None:
    await place.log.append("s", [NewEvent("frame", b'"%s"' % (b"x" * (n % 50))) for n in range(700)])
    found: list[int] = []
    while page := await place.log.read("s", found[-1] if found else 0, limit=300, most_bytes=2000):
        found += _seqs(page)
    expect(found == list(range(1, 701)), f"{len(found)} numbers were read")


async def many_appenders_at_once_make_no_gap_and_lose_no_order(place: EventLogPlace) -> None:
    async def append(name: str) -> list[int]:
        numbers: list[int] = []
        for n in range(10):
            numbers += _seqs(await place.log.append("s", _new(f"{name}-{n}-0", f"{name}-{n}-1")))
        return numbers

    found = await asyncio.gather(*(append(f"w{n}") for n in range(20)))
    for numbers in found:
        expect(numbers == sorted(numbers), "an appender's later event has a lower number")
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        expect(all(second == first + 1 for first, second in pairs), "events of one append are apart")
    expect(
        sorted(number for numbers in found for number in numbers) == list(range(1, 401)),
        "numbers are missing or were given twice",
    )
    expect(_seqs(await place.log.read("s", 0)) == list(range(1, 401)), "what is read has gaps")


async def sessions_are_written_side_by_side(place: EventLogPlace) -> None:
    sessions = [f"session-{n}" for n in range(30)]
    await asyncio.gather(*(place.log.append(id, _new(id)) for id in sessions for _ in range(5)))
    for id in sessions:
        found = await place.log.read(id, 0)
        expect(_seqs(found) == [1, 2, 3, 4, 5], f"{id}: {_seqs(found)}")
        expect({one.data for one in found} == {b'{"word":"%s"}' % id.encode()}, f"{id} holds another's event")


async def what_was_appended_can_be_read_at_once(place: EventLogPlace) -> None:
    for n in range(1, 21):
        await place.log.append("s", _new("x"))
        expect(len(await place.log.read("s", 0)) == n, f"event {n} was acknowledged and is not there")


async def a_receipt_is_kept_with_the_events(place: EventLogPlace) -> None:
    expect(await place.log.receipt("c1") is None, "a command that was never seen has a receipt")
    await place.log.append("s", _new("a"), Receipt("c1", b'{"ok":true}'))
    expect(await place.log.receipt("c1") == b'{"ok":true}', "the receipt is another")
    expect(await place.log.receipt("c2") is None, "another command has a receipt")


async def a_receipt_may_stand_alone(place: EventLogPlace) -> None:
    expect(await place.log.append("", [], Receipt("c", b"{}")) == [], "no events were given, and some came back")
    expect(await place.log.receipt("c") == b"{}", "the receipt is not there")


async def the_first_receipt_stays(place: EventLogPlace) -> None:
    await place.log.append("s", [], Receipt("c", b"1"))
    await place.log.append("s", [], Receipt("c", b"2"))
    expect(await place.log.receipt("c") == b"1", "a receipt was overwritten")


async def bounds_say_which_events_there_are(place: EventLogPlace) -> None:
    expect(await place.log.bounds("s") == Bounds(1, 0), "an unknown session")
    await place.log.append("s", _new("a", "b", "c"))
    expect(await place.log.bounds("s") == Bounds(1, 3), f"{await place.log.bounds('s')}")


async def what_is_forgotten_is_gone_and_the_rest_is_not(place: EventLogPlace) -> None:
    await place.log.append("s", _new(*"abcde"))
    await place.log.append("t", _new("a"))
    await place.log.forget("s", through=3)
    expect(await place.log.bounds("s") == Bounds(4, 5), f"{await place.log.bounds('s')}")
    expect(_seqs(await place.log.read("s", 0)) == [4, 5], "what was given up is read")
    expect(await place.log.bounds("t") == Bounds(1, 1), "another session lost something")


async def forgetting_less_than_before_brings_nothing_back(place: EventLogPlace) -> None:
    await place.log.append("s", _new(*"abcde"))
    for through in (3, 1, 0):
        await place.log.forget("s", through=through)
        expect(await place.log.bounds("s") == Bounds(4, 5), f"through {through}: {await place.log.bounds('s')}")
    await place.log.forget("unknown", through=3)
    expect(await place.log.bounds("unknown") == Bounds(1, 0), "a session that never was has bounds")


async def forgetting_more_than_there_is_forgets_what_there_is(place: EventLogPlace) -> None:
    await place.log.append("s", _new(*"abc"))
    await place.log.forget("s", through=99)
    expect(await place.log.bounds("s") == Bounds(4, 3), f"{await place.log.bounds('s')}")


async def a_number_is_never_used_again(place: EventLogPlace) -> None:
    await place.log.append("s", _new(*"abc"))
    await place.log.forget("s")
    expect(await place.log.bounds("s") == Bounds(4, 3), f"{await place.log.bounds('s')}")
    expect(_seqs(await place.log.append("s", _new("d"))) == [4], "a number was used again")


async def a_receipt_outlives_what_is_forgotten(place: EventLogPlace) -> None:
    await place.log.append("s", _new("a"), Receipt("c", b"1"))
    await place.log.forget("s")
    expect(await place.log.receipt("c") == b"1", "the receipt went with the events: the command would be done again")


async def a_search_finds_beginnings_of_words_newest_first(place: EventLogPlace) -> None:
    await place.log.append("s", [NewEvent("frame", b"{}", "The harbour in the morning")], time=1)
    await place.log.append("t", [NewEvent("frame", b"{}", "A harbour master, in the evening")], time=2)
    hits = [(hit.session, hit.seq) for hit in await place.log.search("harb")]
    expect(hits == [("t", 1), ("s", 1)], f"{hits}")
    hits = [(hit.session, hit.seq) for hit in await place.log.search("morn HARBOUR")]
    expect(hits == [("s", 1)], f"all words must be there: {hits}")
    expect(await place.log.search("arbour") == [], "the middle of a word was found")
    expect([hit.session for hit in await place.log.search("harbour", session="s")] == ["s"], "one session alone")
    expect(len(await place.log.search("harbour", limit=1)) == 1, "the limit does not hold")
    expect("harbour" in (await place.log.search("harb"))[0].snippet, "the words around it are not shown")


async def a_search_takes_any_text_as_words(place: EventLogPlace) -> None:
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
    expect(len(await place.log.search("one - two!")) == 1, "signs between words hide them")


async def what_is_forgotten_is_not_found(place: EventLogPlace) -> None:
    await place.log.append("s", _new("apple", "banana"))
    await place.log.forget("s", through=1)
    expect(await place.log.search("apple") == [], "a forgotten event was found")
    expect(len(await place.log.search("banana")) == 1, "an event that is there was not found")


async def size_is_the_bytes_that_are_kept(place: EventLogPlace) -> None:
    expect(await place.log.size("s") == 0, "nothing has a size")
    await place.log.append("s", [NewEvent("frame", b'"1234"'), NewEvent("frame", b'"12"')])
    expect(await place.log.size("s") == 10, f"{await place.log.size('s')}")
    await place.log.forget("s", through=1)
    expect(await place.log.size("s") == 4, f"{await place.log.size('s')}")


async def all_is_there_after_opening_again(place: EventLogPlace) -> None:
    added = await place.log.append("s", _new("apple", "banana"), Receipt("c", b"1"))
    await place.log.forget("s", through=1)
    log = await place.open_again()
    expect(await log.read("s", 0) == added[1:], "events are missing")
    expect(await log.bounds("s") == Bounds(2, 2), f"{await log.bounds('s')}")
    expect(await log.receipt("c") == b"1", "the receipt is missing")
    expect(len(await log.search("ban")) == 1, "nothing is found any more")
    expect(_seqs(await log.append("s", _new("c"))) == [3], "the numbers do not go on")


async def what_was_under_way_when_it_was_closed_is_finished(place: EventLogPlace) -> None:
    under_way = [asyncio.create_task(place.log.append("s", _new(str(n)))) for n in range(50)]
    await asyncio.sleep(0)
    log = await place.open_again()
    numbers = sorted(event.seq for added in await asyncio.gather(*under_way) for event in added)
    expect(numbers == _seqs(await log.read("s", 0)), "what was acknowledged is not what is there")


EVENT_LOG_CHECKS: tuple[EventLogCheck, ...] = (
    events_get_the_numbers_one_two_three,
    what_is_read_is_what_was_appended,
    what_came_before_a_number_is_read_in_order,
    a_session_knows_nothing_of_another,
    reading_goes_on_after_any_number,
    reading_keeps_to_a_number_of_events,
    reading_keeps_to_a_number_of_bytes_but_gives_at_least_one_event,
    pages_of_any_size_give_everything_once,
    many_appenders_at_once_make_no_gap_and_lose_no_order,
    sessions_are_written_side_by_side,
    what_was_appended_can_be_read_at_once,
    a_receipt_is_kept_with_the_events,
    a_receipt_may_stand_alone,
    the_first_receipt_stays,
    bounds_say_which_events_there_are,
    what_is_forgotten_is_gone_and_the_rest_is_not,
    forgetting_less_than_before_brings_nothing_back,
    forgetting_more_than_there_is_forgets_what_there_is,
    a_number_is_never_used_again,
    a_receipt_outlives_what_is_forgotten,
    a_search_finds_beginnings_of_words_newest_first,
    a_search_takes_any_text_as_words,
    what_is_forgotten_is_not_found,
    size_is_the_bytes_that_are_kept,
)
"""Every check that holds for any log."""
DURABLE_EVENT_LOG_CHECKS: tuple[EventLogCheck, ...] = (
    all_is_there_after_opening_again,
    what_was_under_way_when_it_was_closed_is_finished,
)
"""For those that are to outlive their process."""
