"""The message format of events: encoding, numbering, and splitting."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.bridge.cluster.store.batch import MOST_BYTES, MOST_EVENTS, Batch, Entry, batches, decode, encode
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
