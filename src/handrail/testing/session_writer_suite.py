"""The conformance suite of the port `SessionWriter`.

    @pytest.mark.parametrize("check", SESSION_WRITER_CHECKS, ids=lambda check: check.__name__)
    async def test_session_writer(check):
        await run_port_check(check, open_new)

A check receives a `SessionWriterPlace`: an open writer with the event log and the session index that it writes.
`DURABLE_SESSION_WRITER_CHECKS` do not apply to a writer in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from handrail.bridge.store.base import (
    Bounds,
    Event,
    EventLog,
    NewEvent,
    Receipt,
    SessionIndex,
    SessionRecord,
    SessionWriter,
)
from handrail.testing.port_check import expect

__all__ = ["DURABLE_SESSION_WRITER_CHECKS", "SESSION_WRITER_CHECKS", "SessionWriterCheck", "SessionWriterPlace"]

_NOT_ENCODABLE = "half a pair: \ud800"
"""Text that no store can encode. A CLI can send it in JSON, as the escape of an unpaired surrogate."""


class SessionWriterPlace(Protocol):
    """A writer, and the log and the index in which its writes appear."""

    writer: SessionWriter
    log: EventLog
    index: SessionIndex

    async def reopen(self) -> None:
        """Close the storage and open it again; replaces `writer`, `log` and `index`."""
        ...


SessionWriterCheck = Callable[[SessionWriterPlace], Awaitable[None]]


def _new(*words: str) -> list[NewEvent]:
    return [NewEvent("said", b'{"word":"%s"}' % word.encode(), word) for word in words]


def _record(title: str = "", *, id: str = "s", settled: int = 0) -> SessionRecord:
    return SessionRecord(id=id, cwd="/work", created=1, changed=1, title=title, settled=settled)


def _seqs(events: list[Event]) -> list[int]:
    return [event.seq for event in events]


async def _expect_failure(
    place: SessionWriterPlace, events: Sequence[NewEvent], record: SessionRecord, receipt: Receipt
) -> None:
    try:
        await place.writer.write("s", events, record, receipt)
    except Exception:
        return
    expect(False, "text that cannot be encoded was accepted")


async def events_are_numbered_from_one(place: SessionWriterPlace) -> None:
    first = await place.writer.write("s", _new("a", "b"), _record())
    second = await place.writer.write("s", _new("c"), _record())
    expect(_seqs(first) == [1, 2] and _seqs(second) == [3], f"{_seqs(first)}, {_seqs(second)}")
    expect(await place.log.read("s", 0) == [*first, *second], "the returned events are not the stored ones")


async def sessions_are_numbered_separately(place: SessionWriterPlace) -> None:
    await place.writer.write("s", _new("a", "b"), _record())
    other = await place.writer.write("t", _new("c"), _record(id="t"))
    expect(_seqs(other) == [1], f"the first event of a session is number {_seqs(other)}")


async def events_record_and_receipt_are_stored_together(place: SessionWriterPlace) -> None:
    record = _record("first", settled=1)
    await place.writer.write("s", _new("apple"), record, Receipt("c", b"1"))
    expect(await place.index.get("s") == record, f"{await place.index.get('s')}")
    expect(await place.log.receipt("c") == b"1", "the receipt is missing")
    expect(len(await place.log.search("app")) == 1, "the event is not found by its text")


async def a_record_can_be_stored_alone(place: SessionWriterPlace) -> None:
    expect(await place.writer.write("s", [], _record("alone")) == [], "events were returned although none were given")
    expect(await place.index.get("s") == _record("alone"), f"{await place.index.get('s')}")
    expect(await place.log.bounds("s") == Bounds(1, 0), f"{await place.log.bounds('s')}")
    replaced = _record("replaced")
    await place.writer.write("s", [], replaced)
    expect(await place.index.get("s") == replaced, "an older record is stored")


async def events_can_be_stored_without_a_record(place: SessionWriterPlace) -> None:
    await place.writer.write("s", _new("a"), _record("first"))
    await place.writer.write("s", _new("b"))
    expect(await place.index.get("s") == _record("first"), "the record was changed")
    await place.writer.write("t", _new("c"))
    expect(await place.index.get("t") is None, "a record was created")


async def a_receipt_can_be_stored_alone(place: SessionWriterPlace) -> None:
    expect(await place.writer.write("s", [], None, Receipt("c", b"1")) == [], "events were returned")
    await place.writer.write("s", [], None, Receipt("c", b"2"))
    expect(await place.log.receipt("c") == b"1", "the receipt is missing or was overwritten")


async def an_invalid_record_stores_nothing(place: SessionWriterPlace) -> None:
    await place.writer.write("s", _new("a"), _record("before"))
    await _expect_failure(place, _new("b"), _record(_NOT_ENCODABLE), Receipt("c", b"1"))
    await _expect_unchanged(place)


async def an_invalid_event_stores_nothing(place: SessionWriterPlace) -> None:
    await place.writer.write("s", _new("a"), _record("before"))
    events = [*_new("b"), NewEvent("said", b"{}", _NOT_ENCODABLE)]
    await _expect_failure(place, events, _record("after"), Receipt("c", b"1"))
    await _expect_unchanged(place)


async def _expect_unchanged(place: SessionWriterPlace) -> None:
    expect(await place.log.bounds("s") == Bounds(1, 1), "events of a failed write are stored")
    expect(await place.index.get("s") == _record("before"), "the record of a failed write is stored")
    expect(await place.log.receipt("c") is None, "the receipt of a failed write is stored")
    expect(_seqs(await place.writer.write("s", _new("next"))) == [2], "a failed write used up a number")


async def overlapping_writes_take_effect_in_call_order(place: SessionWriterPlace) -> None:
    writes = [place.writer.write("s", _new(f"{n}-0", f"{n}-1"), _record(str(n))) for n in range(50)]
    written = await asyncio.gather(*writes)
    numbers = [seq for events in written for seq in _seqs(events)]
    expect(numbers == list(range(1, 101)), f"{numbers}")
    stored = [event.data for event in await place.log.read("s", 0)]
    wanted = [event.data for n in range(50) for event in _new(f"{n}-0", f"{n}-1")]
    expect(stored == wanted, "the events are stored in another order")
    record = await place.index.get("s")
    expect(record is not None and record.title == "49", f"the last record is not stored: {record}")


async def a_failed_write_leaves_overlapping_writes_alone(place: SessionWriterPlace) -> None:
    titles = [_NOT_ENCODABLE if n % 5 == 2 else str(n) for n in range(20)]
    writes = [place.writer.write("s", _new(f"w{n}"), _record(title)) for n, title in enumerate(titles)]
    results = await asyncio.gather(*writes, return_exceptions=True)
    for title, result in zip(titles, results, strict=True):
        failed = isinstance(result, BaseException)
        expect(failed == (title == _NOT_ENCODABLE), f"{title!r}: {result!r}")
    numbers = [seq for result in results if not isinstance(result, BaseException) for seq in _seqs(result)]
    expect(numbers == list(range(1, 17)), f"{numbers}")
    record = await place.index.get("s")
    expect(record is not None and record.title == "19", f"{record}")


async def readers_never_see_a_record_ahead_of_its_events(place: SessionWriterPlace) -> None:
    async def write() -> None:
        for n in range(1, 101):
            await place.writer.write("s", _new(str(n)), _record(settled=n))

    writing = asyncio.create_task(write())
    try:
        while not writing.done():
            record = await place.index.get("s")
            last = (await place.log.bounds("s")).last
            settled = record.settled if record is not None else 0
            expect(settled <= last, f"the record summarises {settled} events, and {last} are stored")
            await asyncio.sleep(0)
    finally:
        writing.cancel()
        await asyncio.wait([writing])
    await writing


async def everything_survives_reopening(place: SessionWriterPlace) -> None:
    added = await place.writer.write("s", _new("a", "b"), _record("kept", settled=2), Receipt("c", b"1"))
    await place.reopen()
    expect(await place.log.read("s", 0) == added, "events are missing")
    expect(await place.index.get("s") == _record("kept", settled=2), f"{await place.index.get('s')}")
    expect(await place.log.receipt("c") == b"1", "the receipt is missing")
    expect(_seqs(await place.writer.write("s", _new("c"), _record())) == [3], "numbering did not continue")


async def pending_writes_are_finished_at_close(place: SessionWriterPlace) -> None:
    pending = [asyncio.create_task(place.writer.write("s", _new(str(n)), _record(settled=n))) for n in range(1, 51)]
    await asyncio.sleep(0)  # each task runs until its write is queued
    await place.reopen()
    written = [seq for events in await asyncio.gather(*pending) for seq in _seqs(events)]
    expect(written == _seqs(await place.log.read("s", 0)), "the acknowledged events are not the stored ones")
    record = await place.index.get("s")
    expect(record is not None and record.settled == 50, f"{record}")


SESSION_WRITER_CHECKS: tuple[SessionWriterCheck, ...] = (
    events_are_numbered_from_one,
    sessions_are_numbered_separately,
    events_record_and_receipt_are_stored_together,
    a_record_can_be_stored_alone,
    events_can_be_stored_without_a_record,
    a_receipt_can_be_stored_alone,
    an_invalid_record_stores_nothing,
    an_invalid_event_stores_nothing,
    overlapping_writes_take_effect_in_call_order,
    a_failed_write_leaves_overlapping_writes_alone,
    readers_never_see_a_record_ahead_of_its_events,
)
"""For every writer."""
DURABLE_SESSION_WRITER_CHECKS: tuple[SessionWriterCheck, ...] = (
    everything_survives_reopening,
    pending_writes_are_finished_at_close,
)
"""For writers that survive their process."""
