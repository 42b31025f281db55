"""A plain client of the early bridge protocol: a WebSocket, JSON, nothing of the package under test."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import websockets
from websockets.asyncio.client import ClientConnection

PATIENCE = 30.0


class SeedClient:
    """One socket. `seen` is all that the server said, in order."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.seen: list[dict[str, Any]] = []
        self._read = 0

    async def send(self, type: str, **fields: Any) -> None:
        await self.send_text(json.dumps({"type": type, **fields}))

    async def send_text(self, text: str | bytes) -> None:
        await self._socket.send(text)

    async def receive(self) -> dict[str, Any]:
        """The next message."""
        async with asyncio.timeout(PATIENCE):
            self.seen.append(json.loads(await self._socket.recv()))
        return self.seen[-1]

    async def until(self, type: str, **fields: Any) -> dict[str, Any]:
        """Read on until a message of this type with these fields; one that was passed over is not found again."""
        while True:
            if self._read == len(self.seen):
                await self.receive()
            message = self.seen[self._read]
            self._read += 1
            if message["type"] == type and fields.items() <= message.items():
                return message

    async def ask(self, type: str, answer: str, **fields: Any) -> dict[str, Any]:
        """Say something, and read on until the answer."""
        await self.send(type, **fields)
        return await self.until(answer)

    async def start(self, folder: object, **fields: Any) -> str:
        """A session. Out: its id, after the server said how it stands."""
        created = await self.ask("start", "system", projectPath=str(folder), **fields)
        assert created["subtype"] == "session_created"
        await self.until("status")
        return created["sessionId"]

    async def quiet(self) -> list[dict[str, Any]]:
        """What comes before the answer to a question asked now: what was sent until then has arrived."""
        before = len(self.seen)
        await self.send("list_sessions")
        while (await self.receive())["type"] != "session_list":
            pass
        self._read = len(self.seen)
        return self.seen[before:-1]

    def break_off(self) -> None:
        """Go without a word."""
        self._socket.transport.abort()

    def of(self, type: str) -> list[dict[str, Any]]:
        """All that was seen of a type."""
        return [message for message in self.seen if message["type"] == type]


@asynccontextmanager
async def connected(url: str, token: str) -> AsyncIterator[SeedClient]:
    """A client on its own socket."""
    headers = {"Authorization": f"Bearer {token}"}
    async with websockets.connect(url, additional_headers=headers, max_size=None, proxy=None) as socket:
        yield SeedClient(socket)
