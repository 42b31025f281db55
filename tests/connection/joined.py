"""Two connections joined in memory, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from handrail.connection import Connection, Handler
from handrail.protocol.frames import Frame, Message
from handrail.transport.base import Ending, Transport
from handrail.transport.memory import MemoryTransport, memory_pair


class End:
    """One end, and everything it received."""

    def __init__(self, transport: Transport, handlers: Mapping[str, Handler] | None = None, **options: Any) -> None:
        self.batches: list[list[Message]] = []
        self.endings: list[Ending] = []
        self.seen: list[tuple[str, Frame]] = []
        self._arrived = asyncio.Event()
        self.connection = Connection(
            transport, on_messages=self._take, handlers=handlers, on_end=self.endings.append, **options
        )
        self.connection.tap = lambda direction, frame: self._see(direction, frame)

    @property
    def messages(self) -> list[Message]:
        """All received messages, in order."""
        return [message for batch in self.batches for message in batch]

    def received(self, kind: type[Frame]) -> list[Any]:
        """All received frames of a type."""
        return [frame for direction, frame in self.seen if direction == "out" and isinstance(frame, kind)]

    async def until(self, kind: type[Frame], count: int = 1) -> list[Any]:
        """Wait until `count` frames of a type have been received."""
        while len(found := self.received(kind)) < count:
            self._arrived.clear()
            await self._arrived.wait()
        return found

    def _take(self, messages: list[Message]) -> None:
        self.batches.append(messages)

    def _see(self, direction: str, frame: Frame) -> None:
        self.seen.append((direction, frame))
        self._arrived.set()


@asynccontextmanager
async def joined(
    near: Mapping[str, Handler] | None = None, far: Mapping[str, Handler] | None = None, **options: Any
) -> AsyncIterator[tuple[End, End]]:
    """Both ends, started with these handlers."""
    left, right = memory_pair()
    ends = End(left, near, **options), End(right, far)
    async with asyncio.timeout(30):
        for end in ends:
            await end.connection.start()
        yield ends
        for end in ends:
            await end.connection.close()


@asynccontextmanager
async def alone(
    handlers: Mapping[str, Handler] | None = None, **options: Any
) -> AsyncIterator[tuple[End, MemoryTransport]]:
    """One started end, and the bare transport at the other side."""
    left, right = memory_pair()
    end = End(left, handlers, **options)
    async with asyncio.timeout(30):
        await end.connection.start()
        yield end, right
        await end.connection.close()
