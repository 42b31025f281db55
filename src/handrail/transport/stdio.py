"""A transport over this process's own stdin and stdout, for the side that was started as a child."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import sys
from collections.abc import Callable

from handrail.transport.base import Ending, Transport, TransportClosed

__all__ = ["StdioTransport"]

CHUNK = 64 * 1024
"""Bytes of one read. glibc maps and unmaps memory for every larger one."""
AT_ONCE = 4096
"""Bytes that a writable pipe accepts without blocking (PIPE_BUF)."""


class StdioTransport(Transport):
    """Uses two file descriptors of any kind: pipes, files or a terminal.

    A descriptor shared with a shell must not be made non-blocking. So it is read only when the loop reports it
    readable, and written only as far as it accepts at once; the rest, and descriptors that the loop cannot watch, are
    handled in threads, which close() wakes. Closed descriptors are redirected to the null device, so that files opened
    later do not get their numbers.
    """

    def __init__(self, input: int | None = None, output: int | None = None) -> None:
        self._input = sys.stdin.fileno() if input is None else input
        self._output = sys.stdout.fileno() if output is None else output
        self._woken, self._wake = os.pipe()
        self._reading: asyncio.Future[bytes] | None = None
        self._watched: asyncio.Future[bytes] | None = None
        self._watching = False
        self._sending = asyncio.Lock()
        self._output_ended = self._output_watched = False
        self._closing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Nothing to do: both descriptors are open."""

    async def receive(self) -> bytes:
        if self._closing is not None:
            return b""
        if self._reading is None or self._reading.cancelled():  # else an earlier receive was cancelled after its read
            self._reading = self._watch() or asyncio.ensure_future(asyncio.to_thread(self._read))
        # A read in a thread cannot be cancelled: its bytes are for the next receive.
        data = await (self._reading if self._reading is self._watched else asyncio.shield(self._reading))
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
            return await asyncio.sleep(0)  # let other tasks run even if every write succeeds at once
        # A cancelled sender must not leave half a line: the thread finishes it before the next send.
        writing = asyncio.ensure_future(asyncio.to_thread(self._write, rest))
        writing.add_done_callback(self._written)
        try:
            await asyncio.shield(writing)
        except OSError as error:
            raise TransportClosed(f"standard output broke: {error}") from error

    def on_output_closed(self, closed: Callable[[], None]) -> None:
        """Call `closed` when the other end of the output was closed. Works for pipes and sockets only."""
        loop = asyncio.get_running_loop()

        def check() -> None:
            poll = select.poll()
            poll.register(self._output, 0)  # hang-ups and errors are always reported
            # Anything else is input, which is not read here and would be reported again and again.
            hung_up = bool(poll.poll(0))
            self._unwatch_output()
            if hung_up:
                closed()

        with contextlib.suppress(OSError, NotImplementedError):  # files are not watched
            if not os.isatty(self._output):
                loop.add_reader(self._output, check)
                self._output_watched = True

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
        self._unwatch()
        async with self._sending:
            self._end_output()
        if self._reading is not None:
            await asyncio.wait([self._reading])
        _redirect_to_null(self._input)
        os.close(self._woken)

    def _unwatch_output(self) -> None:
        if self._output_watched:
            self._output_watched = False
            asyncio.get_running_loop().remove_reader(self._output)

    def _end_output(self) -> None:
        self._unwatch_output()
        if not self._output_ended:
            self._output_ended = True
            _redirect_to_null(self._output)

    def _written(self, writing: asyncio.Future[None]) -> None:
        self._sending.release()
        if not writing.cancelled():
            writing.exception()  # marks it as retrieved: the sender may have been cancelled

    def _watch(self) -> asyncio.Future[bytes] | None:
        """A future for the next bytes; None if the loop cannot watch the descriptor, as for files."""
        loop = asyncio.get_running_loop()
        if not self._watching:
            try:
                loop.add_reader(self._input, self._on_readable)
            except (OSError, NotImplementedError):
                return None
            self._watching = True
        self._watched = loop.create_future()
        return self._watched

    def _on_readable(self) -> None:
        """Read, if a receive waits. Else the descriptor is not watched until the next one."""
        assert self._watched is not None
        if self._watched.done():
            self._unwatch()
        else:
            self._watched.set_result(self._take())

    def _unwatch(self) -> None:
        if self._watching:
            self._watching = False
            asyncio.get_running_loop().remove_reader(self._input)
        if self._watched is not None and not self._watched.done():
            self._watched.set_result(b"")

    def _read(self) -> bytes:
        return self._take() if self._ready(self._input, select.POLLIN) else b""

    def _take(self) -> bytes:
        try:
            return os.read(self._input, CHUNK)
        except OSError:
            return b""

    def _write_at_once(self, view: memoryview) -> memoryview:
        """Write as much as possible without blocking. Returns the rest."""
        poll = select.poll()
        poll.register(self._output, select.POLLOUT)
        while view and poll.poll(0):
            view = view[os.write(self._output, view[:AT_ONCE]) :]
        return view

    def _write(self, view: memoryview) -> None:
        while view:
            if not self._ready(self._output, select.POLLOUT):
                raise BrokenPipeError("closed during a send")
            view = view[os.write(self._output, view[:AT_ONCE]) :]

    def _ready(self, descriptor: int, event: int) -> bool:
        """Wait until the descriptor is ready; False if the transport is closed first."""
        poll = select.poll()
        poll.register(descriptor, event)
        poll.register(self._woken, select.POLLIN)
        return all(ready != self._woken for ready, _ in poll.poll())


def _redirect_to_null(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, descriptor, inheritable=os.get_inheritable(descriptor))
        os.close(null)
