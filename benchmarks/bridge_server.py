"""A bridge process under measurement, and clients of it."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import websockets

from benchmarks.workbench import PROGRAMS, Workbench

__all__ = ["BridgeServer", "Talk", "bridge_server", "talk_with"]

PATIENCE = 300.0


class BridgeServer:
    """A running server."""

    def __init__(self, process: asyncio.subprocess.Process, ready: dict[str, Any], folder: Path) -> None:
        self._process, self._ready, self.folder = process, ready, folder

    @property
    def address(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._ready['port']}"

    @property
    def token(self) -> str:
        """The token of a device with all scopes."""
        return self._ready["token"]

    def cpu(self) -> float:
        """CPU seconds of all its threads, without its children."""
        return time.clock_gettime((~self._process.pid << 3) | 2)

    def resident(self) -> float:
        """Resident memory without its children, in MiB."""
        fields = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in fields if line.startswith("VmRSS:"))

    @asynccontextmanager
    async def talk(self) -> AsyncGenerator[Talk]:
        """A connected client."""
        async with talk_with(self._ready["port"], self._ready["token"]) as one:
            yield one

    async def get(self, path: str) -> tuple[float, bytes]:
        """Send an HTTP request. Returns the seconds from the request to the last byte, and the body."""
        port, token = self._ready["port"], self._ready["token"]
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
        begun = time.monotonic()
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
        writer.write(head.encode())
        headers = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = next(line for line in headers.splitlines() if line.startswith("content-length:"))
        body = await reader.readexactly(int(length.partition(":")[2]))
        taken = time.monotonic() - begun
        writer.close()
        if " 200 " not in headers.splitlines()[0]:
            raise RuntimeError(f"{path}: {body[:300]!r}")
        return taken, body

    @asynccontextmanager
    async def relay(self, say: str, *, kept: bool) -> AsyncGenerator[Any]:
        """A connection to the bare relay."""
        more = "&kept=1" if kept else ""
        async with _connect(self._ready["relay"], f"relay?say={say.replace(' ', '%20')}{more}") as link:
            yield link


def _connect(port: int, path: str, **options: Any) -> Any:
    fixed: dict[str, Any] = {"compression": None, "max_size": None, "max_queue": None, "proxy": None}
    return websockets.connect(f"ws://127.0.0.1:{port}/{path}", **fixed, **options)


class Talk:
    """One client."""

    _ids = itertools.count(1)

    def __init__(self, link: Any) -> None:
        self.link = link

    async def say(self, **line: Any) -> None:
        """Send a message."""
        await self.link.send(json.dumps(line))

    async def hear(self, kind: str) -> Any:
        """Wait for the next message of a type; others are skipped."""
        async with asyncio.timeout(PATIENCE):
            while (line := json.loads(await self.link.recv()))["type"] != kind:
                pass
        return line

    async def command(self, command: str, **fields: Any) -> Any:
        """Run a command and return its result."""
        await self.say(type="command", id=f"b{next(self._ids)}", command=command, fields=fields)
        receipt = await self.hear("receipt")
        if not receipt["ok"]:
            raise RuntimeError(f"{command}: {receipt['error']}")
        return receipt["result"]

    async def start(self, folder: Path) -> str:
        """Start a session and return its id."""
        return (await self.command("start", cwd=str(folder)))["session"]["id"]


@asynccontextmanager
async def talk_with(port: int, token: str) -> AsyncGenerator[Talk]:
    """A connected client of any server."""
    headers = {"Authorization": f"Bearer {token}"}
    async with _connect(port, "ws", subprotocols=["handrail.v1"], additional_headers=headers) as link:
        one = Talk(link)
        await one.say(type="hello", protocol=1)
        await one.hear("hello")
        yield one


@asynccontextmanager
async def bridge_server(bench: Workbench, name: str, **options: Any) -> AsyncGenerator[BridgeServer]:
    """A server with the paced CLI; `options` are those of serve_bridge.py."""
    folder = bench.folder / name
    folder.mkdir()
    cli = folder / "cli"
    cli.write_text(f'#!/bin/sh\nexec "{bench.ours}" -I -S "{PROGRAMS / "paced_cli.py"}" "$@"\n')
    cli.chmod(0o700)
    words = json.dumps({"folder": str(folder), "cli": str(cli), **options})
    command = (bench.ours, str(PROGRAMS / "serve_bridge.py"), words)
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=log, env={"HOME": str(folder), "PATH": "/usr/bin:/bin"}
        )
    try:
        assert process.stdout is not None
        ready = await process.stdout.readline()
        if not ready:
            raise RuntimeError(f"the bridge did not start: {(folder / 'log').read_text()[-2000:]}")
        yield BridgeServer(process, json.loads(ready), folder)
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            async with asyncio.timeout(30):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
