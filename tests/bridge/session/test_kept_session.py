"""A session's record: told at once, kept soon, and never before the events that go with it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from handrail.bridge.session.events import event
from handrail.bridge.session.kept_session import KeptSession
from handrail.bridge.store.events_base import Event, NewEvent, Receipt
from handrail.bridge.store.index_base import SessionRecord
from handrail.bridge.store.memory_index import MemorySessionIndex
from handrail.bridge.store.memory_log import MemoryEventLog

RECORD = SessionRecord(id="s", cwd="/", created=1, changed=1)


class Log(MemoryEventLog):
    """Notes what is written, when it is on its way."""

    def __init__(self, order: list[str]) -> None:
        super().__init__()
        self._order = order

    async def append(
        self, session: str, events: Sequence[NewEvent], receipt: Receipt | None = None, *, time: int | None = None
    ) -> list[Event]:
        self._order.append("events")
        return await super().append(session, events, receipt, time=time)


class Index(MemorySessionIndex):
    def __init__(self, order: list[str]) -> None:
        super().__init__()
        self._order = order

    async def put(self, record: SessionRecord) -> None:
        self._order.append(f"{record.title} {record.settled}")
        await super().put(record)


def kept() -> tuple[KeptSession, list[str]]:
    order: list[str] = []
    return KeptSession(RECORD, events=Log(order), index=Index(order)), order


@pytest.mark.parametrize("turns", range(6))
async def test_a_record_is_kept_after_the_events_that_go_with_it(turns: int):
    session, order = kept()
    session.change(title="T")
    for _ in range(turns):
        await asyncio.sleep(0)
    session.change(settled=7)
    await session.record_events([event("state", state="idle")])
    await session._finish()
    assert order.index("events") < order.index("T 7")
    assert order[-1] == "T 7"


async def test_whoever_waits_for_it_is_told_once_it_is_kept():
    session, order = kept()
    session.change(title="A")
    await session.keep(settled=3)
    assert order == ["A 3"], "what was changed at one moment is kept at once"
    await asyncio.gather(session.keep(title="B"), session.keep(title="C"))
    found = await session._index.get("s")
    assert found is not None
    assert (found.title, found.settled) == ("C", 3)


async def test_each_change_is_told_with_what_was_before():
    told: list[tuple[str, str]] = []
    session = KeptSession(
        RECORD,
        events=MemoryEventLog(),
        index=MemorySessionIndex(),
        on_change=lambda record, before: told.append((before.title, record.title)),
    )
    session.change(title="A")
    session.change(title="B")
    await session._finish()
    session.change(title="too late")
    assert told == [("", "A"), ("A", "B")]
