"""Our own standard input and output, for the side that was started by somebody else. In: stdin. Out: stdout."""

from __future__ import annotations

import asyncio
import os
import sys

from handrail.transport.base import Ending, Transport, TransportClosed

__all__ = ["StdioTransport"]

CHUNK = 256 * 1024


class StdioTransport(Transport):
    """Speaks over the two file descriptors that this process was given, whatever they are: pipes, files or a terminal.

    Reads and writes run in threads of their own: a descriptor shared with a shell must not be made non-blocking.
    """

    def __init__(self, input: int | None = None, output: int | None = None) -> None:
        self._input = sys.stdin.fileno() if input is None else input
        self._output = sys.stdout.fileno() if output is None else output
        self._sending = asyncio.Lock()
        self._closed = False

    async def start(self) -> None:
        """Nothing to do: both are open."""

    async def receive(self) -> bytes:
        return b"" if self._closed else await asyncio.to_thread(os.read, self._input, CHUNK)

    async def send(self, data: bytes) -> None:
        async with self._sending:
            if self._closed:
                raise TransportClosed("standard output has been closed")
            try:
                await asyncio.to_thread(_write_all, self._output, data)
            except OSError as error:
                raise TransportClosed(f"standard output broke: {error}") from error

    async def end_input(self) -> None:
        await self.close()

    async def close(self) -> Ending:
        if not self._closed:
            async with self._sending:
                self._closed = True
                os.close(self._output)
        return Ending()


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
