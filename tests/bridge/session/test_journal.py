"""A session's events: on record before they are told, in the order of the numbers, whoever gives up waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.events import event
from handrail.bridge.session.journal import Journal
from handrail.bridge.store.events_base import Event, NewEvent, Receipt
from handrail.bridge.store.memory_log import MemoryEventLog
from tests.bridge.stores import sqlite_log


class Late(MemoryEventLog):
    """Acknowledges when it is told to, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[asyncio.Event] = []
        self.all_there = asyncio.Event()

    async def append(
        self, session: str, events: Sequence[NewEvent], receipt: Receipt | None = None, *, time: int | None = None
    ) -> list[Event]:
        added = await super().append(session, events, receipt, time=time)
        self.waiting.append(asyncio.Event())
        if len(self.waiting) == 3:
            self.all_there.set()
        await self.waiting[-1].wait()
        return added


async def test_what_is_acknowledged_out_of_order_is_told_in_order():
    log = Late()
    journal = Journal("s", log, asyncio.ensure_future)
    follower = journal.feed.follow()
    writing = [asyncio.create_task(journal.write([event("changed", n=n)])) for n in range(3)]
    await log.all_there.wait()
    for n in (2, 0, 1):
        assert journal.seq == (0 if n != 1 else 1)
        log.waiting[n].set()
        await writing[n]
    assert journal.seq == 3
    assert [b'"n":%d' % n in follower.take(1) for n in range(3)] == [True] * 3


async def test_whoever_is_cancelled_while_he_waits_leaves_no_gap(tmp_path: Path):
    async with sqlite_log(tmp_path) as place:
        journal = Journal("s", place.log, asyncio.ensure_future)
        follower = journal.feed.follow()
        writing = [asyncio.create_task(journal.write([event("changed", n=n)])) for n in range(20)]
        await asyncio.sleep(0)
        for task in writing[::2]:
            task.cancel()
        await asyncio.wait(writing)
        await journal.write([event("changed", n=99)])
        assert journal.seq == 21
        assert follower.take().count(b'"seq"') == 21
        assert [one.seq for one in await journal.read_all(0)] == list(range(1, 22))


async def test_nothing_is_written_after_the_end():
    journal = Journal("s", MemoryEventLog(), asyncio.ensure_future)
    journal.close()
    with pytest.raises(CommandRefused, match="has been closed"):
        await journal.write([event("changed")])
