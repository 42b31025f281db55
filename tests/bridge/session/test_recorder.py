"""The recorder: events and the record in one transaction, published in order once they are durable."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from handrail.bridge.errors import CommandRefused, StoreFailed
from handrail.bridge.session import recorder as module
from handrail.bridge.session.events import event
from handrail.bridge.session.recorder import Recorder
from handrail.bridge.store import event_log, session_index
from handrail.bridge.store.base import Event, NewEvent, Receipt, SessionRecord
from handrail.bridge.store.database import Database
from handrail.bridge.store.event_log import SqliteEventLog
from handrail.bridge.store.session_index import SqliteSessionIndex, SqliteSessionWriter

RECORD = SessionRecord(id="s", cwd="/", created=1, changed=1)


class Store:
    """A real file, and a writer that a test can hold up or make fail."""

    def __init__(self, folder: Path) -> None:
        self.database = Database(folder / "store.db", event_log.TABLES, session_index.TABLES)
        self.log, self.index = SqliteEventLog(self.database), SqliteSessionIndex(self.database)
        self._writer = SqliteSessionWriter(self.database)
        self.written: list[tuple[list[str], SessionRecord | None]] = []
        self.fails: list[StoreFailed] = []
        self.reports: list[tuple[SessionRecord, SessionRecord]] = []

    async def write(
        self,
        session: str,
        events: Sequence[NewEvent],
        record: SessionRecord | None = None,
        receipt: Receipt | None = None,
    ) -> list[Event]:
        self.written.append(([one.kind for one in events], record))
        if self.fails:
            raise self.fails.pop(0)
        return await self._writer.write(session, events, record, receipt)

    def recorder(self) -> Recorder:
        return Recorder(RECORD, self.log, self, lambda record, before: self.reports.append((before, record)))

    async def stored(self) -> SessionRecord:
        found = await self.index.get("s")
        assert found is not None
        return found


@asynccontextmanager
async def store(folder: Path) -> AsyncGenerator[Store]:
    opened = Store(folder)
    yield opened
    await opened.database.close()


def full(*, lasting: bool = False) -> StoreFailed:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorname = "SQLITE_FULL"  # type: ignore[misc]
    return StoreFailed(Path("x.db"), error, lasting=lasting)


async def test_a_changed_record_is_stored_with_the_events_that_follow_it(tmp_path: Path):
    async with store(tmp_path) as at:
        recorder = at.recorder()
        recorder.change(state="idle", settled=7)
        await recorder.write([event("state", state="idle")], Receipt("c", b"{}"))
        await recorder.finish()
        assert [kinds for kinds, record in at.written if record is not None] == [["state"]]
        assert (await at.stored()).settled == 7
        assert await at.log.receipt("c") == b"{}"


async def test_a_record_is_never_stored_without_its_events(tmp_path: Path):
    async with store(tmp_path) as at:
        recorder = at.recorder()
        await at.database.execute("CREATE TRIGGER no_event BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, 'no'); END")
        recorder.change(state="running")
        with pytest.raises(StoreFailed):
            await recorder.write([event("state", state="running")])
        assert await at.index.get("s") is None
        await at.database.execute("DROP TRIGGER no_event")
        await recorder.write([event("changed")])
        assert (await at.stored()).state == "running", "what could not be stored goes with the next write"


async def test_a_change_without_events_is_stored_alone(tmp_path: Path):
    async with store(tmp_path) as at:
        recorder = at.recorder()
        recorder.change(title="A")
        await recorder.update(archived=True)
        assert ((await at.stored()).title, (await at.stored()).archived) == ("A", True)
        recorder.change(title="B")
        recorder.change(title="C")
        await recorder.finish()
        assert (await at.stored()).title == "C"
        assert [record.title for _, record in at.written if record is not None] == ["A", "C"]


async def test_a_change_that_is_no_activity_keeps_the_date(tmp_path: Path):
    async with store(tmp_path) as at:
        recorder = at.recorder()
        recorder.change(active=False, state="hibernated")
        assert recorder.record.changed == 1
        recorder.change(title="A")
        assert recorder.record.changed > 1
        assert [(before.title, record.title) for before, record in at.reports] == [("", ""), ("", "A")]
        await recorder.finish()
        recorder.change(title="too late")
        assert len(at.reports) == 2


async def test_overlapping_writes_are_published_in_order_without_gaps(tmp_path: Path):
    async with store(tmp_path) as at:
        recorder = at.recorder()
        follower = recorder.feed.follow()
        writing = [asyncio.create_task(recorder.write([event("changed", n=n)])) for n in range(20)]
        await asyncio.wait(writing[:1])
        for task in writing[1::2]:
            task.cancel()
        await asyncio.wait(writing)
        await recorder.write([event("changed", n=99)])
        assert recorder.seq == len(await recorder.read_all(0))
        numbers = [b'"seq":%d,' % seq for seq in range(1, recorder.seq + 1)]
        published = follower.take()
        places = [published.index(number) for number in numbers]
        assert places == sorted(places)


class Late(Store):
    """Acknowledges a write only when the test says so."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.gates: list[asyncio.Event] = []
        self.all_stored = asyncio.Event()

    async def write(
        self,
        session: str,
        events: Sequence[NewEvent],
        record: SessionRecord | None = None,
        receipt: Receipt | None = None,
    ) -> list[Event]:
        gate = asyncio.Event()
        self.gates.append(gate)
        added = await super().write(session, events, record, receipt)
        if added[-1].seq == 3:
            self.all_stored.set()
        await gate.wait()
        return added


