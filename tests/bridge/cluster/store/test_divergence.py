"""Comparison of a cursor with the newest message on NATS."""

from __future__ import annotations

import pytest

from handrail.bridge.cluster.store.cursors import Cursor, Divergence, divergence
from handrail.bridge.cluster.store.session_stream import Batch, Entry, Newest

ours = Cursor(seq=5, place=50, epoch=3)
claiming = Cursor(seq=5, place=50, epoch=3, claiming=6)


def newest(epoch: int, last: int, *, empty: bool = False) -> Newest:
    entries = () if empty else (Entry(1, "said", b"1"),)
    return Newest(60, Batch(epoch=epoch, first=1, start=last + 1 - len(entries), entries=entries))


@pytest.mark.parametrize(
    ("cursor", "there", "found"),
    [
        (Cursor(), None, Divergence.NONE),
        (ours, newest(3, 5), Divergence.NONE),
        (ours, newest(3, 9), Divergence.NONE),  # published, but the cursor was not saved
        (claiming, newest(6, 5, empty=True), Divergence.NONE),  # interrupted after the epoch was announced
        (ours, None, Divergence.ROLLED_BACK),
        (ours, newest(3, 4), Divergence.ROLLED_BACK),
        (ours, newest(2, 4), Divergence.ROLLED_BACK),
        (ours, newest(2, 5), Divergence.ROLLED_BACK),  # the announcement of our epoch was lost
        (ours, newest(4, 5, empty=True), Divergence.FENCED),
        (ours, newest(4, 9), Divergence.FENCED),
        (ours, newest(2, 6), Divergence.FENCED),  # and the previous owner wrote again
        (claiming, newest(7, 5, empty=True), Divergence.FENCED),
        (claiming, newest(5, 7), Divergence.FENCED),
        (Cursor(), newest(1, 1), Divergence.FENCED),
    ],
)
def test_newest_writer_decides(cursor: Cursor, there: Newest | None, found: Divergence):
    assert divergence(cursor, there) is found
