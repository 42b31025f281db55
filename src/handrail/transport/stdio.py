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

    A descriptor shared with a shell must not be made non-blocking. So it is read when the loop says that there is
    something, and written as far as it takes at once; what is left, and what the loop cannot watch, is done in threads,
    which closing wakes. Afterwards both descriptors lead to the null device, so that no file opened later takes their
    place.
    """

    def __init__(self, input: int | None = None, output: int | None = None) -> None:
        self._input = sys.stdin.fileno() if input is None else input
        self._output = sys.stdout.fileno() if output is None else output
        self._woken, self._wake = os.pipe()
        self._reading: asyncio.Future[bytes] | None = None
        self._watched: asyncio.Future[bytes] | None = None
        self._sending = asyncio.Lock()
        self._output_ended = False
        self._closing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Nothing to do: both are open."""

    async def receive(self) -> bytes:
        if self._closing is not None:
            return b""
        if self._reading is None:  # else a receive was cancelled: what it waited for comes now
            self._reading = self._watch() or asyncio.ensure_future(asyncio.to_thread(self._read))
        data = await asyncio.shield(self._reading)
        self._reading = None
        return data

    async def send(self, data: bytes) -> None:
        await self._sending.acquire()
        if self._output_ended or self._closing is not None:
            self._sending.release()
            raise TransportClosed("standard output has been closed")
        try:
            rest = self._write_at_once(memoryview(data))
        except OSError as error:
            self._sending.release()
            raise TransportClosed(f"standard output broke: {error}") from error
        if not rest:
            self._sending.release()
            return await asyncio.sleep(0)  # whoever says much must let the others have their turn
        # A sender that is cancelled must not leave half a line: the thread writes on, and only then comes the next.
        writing = asyncio.ensure_future(asyncio.to_thread(self._write, rest))
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
        self._unwatch(b"")
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

    def _watch(self) -> asyncio.Future[bytes] | None:
        """The next bytes, where the loop can tell when there are any: not of a file."""
        loop = asyncio.get_running_loop()
        try:
            loop.add_reader(self._input, lambda: self._unwatch(self._take()))
        except (OSError, NotImplementedError):
            return None
        self._watched = loop.create_future()
        return self._watched

    def _unwatch(self, data: bytes) -> None:
        watched, self._watched = self._watched, None
        if watched is not None:
            watched.get_loop().remove_reader(self._input)
            if not watched.done():
                watched.set_result(data)

    def _read(self) -> bytes:
        return self._take() if self._ready(self._input, select.POLLIN) else b""

    def _take(self) -> bytes:
        try:
            return os.read(self._input, CHUNK)
        except OSError:
            return b""

    def _write_at_once(self, view: memoryview) -> memoryview:
        """Write what is taken without waiting. Out: the rest."""
        poll = select.poll()
        poll.register(self._output, select.POLLOUT)
        while view and poll.poll(0):
            view = view[os.write(self._output, view[:AT_ONCE]) :]
        return view

    def _write(self, view: memoryview) -> None:
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
