"""How a connection ends, and who is notified."""

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


async def test_end_of_stream_fails_pending_requests():
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


async def test_pending_requests_get_the_ending():
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


async def test_send_after_the_end_reports_the_ending():
    async with alone() as (near, far):
        far._closed = True  # closed, but the end of stream has not arrived yet
        sending = asyncio.create_task(near.connection.send(encode_message({"type": "user"})))
        await asyncio.sleep(0)
        await far.close()
        with pytest.raises(Disconnected):
            await sending
        assert near.connection.ending == Ending()


async def test_send_before_the_start_to_a_closed_side_is_disconnected():
    left, right = memory_pair()
    await right.close()
    with pytest.raises(Disconnected):
        await End(left).connection.send(encode_message({"type": "user"}))


async def test_blocked_request_is_freed_by_the_end(
    caplog: pytest.LogCaptureFixture,
):
    async with alone() as (near, far):
        asking = asyncio.create_task(near.connection.request("set_model", {"model": "x" * HIGH_WATER}))
        await asyncio.sleep(0)
        await far.close()
        await asyncio.wait([asking])
        assert type(asking.exception()) is Disconnected
        del asking
    gc.collect()  # only then would asyncio report an exception that was never retrieved
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_close_closes_the_transport_despite_a_stubborn_handler(monkeypatch: pytest.MonkeyPatch):
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


async def test_cancelled_close_closes_the_transport():
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


async def test_close_is_idempotent():
    async with joined() as (near, far):
        endings = await asyncio.gather(near.connection.close(), near.connection.close())
        assert [*endings, await near.connection.close()] == [Ending()] * 3
        assert await far.connection.closed() == Ending()
        assert (near.endings, far.endings) == ([Ending()], [Ending()])


async def test_closing_an_unstarted_connection_closes_its_transport():
    left, right = memory_pair()
    near = End(left)
    assert await near.connection.closed() == Ending()
    assert await near.connection.close() == Ending()
    assert near.endings == [Ending()]
    with pytest.raises(TransportClosed):
        await right.send(b"hello\n")


async def test_handler_can_close_its_connection():
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
