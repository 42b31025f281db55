"""The stream of events: the message format, and the position cache."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.bridge.cluster.store.session_stream import (
    MOST_BYTES,
    MOST_EVENTS,
    MOST_POSITIONS,
    MOST_SESSIONS,
    Batch,
    Entry,
    PositionCache,
    batches,
    covered_through,
    decode,
    encode,
)
from handrail.bridge.store.base import Event, Receipt

entries = st.lists(
    st.builds(Entry, st.integers(0, 2**53), st.text(max_size=3), st.binary(max_size=9), st.text(max_size=9)), max_size=4
)
receipts = st.lists(st.builds(Receipt, st.text(max_size=3), st.binary(max_size=9)), max_size=2)


@given(st.integers(0, 2**40), st.integers(1, 2**32), st.integers(1, 2**32), entries, receipts)
def test_decoding_reverses_encoding(epoch: int, first: int, start: int, some: list[Entry], kept: list[Receipt]):
    batch = Batch(epoch=epoch, first=first, start=start, entries=tuple(some), receipts=tuple(kept))
    assert decode(encode(batch)) == batch


def test_events_are_numbered_by_position():
    batch = Batch(epoch=1, first=1, start=5, entries=(Entry(7, "said", b"{}", "x"), Entry(8, "state", b"1")))
    assert batch.events() == [Event(5, 7, "said", b"{}"), Event(6, 8, "state", b"1")]
    assert batch.last == 6
    assert [event.seq for event in batch.events(after=5)] == [6]


def test_deleted_events_are_left_out():
    batch = Batch(epoch=1, first=6, start=5, entries=(Entry(1, "a", b""),) * 3)
    assert [event.seq for event in batch.events()] == [6, 7]


def test_empty_batch_carries_the_last_number():
    assert Batch(epoch=2, first=1, start=5).last == 4
    assert Batch(epoch=1, first=1, start=1).last == 0


@given(st.binary(max_size=60))
def test_arbitrary_bytes_raise_only_msgspec_errors(data: bytes):
    try:
        decode(data)
    except msgspec.MsgspecError:
        return


def test_batch_of_a_later_version_is_readable():
    later = msgspec.msgpack.encode([3, 1, 9, [[1, "said", b"{}", "text", "more"]], [], {"more": True}])
    assert decode(later) == Batch(epoch=3, first=1, start=9, entries=(Entry(1, "said", b"{}", "text"),))


@given(st.lists(st.integers(0, 200_000), max_size=30), st.integers(1, 1000))
def test_pieces_keep_order_and_limits(sizes: list[int], start: int):
    blob = b"x" * 200_000
    given_ones = [Entry(n, "said", blob[:size]) for n, size in enumerate(sizes)]
    pieces = batches(given_ones, start)
    assert [entry for _, some in pieces for entry in some] == given_ones
    expected = start
    for number, some in pieces:
        assert number == expected
        assert some
        assert sum(len(entry.data) for entry in some) <= MOST_BYTES
        expected += len(some)


@pytest.mark.parametrize(
    ("some", "lengths"),
    [
        ([Entry(1, "a", b"")] * (MOST_EVENTS + 1), [MOST_EVENTS, 1]),
        ([Entry(1, "a", b"x" * (MOST_BYTES + 1))] * 2, [1, 1]),
        ([Entry(1, "a", b"", "x" * MOST_BYTES)] * 2, [1, 1]),
        ([], []),
    ],
)
def test_piece_ends_before_the_event_that_does_not_fit(some: list[Entry], lengths: list[int]):
    assert [len(piece) for _, piece in batches(some, 1)] == lengths


def batch(start: int, count: int) -> Batch:
    return Batch(epoch=1, first=1, start=start, entries=(Entry(1, "said", b""),) * count)


def test_empty_batch_covers_the_next_event():
    assert [covered_through(batch(5, count)) for count in (0, 1, 3)] == [5, 5, 7]


@given(st.lists(st.integers(0, 4), max_size=200), st.data())
def test_returned_message_ends_below_the_number(counts: list[int], data: st.DataObject):
    places, ends, start = PositionCache(), {0: 0}, 1
    for place, count in enumerate(counts, 1):
        one = batch(start, count)
        places.note("s", one, place * 3)
        ends[place * 3] = covered_through(one)
        start += count
    number = data.draw(st.integers(1, start + 1))
    found = places.before("s", number)
    assert found is None or ends[found[1]] == found[0] < number
    if found is None:
        assert covered_through(batch(1, counts[0]) if counts else batch(number, 0)) >= number


def test_positions_and_sessions_are_limited():
    places = PositionCache()
    for n in range(1000):
        places.note("s", batch(n + 1, 1), n)
    found = places.before("s", 900)
    assert found is not None
    assert found[0] < 900
    assert sum(places.before("s", n) != places.before("s", n + 1) for n in range(1, 1001)) <= MOST_POSITIONS
    for n in range(MOST_SESSIONS):
        places.note(f"other {n}", batch(1, 1), n)
    assert places.before("s", 900) is None
    assert places.before("other 3", 2) == (1, 3)


def test_wrong_positions_are_dropped():
    places = PositionCache()
    places.note("s", batch(1, 1), 7)
    places.forget("s")
    places.forget("another")
    assert places.before("s", 5) is None
