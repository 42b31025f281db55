"""What waits of one session: what is next, and who is told when."""

from __future__ import annotations

import asyncio

import pytest

from handrail.bridge.cluster.store.cursors import Cursor
from handrail.bridge.cluster.store.line import MOST_QUEUED, Line
from handrail.bridge.errors import Fenced
from handrail.bridge.store.base import Event, NewEvent, Receipt


def noted(line: Line, start: int, *datas: bytes, receipt: Receipt | None = None) -> None:
    events = [NewEvent("said", data) for data in datas]
    added = [Event(seq, 1, "said", data) for seq, data in enumerate(datas, start)]
    line.note(added, events, receipt)


def test_what_came_meanwhile_goes_in_one_batch_with_its_receipts():
    line = Line("s", Cursor(seq=4, place=9, epoch=2))
    noted(line, 5, b"1", receipt=Receipt("a", b""))
    noted(line, 6, b"2", b"3", receipt=Receipt("b", b""))
    batch = line.next_from_memory()
    assert batch is not None
    assert (batch.epoch, batch.start, batch.last) == (2, 5, 7)
    assert [one.command for one in batch.receipts] == ["a", "b"]
    line.sending = batch
    noted(line, 8, b"4")
    assert line.behind == 4
    line.acknowledge(batch, 10)
    assert line.cursor == Cursor(seq=7, place=10, epoch=2)
    following = line.next_from_memory()
    assert following is not None
    assert (following.start, following.last, following.receipts) == (8, 8, ())


def test_what_does_not_follow_or_is_too_much_is_left_to_the_store():
    line = Line("s", Cursor(seq=4, epoch=2))
    noted(line, 7, b"there is more before it")
    assert line.next_from_memory() is None
    line = Line("s", Cursor(epoch=1))
    noted(line, 1, b"1")
    noted(line, 2, b"x" * MOST_QUEUED)
    assert line.next_from_memory() is None
    assert line.size == MOST_QUEUED + 1
    assert line.is_due


def test_a_session_that_was_never_claimed_waits():
    line = Line("s")
    noted(line, 1, b"1")
    assert not line.is_due
    assert line.behind == 1


async def test_each_is_told_when_nats_has_what_he_waits_for():
    line = Line("s", Cursor(epoch=1))
    noted(line, 1, b"1", b"2")
    waiting = [asyncio.create_task(line.until(through)) for through in (3, 1, 2)]
    await asyncio.sleep(0)
    batch = line.next_from_memory()
    assert batch is not None
    line.acknowledge(batch, 1)
    assert await waiting[1]
    assert await waiting[2]
    assert not waiting[0].done()
    assert line.end(fenced=True) == 0
    with pytest.raises(Fenced):
        await waiting[0]
    assert await line.until(2)


async def test_who_has_gone_meanwhile_is_no_trouble():
    line = Line("s", Cursor(epoch=1))
    waiting = asyncio.create_task(line.until(1))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    line.end(fenced=False)
    assert not await line.until(1)
