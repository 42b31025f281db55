"""How a connection ends, and who is told."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging

import pytest

from handrail.connection import Disconnected
from handrail.protocol.codec import (
    encode_message,
    encode_request,
)
from handrail.protocol.frames import Request
from handrail.transport.base import Ending, TransportClosed
from handrail.transport.memory import HIGH_WATER, MemoryTransport, memory_pair
from tests.connection.joined import End, alone, joined


async def test_the_end_of_the_stream_fails_everything_that_waits():
    stopped = asyncio.Event()

    async def serve(_: Request) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with alone({"can_use_tool": serve}) as (near, far):
        asking = [asyncio.create_task(near.connection.request("set_model")) for _ in range(3)]
        await far.receive()
        await far.send(encode_request("r1", "can_use_tool", {}).raw + b"\n")
        await near.until(Request)
        await far.close()
        errors = await asyncio.gather(*asking, return_exceptions=True)
        assert await near.connection.closed() == Ending()
        assert [type(error) for error in errors] == [Disconnected] * 3
        assert stopped.is_set()
        assert near.endings == [Ending()]


class Ended(MemoryTransport):
    """A transport that ends as a process does."""

    async def close(self) -> Ending:
        await super().close()
        return Ending(code=1, stderr="model not found")


async def test_whoever_waits_learns_how_the_other_side_ended():
    left, right = Ended(), MemoryTransport()
    left.other, right.other = right, left
    near = End(left)
    await near.connection.start()
    async with asyncio.timeout(30):
        asking = asyncio.create_task(near.connection.request("set_model"))
        await right.receive()
        await right.close()
        with pytest.raises(Disconnected) as raised:
            await asking
        assert (raised.value.exit_code, raised.value.stderr) == (1, "model not found")
        text = "the other side has ended (exit code 1); the last lines of its stderr:\nmodel not found"
        assert str(raised.value) == text
        with pytest.raises(Disconnected, match="^set_model: the other side has ended"):
            await near.connection.request("set_model")
        with pytest.raises(Disconnected, match="^the other side has ended"):
            await near.connection.send(encode_message({"type": "user"}))


async def test_a_send_to_a_side_that_has_just_gone_says_how_it_ended():
    async with alone() as (near, far):
        far._closed = True  # gone, and its end of the stream is still on its way
        sending = asyncio.create_task(near.connection.send(encode_message({"type": "user"})))
        await asyncio.sleep(0)
        await far.close()
        with pytest.raises(Disconnected):
            await sending
        assert near.connection.ending == Ending()


async def test_a_send_before_the_start_to_a_side_that_has_gone_is_disconnected():
    left, right = memory_pair()
    await right.close()
    with pytest.raises(Disconnected):
        await End(left).connection.send(encode_message({"type": "user"}))


async def test_an_asker_stuck_in_sending_is_freed_by_the_end_and_nothing_is_left_to_complain(
    caplog: pytest.LogCaptureFixture,
):
    async with alone() as (near, far):
        asking = asyncio.create_task(near.connection.request("set_model", {"model": "x" * HIGH_WATER}))
        await asyncio.sleep(0)
        await far.close()
        await asyncio.wait([asking])
        assert type(asking.exception()) is Disconnected
        del asking
    gc.collect()  # only then would asyncio complain of an error that nobody has asked for
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_closing_ends_the_transport_although_a_handler_will_not_let_go(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("handrail.connection.router.CLOSE_GRACE", 0.01)
    began, may_end = asyncio.Event(), asyncio.Event()

    async def stubborn(_: Request) -> None:
        began.set()
        while not may_end.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await may_end.wait()

    async with asyncio.timeout(30):
        async with joined(near={"ask": stubborn}) as (near, far):
            asking = asyncio.create_task(far.connection.request("ask"))
            await began.wait()
            await near.connection.close()
            assert len(near.endings) == 1
            await asyncio.wait([asking])
            assert type(asking.exception()) is Disconnected
        may_end.set()


async def test_a_close_that_is_cancelled_while_a_handler_lets_go_ends_the_transport_too():
    began, letting_go, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(_: Request) -> None:
        began.set()
        try:
            await may_end.wait()
        finally:
            letting_go.set()
            await may_end.wait()

    async with joined(near={"ask": slow}) as (near, far):
        asking = asyncio.create_task(far.connection.request("ask"))
        await began.wait()
        closing = asyncio.create_task(near.connection.close())
        await letting_go.wait()
        closing.cancel()
        await asyncio.wait([asking])
        assert type(asking.exception()) is Disconnected
        may_end.set()
        await asyncio.wait([closing])
        assert closing.cancelled()


async def test_closing_twice_or_at_once_is_closing():
    async with joined() as (near, far):
        endings = await asyncio.gather(near.connection.close(), near.connection.close())
        assert [*endings, await near.connection.close()] == [Ending()] * 3
        assert await far.connection.closed() == Ending()
        assert (near.endings, far.endings) == ([Ending()], [Ending()])


async def test_closing_what_was_never_started_closes_its_transport():
    left, right = memory_pair()
    near = End(left)
    assert await near.connection.closed() == Ending()
    assert await near.connection.close() == Ending()
    assert near.endings == [Ending()]
    with pytest.raises(TransportClosed):
        await right.send(b"hello\n")


async def test_a_handler_may_close_the_connection_it_is_served_by():
    async with asyncio.timeout(30):
        left, right = memory_pair()

        async def leave(_: Request) -> None:
            await near.connection.close()

        near = End(left, {"end_session": leave})
        await near.connection.start()
        await right.send(encode_request("r1", "end_session", {}).raw + b"\n")
        assert await near.connection.closed() == Ending()
        assert await right.receive() == b""
        assert near.endings == [Ending()]