async def test_writes_acknowledged_out_of_order_are_published_in_order(tmp_path: Path):
    at = Late(tmp_path)
    recorder = at.recorder()
    follower = recorder.feed.follow()
    writing = [asyncio.ensure_future(recorder.write([event("changed", n=n)])) for n in range(3)]
    await at.all_stored.wait()
    for n, seq in ((2, 0), (0, 1), (1, 3)):
        at.gates[n].set()
        await writing[n]
        assert recorder.seq == seq
    assert [b'"n":%d' % n in follower.take(1) for n in range(3)] == [True] * 3
    await at.database.close()


async def test_nothing_is_written_after_the_end(tmp_path: Path):
    async with store(tmp_path) as at:
        recorder = at.recorder()
        await recorder.finish()
        with pytest.raises(CommandRefused, match="has been closed"):
            await recorder.write([event("changed")])


async def test_output_is_stored_behind_a_write_that_has_not_begun(tmp_path: Path):
    async with store(tmp_path) as at:
        recorder = at.recorder()

        async def say() -> None:
            recorder.change(title="older")
            await recorder.write([event("said")])

        saying = asyncio.create_task(say())
        await asyncio.sleep(0)  # the write was called, but its task has not begun
        recorder.change(title="newer")
        await recorder.write_output([event("frame")], give_up=lambda: False)
        await saying
        assert [kinds for kinds, _ in at.written] == [["said"], ["frame"]]
        assert (await at.stored()).title == "newer"
        await recorder.write_output([event("frame")], give_up=lambda: False)
        await recorder.finish()
        assert [one.kind for one in await at.log.read("s", 0)] == ["said", "frame", "frame"]


async def test_output_waits_for_a_full_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "RETRY_EVERY", 0)
    async with store(tmp_path) as at:
        recorder = at.recorder()
        at.fails = [full(), full(), full()]
        await recorder.write_output([event("frame")], give_up=lambda: False)
        assert len(at.written) == 4
        assert recorder.seq == 1


@pytest.mark.parametrize(("lasting", "given_up"), [(True, False), (False, True)])
async def test_output_does_not_wait_for_a_failed_store_or_an_ending_process(
    tmp_path: Path, lasting: bool, given_up: bool
):
    async with store(tmp_path) as at:
        recorder = at.recorder()
        at.fails = [full(lasting=lasting)]
        with pytest.raises(StoreFailed):
            await recorder.write_output([event("frame")], give_up=lambda: given_up)
        assert len(at.written) == 1


async def test_the_wait_for_a_store_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "RETRY_FOR", 0)
    async with store(tmp_path) as at:
        at.fails = [full()]
        with pytest.raises(StoreFailed):
            await at.recorder().write_output([event("frame")], give_up=lambda: False)
