"""Our own standard input and output, for the side that was started by somebody else. In: stdin. Out: stdout."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import sys

from handrail.transport.base import Ending, Transport, TransportClosed

__all__ = ["StdioTransport"]

CHUNK = 256 * 1024
AT_ONCE = 4096
"""As much as a pipe that is ready takes without making the writer wait (PIPE_BUF)."""


class StdioTransport(Transport):
    """Speaks over the two file descriptors that this process was given, whatever they are: pipes, files or a terminal.

    Reads and writes run in threads: a descriptor shared with a shell must not be made non-blocking. Closing wakes them.
    Afterwards both descriptors lead to the null device, so that no file opened later takes their place.
    """

    def __init__(self, input: int | None = None, output: int | None = None) -> None:
        self._input = sys.stdin.fileno() if input is None else input
        self._output = sys.stdout.fileno() if output is None else output
        self._woken, self._wake = os.pipe()
        self._reading: asyncio.Future[bytes] | None = None
        self._sending = asyncio.Lock()
        self._output_ended = False
        self._closing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Nothing to do: both are open."""

    async def receive(self) -> bytes:
        if self._closing is not None:
            return b""
        if self._reading is None:  # else a receive was cancelled: what it waited for comes now
            self._reading = asyncio.ensure_future(asyncio.to_thread(self._read))
        data = await asyncio.shield(self._reading)
        self._reading = None
        return data

    async def send(self, data: bytes) -> None:
        await self._sending.acquire()
        if self._output_ended or self._closing is not None:
            self._sending.release()
            raise TransportClosed("standard output has been closed")
        # A sender that is cancelled must not leave half a line: the thread writes on, and only then comes the next.
        writing = asyncio.ensure_future(asyncio.to_thread(self._write, data))
        writing.add_done_callback(self._written)
        try:
            await asyncio.shield(writing)
        except OSError as error:
            raise TransportClosed(f"standard output broke: {error}") from error

    async def end_input(self) -> None:
        async with self._sending:
            self._end_output()

    async def close(self) -> Ending:
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)
        return Ending()

    async def _close(self) -> None:
        os.close(self._wake)
        async with self._sending:
            self._end_output()
        if self._reading is not None:
            await asyncio.wait([self._reading])
        _let_go(self._input)
        os.close(self._woken)

    def _end_output(self) -> None:
        if not self._output_ended:
            self._output_ended = True
            _let_go(self._output)

    def _written(self, writing: asyncio.Future[None]) -> None:
        self._sending.release()
        if not writing.cancelled():
            writing.exception()  # whoever was cancelled does not ask for it any more

    def _read(self) -> bytes:
        if not self._ready(self._input, select.POLLIN):
            return b""
        try:
            return os.read(self._input, CHUNK)
        except OSError:
            return b""

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            if not self._ready(self._output, select.POLLOUT):
                raise BrokenPipeError("closed while somebody was sending")
            view = view[os.write(self._output, view[:AT_ONCE]) :]

    def _ready(self, descriptor: int, event: int) -> bool:
        """Wait until it can be read or written. Out: false where this is closed first."""
        poll = select.poll()
        poll.register(descriptor, event)
        poll.register(self._woken, select.POLLIN)
        return all(ready != self._woken for ready, _ in poll.poll())


def _let_go(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, descriptor, inheritable=os.get_inheritable(descriptor))
        os.close(null)
