"""Transports written by the program, and how a session of Handrail uses one."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Any

from handrail.claude_agent_sdk.loops import CallerLoop
from handrail.transport.base import Ending, TransportClosed
from handrail.transport.base import Transport as ByteTransport

__all__ = ["AdaptedTransport", "Transport"]

AHEAD = 64
"""Messages read before the session takes them."""


class Transport(ABC):
    """A connection to a CLI that the program makes itself. Only the handshake carries options over it.

    `write` gets whole lines of JSON. `close` must end by itself, also when the other side does not answer.
    """

    @abstractmethod
    async def connect(self) -> None:
        """Open the connection."""

    @abstractmethod
    async def write(self, data: str) -> None:
        """Send text, in order."""

    @abstractmethod
    def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """The frames of the other side, until it ends. An exception ends the session and reaches its reader."""

    @abstractmethod
    async def close(self) -> None:
        """Release everything."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether it can send."""

    @abstractmethod
    async def end_input(self) -> None:
        """Tell the other side that nothing more will be sent."""


class AdaptedTransport(ByteTransport):
    """A transport of the program in the form that a session uses. Its methods run in the loop of the caller.

    `failure` is the exception that ended `read_messages`.
    """

    def __init__(self, transport: Transport, caller: CallerLoop) -> None:
        self.failure: Exception | None = None
        self._transport = transport
        self._caller = caller
        self._frames: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(AHEAD)
        self._ended = False
        self._closed = False

    async def start(self) -> None:
        await self._caller.call(self._transport.connect)
        self._caller.spawn(self._read)

    async def _read(self) -> None:
        """Runs in the loop of the caller, as one task: `read_messages` may be a generator that needs that."""
        try:
            async for frame in self._transport.read_messages():
                await self._caller.run(self._frames.put, frame)
        except Exception as error:
            self.failure = error
        await self._caller.run(self._frames.put, None)

    async def receive(self) -> bytes:
        frame = None if self._ended else await self._frames.get()
        if frame is None:
            self._ended = True
            return b""
        return json.dumps(frame).encode() + b"\n"

    async def send(self, data: bytes) -> None:
        if self._closed or not self._transport.is_ready():
            raise TransportClosed("the transport cannot send")
        # Frames of Handrail are UTF-8; what cannot be decoded was a lone surrogate of the program's own text.
        await self._caller.call(self._transport.write, data.decode("utf-8", "replace"))

    async def end_input(self) -> None:
        await self._caller.call(self._transport.end_input)

    async def close(self) -> Ending:
        if not self._closed:
            self._closed = True
            await self._caller.call(self._transport.close)
            if not self._ended:
                self._ended = True
                while not self._frames.empty():
                    self._frames.get_nowait()
                self._frames.put_nowait(None)
        return Ending()
