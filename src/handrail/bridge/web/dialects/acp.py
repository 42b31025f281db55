"""The Agent Client Protocol on a socket: one JSON-RPC message per text frame, with the sessions of this server.

The editor side is the one of `handrail acp --server`. Its client of the native protocol is joined in memory to the
native dialect, so an editor has the scopes of its device, the limits of a socket, and the sessions of the cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from handrail.acp.editors.agent import EditorAgent
from handrail.acp.editors.served import ServerSource
from handrail.bridge.errors import CommandRefused
from handrail.bridge.web.devices import Device
from handrail.bridge.web.dialects import native
from handrail.bridge.web.dialects.base import AcpBackend, Wire
from handrail.bridge_client.base import Unreachable
from handrail.bridge_client.connection import BridgeConnection
from handrail.protocol.lines import LineSplitter
from handrail.transport.base import Ending, Transport, TransportClosed
from handrail.transport.memory import MemoryTransport, memory_pair

__all__ = ["speak_acp"]


async def speak_acp(backend: AcpBackend, device: Device, wire: Wire) -> None:
    """Serve one editor until it disconnects. Its sessions continue."""
    connection = BridgeConnection(_BackendLink(backend, device))
    connecting = asyncio.create_task(connection.run())
    try:
        await EditorAgent(_WireTransport(wire), ServerSource(connection)).run()
    finally:
        connecting.cancel()
        await asyncio.wait([connecting])


class _WireTransport(Transport):
    """A socket whose text frames are the lines of a transport."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def start(self) -> None:
        """Nothing to do."""

    async def receive(self) -> bytes:
        text = await self._wire.receive()
        if text is None:
            return b""
        # A line break between the values of a message is allowed in JSON, and would end the line here.
        return (text.encode() if isinstance(text, str) else text).replace(b"\n", b" ") + b"\n"

    async def send(self, data: bytes) -> None:
        await self._wire.send(data.decode().rstrip("\n"))

    async def end_input(self) -> None:
        await self.close()

    async def close(self) -> Ending:
        await self._wire.close(1000, "")
        return Ending()


class _BackendLink:
    """The way to the server of this process, as one of its devices."""

    def __init__(self, backend: AcpBackend, device: Device) -> None:
        self._backend, self._device = backend, device

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncGenerator[_ClientEnd]:
        """Join a new client of the native dialect."""
        ours, theirs = memory_pair()
        serving = asyncio.create_task(self._serve(theirs))
        try:
            yield _ClientEnd(_Joined(ours))
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    async def _serve(self, transport: MemoryTransport) -> None:
        try:
            await native.Client(self._backend, self._device, _Joined(transport)).run()
        finally:
            await transport.close()

    async def sessions(self, words: str, offset: int, limit: int) -> list[dict[str, Any]]:
        """The list of sessions."""
        lines = await self._backend.sessions.index.lines(archived=False, words=words, limit=limit, offset=offset)
        return [msgspec.to_builtins(line) for line in lines]

    async def event(self, session: str, seq: int) -> bytes:
        """One event, of any size."""
        found = await self._backend.sessions.events.read(session, seq - 1, limit=1)
        return found[0].data if found and found[0].seq == seq else b"{}"

    async def upload(self, image: bytes) -> str:
        """Store an image."""
        if "prompt" not in self._device.scopes:
            raise CommandRefused("forbidden", "images need the scope 'prompt', which this device lacks")
        return await self._backend.uploads.add(image)


class _Joined:
    """One end of the native protocol in memory: a line per message."""

    def __init__(self, transport: MemoryTransport) -> None:
        self._transport, self._splitter = transport, LineSplitter()
        self._lines: deque[bytes] = deque()

    async def receive(self) -> str | bytes | None:
        while not self._lines:
            if not (data := await self._transport.receive()):
                return None
            self._lines += [line for line in self._splitter.feed(data) if isinstance(line, bytes)]
        return self._lines.popleft()

    async def send(self, text: str) -> None:
        with contextlib.suppress(TransportClosed):  # `receive` reports the end
            await self._transport.send(text.encode() + b"\n")

    async def close(self, code: int, reason: str) -> None:
        await self._transport.close()


class _ClientEnd:
    """The end of the client."""

    def __init__(self, joined: _Joined) -> None:
        self.send = joined.send
        self._joined = joined

    async def receive(self) -> str | bytes:
        text = await self._joined.receive()
        if text is None:
            raise Unreachable("the server ended the connection")
        return text
