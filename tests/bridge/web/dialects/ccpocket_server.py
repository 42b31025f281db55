"""A bridge with the ccpocket dialect on a free loopback port, in the test process."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from handrail.bridge.configuration import Configuration
from handrail.bridge.server import Bridge
from handrail.bridge.session.host import SessionHost
from handrail.bridge.store.base import SessionRecord
from handrail.bridge.web.devices import Device
from handrail.bridge.web.dialects.ccpocket import Client
from handrail.model_access.choice import CliChoice
from tests.bridge.web.dialects.ccpocket_client import CcpocketClient, connected

AGENT = Path(sys.executable).with_name("handrail-agent")
SCOPES = ("prompt", "approve")


class Wire:
    """A Starlette WebSocket."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket

    async def receive(self) -> str | bytes | None:
        message = await self._websocket.receive()
        return None if message["type"] == "websocket.disconnect" else message.get("text") or message.get("bytes") or ""

    async def send(self, text: str) -> None:
        await self._websocket.send_text(text)

    async def close(self, code: int, reason: str) -> None:
        await self._websocket.close(code, reason)


class CcpocketServer:
    """A running bridge and a folder for its sessions."""

    def __init__(self, bridge: Bridge, url: str, folder: Path, device: Device, token: str) -> None:
        self.bridge, self.url, self.folder, self.device, self.token = bridge, url, folder, device, token

    def client(self, token: str = "") -> AbstractAsyncContextManager[CcpocketClient]:
        """A client on a new socket."""
        return connected(self.url, token or self.token)

    async def do(self, command: str, **fields: Any) -> dict[str, Any]:
        """Run a command as another device with all scopes."""
        scopes = frozenset({"view", "prompt", "approve", "admin"})
        encoded, id = json.dumps(fields).encode(), f"{command} {len(fields)} {asyncio.get_running_loop().time()}"
        return json.loads(await self.bridge.commands.do("other", id, command, encoded, by="other", scopes=scopes))

    async def quiet_session(self, id: str = "11111111-1111-4111-8111-111111111111") -> SessionHost:
        """Add a hibernated session."""
        fields: dict[str, Any] = {"cwd": str(self.folder), "created": 1, "changed": 1, "conversation": id}
        return await self.bridge.sessions.add(SessionRecord(id=id, state="hibernated", **fields))


@asynccontextmanager
async def serving(
    base: Path, *, scopes: tuple[str, ...] = SCOPES, **configuration: Any
) -> AsyncIterator[CcpocketServer]:
    """Serve with all files below `base`."""
    folder = base / "work"
    folder.mkdir(exist_ok=True)
    cli = configuration.pop("cli", CliChoice.fixed(str(AGENT)))
    bridge = Bridge(Configuration(cli=cli, data=base / "data", roots=(folder,), **configuration))

    async def endpoint(websocket: WebSocket) -> None:
        device = bridge.access.device(websocket.headers.get("authorization", "").removeprefix("Bearer "))
        if device is None:
            return await websocket.close(4401)
        await websocket.accept()
        await Client(bridge, device, Wire(websocket)).run()

    app = Starlette(routes=[WebSocketRoute("/", endpoint)])
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()  # a client that connects before uvicorn is ready waits in the backlog
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", ws="websockets-sansio"))
        async with bridge:
            device, token = await bridge.access.add_device("phone", "ccpocket", scopes)
            running = asyncio.create_task(server.serve([listener]))
            try:
                yield CcpocketServer(bridge, f"ws://127.0.0.1:{listener.getsockname()[1]}/", folder, device, token)
            finally:
                server.should_exit = True
                await running


def write_script(monkeypatch: pytest.MonkeyPatch, base: Path, *replies: Any) -> None:
    """Write the model's replies: each is a text, a list of blocks, or an entry of a script."""

    def reply(given: Any) -> dict[str, Any]:
        if isinstance(given, str):
            return {"blocks": [{"type": "text", "text": given}]}
        return given if isinstance(given, dict) else {"blocks": given}

    path = base / "script.json"
    path.write_text(json.dumps({"replies": [reply(one) for one in replies]}))
    monkeypatch.setenv("HANDRAIL_SCRIPT", str(path))


def calls(tool: str, **input: Any) -> dict[str, Any]:
    """A block that calls a tool."""
    return {"type": "tool_use", "name": tool, "input": input}


def bash(command: str) -> dict[str, Any]:
    """A block that runs a command."""
    return calls("Bash", command=command, description=command)
