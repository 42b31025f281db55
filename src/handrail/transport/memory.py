"""Two transports joined in memory."""

from __future__ import annotations

import asyncio

from handrail.transport.base import Ending, Transport, TransportClosed

__all__ = ["MemoryTransport", "memory_pair"]

HIGH_WATER = 1024 * 1024


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Both ends of a connection, for a client and an agent in one process."""
    left, right = MemoryTransport(), MemoryTransport()
    left.other, right.other = right, left
    return left, right


class MemoryTransport(Transport):
    """One end of a pair. Like a pipe, it makes the sender wait while too much is unread."""

    other: MemoryTransport

    def __init__(self) -> None:
        self._inbox = bytearray()
        self._changed = asyncio.Event()
        self._read = asyncio.Event()
        self._ended = False
        self._closed = False

    async def start(self) -> None:
        """Nothing to do."""

    async def receive(self) -> bytes:
        while not self._inbox:
            if self._ended or self._closed:
                return b""
            self._changed.clear()
            await self._changed.wait()
        data = bytes(self._inbox)
        self._inbox.clear()
        self._read.set()
        return data

    async def send(self, data: bytes) -> None:
        other = self.other
        if self._closed or other._closed or other._ended:
            raise TransportClosed("the other end has been closed")
        other._inbox += data
        other._changed.set()
        while len(other._inbox) > HIGH_WATER:
            other._read.clear()
            await other._read.wait()
            if self._closed or other._closed:
                raise TransportClosed("closed before it was read")

    async def end_input(self) -> None:
        self.other._ended = True
        self.other._changed.set()

    async def close(self) -> Ending:
        self._closed = True
        self._changed.set()
        self._read.set()
        self.other._read.set()
        await self.end_input()
        return Ending()
