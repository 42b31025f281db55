"""The position cache: its answers are correct, and it stays small."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handrail.bridge.cluster.store.batch import Batch, Entry
from handrail.bridge.cluster.store.session_stream import (
    MOST_POSITIONS,
    MOST_SESSIONS,
    PositionCache,
    covered_through,
)


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
