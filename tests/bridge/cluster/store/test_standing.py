"""How our events stand to those on NATS."""

from __future__ import annotations

import pytest

from handrail.bridge.cluster.store.batch import Batch, Entry
from handrail.bridge.cluster.store.cursors import Cursor
from handrail.bridge.cluster.store.session_stream import Newest
from handrail.bridge.cluster.store.standing import Standing, standing

ours = Cursor(seq=5, place=50, epoch=3)
claiming = Cursor(seq=5, place=50, epoch=3, claiming=6)


def newest(epoch: int, last: int, *, empty: bool = False) -> Newest:
    entries = () if empty else (Entry(1, "said", b"1"),)
    return Newest(60, Batch(epoch=epoch, first=1, start=last + 1 - len(entries), entries=entries))


@pytest.mark.parametrize(
    ("cursor", "there", "found"),
    [
        (Cursor(), None, Standing.OURS),
        (ours, newest(3, 5), Standing.OURS),
        (ours, newest(3, 9), Standing.OURS),  # it was not noted that they arrived
        (claiming, newest(6, 5, empty=True), Standing.OURS),  # cut off after it was said that we begin
        (ours, None, Standing.ROLLED_BACK),
        (ours, newest(3, 4), Standing.ROLLED_BACK),
        (ours, newest(2, 4), Standing.ROLLED_BACK),
        (ours, newest(2, 5), Standing.ROLLED_BACK),  # how we began is lost
        (ours, newest(4, 5, empty=True), Standing.FENCED),
        (ours, newest(4, 9), Standing.FENCED),
        (ours, newest(2, 6), Standing.FENCED),  # and who was before us went on
        (claiming, newest(7, 5, empty=True), Standing.FENCED),
        (claiming, newest(5, 7), Standing.FENCED),
        (Cursor(), newest(1, 1), Standing.FENCED),
    ],
)
def test_who_wrote_last_decides(cursor: Cursor, there: Newest | None, found: Standing):
    assert standing(cursor, there) is found
