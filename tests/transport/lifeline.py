"""Detects the exit of processes reliably.

A process under test opens the FIFO, writes one byte and keeps it open; however it ends, the kernel closes it.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

HOLD = """
import os, sys
def hold(path):
    os.write(os.open(path, os.O_WRONLY), b"x")
"""
"""Python for the process under test: `hold(path)`."""


class Lifeline:
    """A FIFO held open by any number of processes."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        os.mkfifo(path)
        self._reader = asyncio.StreamReader()
        self._pipe: asyncio.BaseTransport | None = None

    async def __aenter__(self) -> Lifeline:
        end = os.fdopen(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
        protocol = asyncio.StreamReaderProtocol(self._reader)
        self._pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, end)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._pipe
        self._pipe.close()

    async def held_by(self, count: int) -> None:
        """Wait until this many processes hold it."""
        async with asyncio.timeout(30):
            await self._reader.readexactly(count)

    async def let_go(self) -> None:
        """Wait until all of them have exited."""
        async with asyncio.timeout(30):
            assert await self._reader.read() == b""


async def ended(handle: int) -> None:
    """Wait until the process behind a pidfd has exited."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(handle, done.set)
    try:
        async with asyncio.timeout(30):
            await done.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)
