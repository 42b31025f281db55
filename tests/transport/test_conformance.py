"""All transports conform, and the suite detects faulty ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from handrail.testing import (
    TRANSPORT_CHECKS,
    Connect,
    TransportCheck,
    TransportFault,
    run_transport_check,
    transport_suite,
)
from handrail.transport.base import Ending, Transport, TransportClosed
from handrail.transport.memory import MemoryTransport, memory_pair
from handrail.transport.recording_file import End, Recording, Row
from handrail.transport.replay_transport import ReplayTransport
from tests.transport import connections


@pytest.mark.parametrize("check", TRANSPORT_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "connect",
    [
        connections.memory,
        connections.recorded,
        connections.stream,
        connections.stdio,
        connections.process,
        connections.prewarmed,
    ],
    ids=lambda connect: connect.__name__,
)
async def test_transport_conforms(connect: Connect, check: TransportCheck):
    await run_transport_check(check, connect)


@pytest.mark.parametrize("check", TRANSPORT_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("connect", [connections.stream, connections.process], ids=lambda connect: connect.__name__)
def test_transport_conforms_under_uvloop(connect: Connect, check: TransportCheck):
    uvloop = pytest.importorskip("uvloop")
    uvloop.run(run_transport_check(check, connect))


class Broken(MemoryTransport):
    """A transport in memory; subclasses add one fault each."""


class Interleaving(Broken):
    async def send(self, data: bytes) -> None:
        for start in range(0, len(data), 65_536):
            await super().send(data[start : start + 65_536])
            await asyncio.sleep(0)


class DroppingTheTail(Broken):
    async def receive(self) -> bytes:
        data = await super().receive()
        return b"" if self._ended else data


class HangingInClose(Broken):
    async def close(self) -> Ending:
        await super().close()
        await asyncio.Event().wait()
        return Ending()


class RaisingTheWrongError(Broken):
    async def send(self, data: bytes) -> None:
        try:
            await super().send(data)
        except TransportClosed:
            raise ValueError("I/O operation on closed file") from None


class SayingNothing(Broken):
    async def send(self, data: bytes) -> None:
        try:
            await super().send(data)
        except TransportClosed:
            return


class Reordering(Broken):
    async def send(self, data: bytes) -> None:
        self.other._inbox[:0] = data
        self.other._changed.set()


class ClosingBothDirections(Broken):
    input_ended = False

    async def end_input(self) -> None:
        await super().end_input()
        self.input_ended = True

    async def receive(self) -> bytes:
        return b"" if self.input_ended else await super().receive()


class LosingWhatACancelledReceiveTook(Broken):
    async def receive(self) -> bytes:
        return await asyncio.shield(asyncio.ensure_future(super().receive()))


class ChangingItsMind(Broken):
    endings = 0

    async def close(self) -> Ending:
        await super().close()
        self.endings += 1
        return Ending(code=self.endings)


class ForgettingWhoReceives(Broken):
    async def close(self) -> Ending:
        self._closed = True
        await self.end_input()
        return Ending()


class Unready(Broken):
    async def send(self, data: bytes) -> None:
        raise RuntimeError("not yet")


class CutShortByCancellation(Broken):
    async def send(self, data: bytes) -> None:
        half = len(data) // 2
        await super().send(data[:half])
        await asyncio.sleep(0)
        await super().send(data[half:])


def joined(kind: type[Broken]) -> Connect:
    @asynccontextmanager
    async def connect() -> AsyncIterator[tuple[Transport, Transport]]:
        near, far = kind(), MemoryTransport()
        near.other, far.other = far, near
        yield near, far

    return connect


async def test_base_of_the_faulty_transports_conforms():
    for check in TRANSPORT_CHECKS:
        await run_transport_check(check, joined(Broken))


@pytest.mark.parametrize(
    ("kind", "check", "text"),
    [
        (Interleaving, transport_suite.lines_of_several_senders_are_never_mixed, "lines were mixed"),
        (DroppingTheTail, transport_suite.the_last_bytes_arrive_before_the_end, "0 of the last 300000 bytes"),
        (HangingInClose, transport_suite.closing_twice_returns_the_same_ending, "nothing happened for 0.2 s"),
        (RaisingTheWrongError, transport_suite.sending_after_closing_raises_closed, "raised ValueError, not Tr"),
        (RaisingTheWrongError, transport_suite.sending_to_a_closed_far_end_raises_closed, "ValueError, not Tr"),
        (SayingNothing, transport_suite.sending_after_end_of_input_raises_closed, "raised nothing"),
        (SayingNothing, transport_suite.sending_to_a_closed_far_end_raises_closed, "without an error"),
        (Reordering, transport_suite.sent_lines_arrive_in_order, "received something else"),
        (ClosingBothDirections, transport_suite.ending_the_input_leaves_the_other_direction_open, "the stream ended"),
        (
            LosingWhatACancelledReceiveTook,
            transport_suite.cancelled_receive_loses_nothing,
            "nothing happened",
        ),
        (ChangingItsMind, transport_suite.closing_twice_returns_the_same_ending, "code=2"),
        (ForgettingWhoReceives, transport_suite.closing_wakes_a_receiver, "nothing happened for 0.2 s"),
        (Unready, transport_suite.sent_lines_arrive_in_order, "RuntimeError: not yet"),
        (CutShortByCancellation, transport_suite.cancelled_send_leaves_no_partial_line, "the line has"),
    ],
)
async def test_suite_detects_faulty_transports(kind: type[Broken], check: TransportCheck, text: str):
    patience = 0.2 if text.startswith("nothing happened") else 30  # only hanging transports reach this timeout
    with pytest.raises(TransportFault, match=text) as raised:
        await run_transport_check(check, joined(kind), patience=patience)
    assert str(raised.value).startswith(check.__name__.replace("_", " "))


@pytest.mark.parametrize(
    "check",
    [
        transport_suite.sending_after_closing_raises_closed,
        transport_suite.receiving_after_closing_returns_the_end,
        transport_suite.closing_twice_returns_the_same_ending,
    ],
    ids=lambda check: check.__name__,
)
async def test_replay_conforms_where_no_far_end_is_needed(check: TransportCheck):
    @asynccontextmanager
    async def connect() -> AsyncIterator[tuple[Transport, Transport]]:
        rows = [Row(0.0, "out", b'{"type":"system"}')]
        yield ReplayTransport(Recording(rows=rows, end=End(1.0, code=0))), memory_pair()[0]

    await run_transport_check(check, connect)
