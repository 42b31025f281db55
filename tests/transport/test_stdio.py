"""The transport over our own stdin and stdout, beyond the conformance suite."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.transport.base import TransportClosed
from handrail.transport.process import ProcessTransport
from handrail.transport.stdio import StdioTransport

# Closes the transport while its stdin is open, opens a file, prints and exits.
LEAVES_BY_ITSELF = """
import asyncio, os, sys
from handrail.transport.stdio import StdioTransport
async def main():
    transport = StdioTransport()
    receiving = asyncio.create_task(transport.receive())
    await transport.send(b"hello\\n")
    assert await asyncio.shield(receiving) == b"leave\\n"
    receiving = asyncio.create_task(transport.receive())
    await asyncio.sleep(0)
    await transport.close()
    assert await receiving == b""
asyncio.run(main())
kept = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
print("this goes nowhere", flush=True)
sys.exit(5)
"""


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


async def test_process_can_close_its_stdio_and_exit(tmp_path: Path):
    later = tmp_path / "opened later"
    child = ProcessTransport([sys.executable, "-c", LEAVES_BY_ITSELF, str(later)])
    await child.start()
    try:
        async with asyncio.timeout(60):
            assert await child.receive() == b"hello\n"
            await child.send(b"leave\n")
            assert await child.receive() == b""
            ending = await child.close()
        assert (ending.code, ending.stderr, later.read_bytes()) == (5, "", b"")
    finally:
        await child.close()


async def test_files_work_like_pipes(tmp_path: Path):
    (tmp_path / "in").write_bytes(b"from a file\n")
    source, target = os.open(tmp_path / "in", os.O_RDONLY), os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    transport = StdioTransport(source, target)
    await transport.start()
    async with asyncio.timeout(10):
        assert [await transport.receive(), await transport.receive()] == [b"from a file\n", b""]
        await transport.send(b"to a file\n")
        await transport.close()
    os.close(source)
    os.close(target)
    assert (tmp_path / "out").read_bytes() == b"to a file\n"


async def test_closed_descriptors_stay_occupied(pipe: tuple[int, int]):
    source = os.dup(pipe[0])
    transport = StdioTransport(source, pipe[1])
    await transport.close()
    assert os.read(source, 1) == b""  # the null device
    assert os.write(pipe[1], b"into the void") == 13
    assert not os.get_inheritable(pipe[1])
    os.close(source)


async def test_unreadable_input_is_end_of_stream(pipe: tuple[int, int]):
    folder = os.open("/", os.O_RDONLY)
    transport = StdioTransport(folder, pipe[1])
    assert await transport.receive() == b""
    await transport.close()
    os.close(folder)


async def test_unwritable_output_raises_closed(pipe: tuple[int, int]):
    null = os.open(os.devnull, os.O_RDONLY)
    transport = StdioTransport(pipe[0], null)
    with pytest.raises(TransportClosed, match="standard output broke: .*Bad file descriptor"):
        await transport.send(b"hello\n")
    await transport.close()
    os.close(null)


@pytest.mark.parametrize("passes", range(5))
async def test_cancelled_receives_lose_no_bytes(pipe: tuple[int, int], passes: int):
    transport = StdioTransport(pipe[0], pipe[1])
    async with asyncio.timeout(10):
        receiving = asyncio.create_task(transport.receive())
        await asyncio.sleep(0)
        os.write(pipe[1], b"first, ")
        for _ in range(passes):  # cancelled before the bytes are read, after it, and after they were delivered
            await asyncio.sleep(0)
        receiving.cancel()
        (result,) = await asyncio.gather(receiving, return_exceptions=True)
        found = result if isinstance(result, bytes) else b""
        os.write(pipe[1], b"last")
        while not found.endswith(b"last"):
            found += await transport.receive()
        assert found == b"first, last"
        await transport.close()


@pytest.mark.parametrize("kind", ["pipe", "socket"])
async def test_a_closed_reader_is_reported(kind: str):
    ours, theirs = socket.socketpair() if kind == "socket" else (None, None)
    reader, writer = (theirs.detach(), ours.detach()) if ours and theirs else os.pipe()
    source, unused = os.pipe()
    closed = asyncio.Event()
    transport = StdioTransport(source, writer)
    transport.on_output_closed(closed.set)
    await transport.send(b"line\n")
    assert not closed.is_set()
    os.close(reader)
    async with asyncio.timeout(10):
        await closed.wait()
    await transport.close()
    for descriptor in (source, unused, writer):
        os.close(descriptor)


async def test_input_on_the_output_does_not_close_it():
    ours, theirs = socket.socketpair()
    source, unused = os.pipe()
    closed = asyncio.Event()
    transport = StdioTransport(source, ours.fileno())
    transport.on_output_closed(closed.set)
    theirs.send(b"noise")
    await transport.send(b"line\n")
    assert theirs.recv(5) == b"line\n"
    assert not closed.is_set()
    await transport.close()
    for each in (ours, theirs):
        each.close()
    for descriptor in (source, unused):
        os.close(descriptor)
