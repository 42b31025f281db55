"""The open sockets, by device. A socket is closed when its device is revoked."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import Final

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from handrail.bridge.web.devices import Device
from handrail.bridge.web.rate_limits import Rate

__all__ = ["REVOKED", "SocketWire", "Sockets"]

HELLO_SECONDS: Final = 10.0
MOST_SOCKETS: Final = 256
MESSAGES: Final = (2000, 20.0)
"""Messages and seconds: the rate limit of one socket."""
ENDING_SECONDS: Final = 2.0
REVOKED: Final = (4401, "this device was revoked")
SILENT, TOO_FAST, FAILED = 4401, 4429, 1011
"""Close codes."""


class Sockets:
    """All open sockets of the server."""

    def __init__(self) -> None:
        self._open: dict[str, set[SocketWire]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def full(self, device: Device) -> bool:
        """Whether a device has reached its limit of open sockets."""
        return len(self._open.get(device.id, ())) >= MOST_SOCKETS

    def _remove(self, device: Device, wire: SocketWire) -> None:
        left = self._open.get(device.id, set())
        left.discard(wire)
        if not left:
            self._open.pop(device.id, None)

    async def serve(self, device: Device, wire: SocketWire, speaking: Awaitable[None]) -> None:
        """Run a dialect until either side closes. After a close by the server it has ENDING_SECONDS to finish."""
        self._open.setdefault(device.id, set()).add(wire)
        task, ended = asyncio.ensure_future(speaking), asyncio.ensure_future(wire.ended.wait())
        try:
            await asyncio.wait([task, ended], return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                await asyncio.wait([task], timeout=ENDING_SECONDS)
        finally:
            for one in (task, ended):
                one.cancel()
            results = await asyncio.gather(task, ended, return_exceptions=True)
            self._remove(device, wire)
        if isinstance(results[0], Exception) and not isinstance(results[0], WebSocketDisconnect):
            await wire.close(FAILED, "internal server error; see the server's log")
            raise results[0]

    def revoked(self, device: str) -> None:
        """Close all sockets of a device."""
        for wire in list(self._open.get(device, ())):
            task = asyncio.ensure_future(wire.close(*REVOKED))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


class SocketWire:
    """A socket as dialects see it: text in, text out. `hello`: the first message must arrive within HELLO_SECONDS."""

    def __init__(self, websocket: WebSocket, *, hello: bool = False) -> None:
        self._websocket, self._hello = websocket, HELLO_SECONDS if hello else None
        self._writing = asyncio.Lock()
        self._rate = Rate(MESSAGES)
        self.ended = asyncio.Event()
        """Set once the server has closed the socket."""

    async def receive(self) -> str | bytes | None:
        """The next message; None once either side has closed."""
        if self.ended.is_set():
            return None
        hello, self._hello = self._hello, None
        try:
            async with asyncio.timeout(hello):
                message = await self._websocket.receive()
        except TimeoutError:
            await self.close(SILENT, "no message was received")
            return None
        except (WebSocketDisconnect, RuntimeError):
            return None
        if message["type"] == "websocket.disconnect" or self.ended.is_set():
            return None
        if self._rate.take(""):
            await self.close(TOO_FAST, "too many messages")
            return None
        return message.get("text") or message.get("bytes") or ""

    async def send(self, text: str) -> None:
        """Send one message; waits while the client does not read."""
        async with self._writing:
            if self._websocket.application_state is WebSocketState.CONNECTED and not self.ended.is_set():
                await self._websocket.send_text(text)

    async def close(self, code: int, reason: str) -> None:
        """Close the socket. A message that the client does not read does not delay this."""
        if self.ended.is_set():
            return
        self.ended.set()
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await self._websocket.close(code, reason)
