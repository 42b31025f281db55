"""A transport over a stream that the caller opened: a socket, `ssh host claude …`, `docker exec`."""

from __future__ import annotations

import asyncio
import contextlib

from handrail.transport.base import Ending, Transport, TransportClosed

__all__ = ["StreamTransport"]

CHUNK = 256 * 1024
FLUSH_GRACE = 1.0
"""Seconds that the other side has to read the remaining data at close."""


class StreamTransport(Transport):
    """Uses an asyncio reader and writer and closes them; the caller still owns the process behind them."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, can_control: bool = True) -> None:
        self.can_control = can_control
        self._reader = reader
        self._writer = writer
        self._closed = False
        self._input_ended = False

    async def start(self) -> None:
        """Nothing to do: the stream is open."""

    async def receive(self) -> bytes:
        try:
            return b"" if self._closed else await self._reader.read(CHUNK)
        except OSError:
            return b""

    async def send(self, data: bytes) -> None:
        if self._closed or self._input_ended or self._writer.is_closing():
            raise TransportClosed("the stream has been closed")
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise TransportClosed(f"the stream broke: {error}") from error

    async def end_input(self) -> None:
        self._input_ended = True
        with contextlib.suppress(OSError, NotImplementedError):
            if self._writer.can_write_eof():
                self._writer.write_eof()
            else:
                self._writer.close()

    async def close(self) -> Ending:
        if not self._closed:
            self._closed = True
            self._writer.close()
            try:
                async with asyncio.timeout(FLUSH_GRACE):
                    await self._writer.wait_closed()
            except TimeoutError:  # the other side does not read
                self._writer.transport.abort()
            except OSError:
                pass
            if not self._reader.at_eof():
                self._reader.feed_eof()
        return Ending()
