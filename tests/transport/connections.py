"""Connected transports of every kind, each with its far end; the caller closes both."""

from __future__ import annotations

import asyncio
import io
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from handrail.transport.base import Transport
from handrail.transport.memory import memory_pair
from handrail.transport.prewarmed import PrewarmedTransport
from handrail.transport.process import ProcessTransport
from handrail.transport.recording import RecordingTransport
from handrail.transport.start_message import Start
from handrail.transport.stdio import StdioTransport
from handrail.transport.stream import StreamTransport

# A child that connects its pipes to a socket, so that a test can be the other side. It drops the first bytes it gets.
RELAY = """
import os, socket, sys, threading
far = socket.socket(socket.AF_UNIX)
far.connect(sys.argv[1])
os.read(0, int(sys.argv[2]))
def inward():
    while data := os.read(0, 65536):
        far.sendall(data)
    far.shutdown(socket.SHUT_WR)
threading.Thread(target=inward, daemon=True).start()
while data := far.recv(65536):
    while data:
        data = data[os.write(1, data):]
"""


@asynccontextmanager
async def memory() -> AsyncIterator[tuple[Transport, Transport]]:
    yield memory_pair()


@asynccontextmanager
async def recorded() -> AsyncIterator[tuple[Transport, Transport]]:
    near, far = memory_pair()
    recording = RecordingTransport(near, io.BytesIO())
    await recording.start()
    yield recording, far


@asynccontextmanager
async def stream() -> AsyncIterator[tuple[Transport, Transport]]:
    left, right = socket.socketpair()
    near = StreamTransport(*await asyncio.open_connection(sock=left))
    yield near, StreamTransport(*await asyncio.open_connection(sock=right))


@asynccontextmanager
async def stdio() -> AsyncIterator[tuple[Transport, Transport]]:
    downward, upward = os.pipe(), os.pipe()
    near, far = StdioTransport(downward[0], upward[1]), StdioTransport(upward[0], downward[1])
    try:
        yield near, far
    finally:
        await near.close()
        await far.close()
        for descriptor in (*downward, *upward):
            os.close(descriptor)


@asynccontextmanager
async def process() -> AsyncIterator[tuple[Transport, Transport]]:
    async with _relayed() as (near, far):
        yield near, far


@asynccontextmanager
async def prewarmed() -> AsyncIterator[tuple[Transport, Transport]]:
    start = Start("/", ["--flag"])
    async with _relayed(dropped=len(start.encode())) as (waiting, far):
        near = PrewarmedTransport(waiting, start, lambda: waiting)
        await near.start()
        yield near, far


@asynccontextmanager
async def _relayed(dropped: int = 0) -> AsyncIterator[tuple[ProcessTransport, Transport]]:
    with tempfile.TemporaryDirectory() as folder:
        path, arrived = str(Path(folder) / "far"), asyncio.get_running_loop().create_future()
        server = await asyncio.start_unix_server(lambda *streams: arrived.set_result(streams), path)
        command = [sys.executable, "-I", "-S", "-c", RELAY, path, str(dropped)]
        near = ProcessTransport(command, env={}, eof_grace=0.1, term_grace=5.0)
        try:
            await near.start()
            yield near, StreamTransport(*await arrived)
        finally:
            await near.close()
            server.close()
