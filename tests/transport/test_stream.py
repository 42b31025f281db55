"""A stream opened by the caller, beyond the conformance suite."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys

import pytest

from handrail.transport.base import Ending, TransportClosed
from handrail.transport.stream import StreamTransport

ECHO = "import os\nwhile data := os.read(0, 65536): os.write(1, data)"


async def connected() -> tuple[StreamTransport, socket.socket]:
    """A transport over TCP on loopback, and the bare socket at the other side."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = StreamTransport(*await asyncio.open_connection(*server.getsockname()))
        far, _ = server.accept()
    return near, far


def reset(far: socket.socket) -> None:
    far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    far.close()


def test_can_control_is_set_by_the_caller():
    async def make() -> bool:
        near, far = socket.socketpair()
        far.close()
        transport = StreamTransport(*await asyncio.open_connection(sock=near), can_control=False)
        await transport.start()
        await transport.close()
        return transport.can_control

    assert asyncio.run(make()) is False


async def test_connection_reset_is_end_of_stream():
    near, far = await connected()
    reset(far)
    async with asyncio.timeout(10):
        assert await near.receive() == b""
        with pytest.raises(TransportClosed):
            await send_for_ever(near)
        assert await near.close() == Ending()


async def test_connection_reset_during_send_raises_closed():
    near, far = await connected()
    sending = asyncio.create_task(send_for_ever(near))
    await asyncio.sleep(0)
    reset(far)
    async with asyncio.timeout(10):
        with pytest.raises(TransportClosed, match="the stream"):
            await sending
        await near.close()


async def send_for_ever(transport: StreamTransport) -> None:
    while True:
        await transport.send(b"x" * 1_000_000)


async def test_pipes_of_a_process_work_as_a_stream():
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", "-c", ECHO, stdin=pipe, stdout=pipe)
    assert child.stdin
    assert child.stdout
    transport = StreamTransport(child.stdout, child.stdin)
    async with asyncio.timeout(30):
        await transport.send(b"hello\n")
        assert await transport.receive() == b"hello\n"
        await transport.end_input()
        assert await transport.receive() == b""
        assert await transport.close() == Ending()
        assert await child.wait() == 0
