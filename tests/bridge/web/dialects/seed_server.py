"""A bridge that speaks the early bridge protocol on a free port of this machine, in the process of the test."""

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
from handrail.bridge.session.launch import Cli
from handrail.bridge.store.index_base import SessionRecord
from handrail.bridge.web.devices import Device
from handrail.bridge.web.dialects.ccpocket import Client
from tests.bridge.web.dialects.seed_client import SeedClient, connected

AGENT = Path(sys.executable).with_name("handrail-agent")
SCOPES = ("prompt", "approve")


class Wire:
    """A socket of Starlette's."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket

    async def receive(self) -> str | bytes | None:
        message = await self._websocket.receive()
        return None if message["type"] == "websocket.disconnect" else message.get("text") or message.get("bytes") or ""

    async def send(self, text: str) -> None:
        await self._websocket.send_text(text)

    async def close(self, code: int, reason: str) -> None:
        await self._websocket.close(code, reason)


class SeedServer:
    """A bridge on a port, with a folder for sessions."""

    def __init__(self, bridge: Bridge, url: str, folder: Path, device: Device, token: str) -> None:
        self.bridge, self.url, self.folder, self.device, self.token = bridge, url, folder, device, token

    def client(self, token: str = "") -> AbstractAsyncContextManager[SeedClient]:
        """One more socket."""
        return connected(self.url, token or self.token)

    async def do(self, command: str, **fields: Any) -> dict[str, Any]:
        """A command of somebody else, who may all."""
        everything = frozenset({"view", "prompt", "approve", "admin"})
        encoded, id = json.dumps(fields).encode(), f"{command} {len(fields)} {asyncio.get_running_loop().time()}"
        return json.loads(await self.bridge.commands.do("other", id, command, encoded, by="other", scopes=everything))

    async def quiet_session(self, id: str = "11111111-1111-4111-8111-111111111111") -> SessionHost:
        """A session without a process."""
        fields: dict[str, Any] = {"cwd": str(self.folder), "created": 1, "changed": 1, "conversation": id}
        return await self.bridge.sessions.add(SessionRecord(id=id, state="hibernated", **fields))


@asynccontextmanager
async def serving(base: Path, *, scopes: tuple[str, ...] = SCOPES, **configuration: Any) -> AsyncIterator[SeedServer]:
    """A server whose things are below a folder."""
    folder = base / "work"
    folder.mkdir(exist_ok=True)
    cli = configuration.pop("cli", Cli(str(AGENT), "agent"))
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
        listener.listen()  # who connects before the server is ready waits
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", ws="websockets-sansio"))
        async with bridge:
            device, token = await bridge.access.add_device("phone", "seed", scopes)
            running = asyncio.create_task(server.serve([listener]))
            try:
                yield SeedServer(bridge, f"ws://127.0.0.1:{listener.getsockname()[1]}/", folder, device, token)
            finally:
                server.should_exit = True
                await running


def write_script(monkeypatch: pytest.MonkeyPatch, base: Path, *replies: Any) -> None:
    """What the model says, reply by reply: a block, several, or a reply as a script has it."""

    def reply(given: Any) -> dict[str, Any]:
        if isinstance(given, str):
            return {"blocks": [{"type": "text", "text": given}]}
        return given if isinstance(given, dict) else {"blocks": given}

    path = base / "script.json"
    path.write_text(json.dumps({"replies": [reply(one) for one in replies]}))
    monkeypatch.setenv("HANDRAIL_SCRIPT", str(path))


def calls(tool: str, **input: Any) -> dict[str, Any]:
    """A block: the model calls a tool."""
    return {"type": "tool_use", "name": tool, "input": input}


def bash(command: str) -> dict[str, Any]:
    """A block: the model runs a command."""
    return calls("Bash", command=command, description=command)
