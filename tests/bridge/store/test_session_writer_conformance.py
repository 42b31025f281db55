"""The suite of `SessionWriter`, on every implementation and on faulty ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from handrail.bridge.store.base import Event, NewEvent, Receipt, SessionRecord
from handrail.testing import (
    DURABLE_SESSION_WRITER_CHECKS,
    SESSION_WRITER_CHECKS,
    PortFault,
    SessionWriterCheck,
    run_port_check,
)
from handrail.testing import session_writer_suite as suite
from handrail.testing.memory_store import MemorySessionWriter
from tests.bridge.stores import DURABLE_WRITERS, WRITERS, MemoryWriterPlace, OpensWriter, moving_cluster_writer


@pytest.mark.parametrize("check", SESSION_WRITER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("opens", WRITERS, ids=lambda opens: opens.__name__)
async def test_session_writer_conforms(opens: OpensWriter, check: SessionWriterCheck, tmp_path: Path):
    if (opens, check) == (moving_cluster_writer, suite.readers_never_see_a_record_ahead_of_its_events):
        pytest.skip("the owner reads its newest record, but where sessions move an event only after NATS has it")
    await run_port_check(check, lambda: opens(tmp_path))


@pytest.mark.parametrize("check", DURABLE_SESSION_WRITER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("opens", DURABLE_WRITERS, ids=lambda opens: opens.__name__)
async def test_durable_session_writer_conforms(opens: OpensWriter, check: SessionWriterCheck, tmp_path: Path):
    await run_port_check(check, lambda: opens(tmp_path))


Events, Record, Command = Sequence[NewEvent], SessionRecord | None, Receipt | None


class RecordFirst(MemorySessionWriter):
    """Two steps with other tasks in between."""

    async def write(self, session: str, events: Events, record: Record = None, receipt: Command = None) -> list[Event]:
        if record is not None:
            await self._index.put(record)
            await asyncio.sleep(0)
        return await super().write(session, events, None, receipt)


class EventsFirst(MemorySessionWriter):
    async def write(self, session: str, events: Events, record: Record = None, receipt: Command = None) -> list[Event]:
        added = await super().write(session, events, None, receipt)
        await super().write(session, [], record)
        return added


class WithoutRecord(MemorySessionWriter):
    async def write(self, session: str, events: Events, record: Record = None, receipt: Command = None) -> list[Event]:
        return await super().write(session, events, None, receipt)


class OutOfOrder(MemorySessionWriter):
    """Every other write is delayed."""

    writes = 0

    async def write(self, session: str, events: Events, record: Record = None, receipt: Command = None) -> list[Event]:
        self.writes += 1
        for _ in range(self.writes % 2):
            await asyncio.sleep(0)
        return await super().write(session, events, record, receipt)


@pytest.mark.parametrize(
    ("kind", "check", "text"),
    [
        (RecordFirst, suite.an_invalid_event_stores_nothing, "the record of a failed write is stored"),
        (RecordFirst, suite.readers_never_see_a_record_ahead_of_its_events, "the record summarises 1 events, and 0"),
        (EventsFirst, suite.an_invalid_record_stores_nothing, "events of a failed write are stored"),
        (EventsFirst, suite.a_failed_write_leaves_overlapping_writes_alone, r"\[1, 2, 4"),
        (WithoutRecord, suite.a_record_can_be_stored_alone, "None"),
        (WithoutRecord, suite.an_invalid_record_stores_nothing, "was accepted"),
        (OutOfOrder, suite.overlapping_writes_take_effect_in_call_order, r"\[51, 52, 1, 2"),
    ],
)
async def test_suite_detects_a_faulty_writer(kind: type[MemorySessionWriter], check: SessionWriterCheck, text: str):
    @asynccontextmanager
    async def opens() -> AsyncGenerator[MemoryWriterPlace]:
        yield MemoryWriterPlace(kind)

    with pytest.raises(PortFault, match=text):
        await run_port_check(check, opens)
