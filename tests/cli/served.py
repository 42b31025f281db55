"""Runs `handrail serve` as a process and connects to it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import websockets

from tests.bridge.powerless import powerless
from tests.cli.command import HANDRAIL, PATIENCE


class Server:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], lines: list[str]) -> None:
        self.process, self.lines = process, lines
        self.address = lines[0].split()[3]
        self.link = lines[-1].removeprefix("Open ")

    def browser(self) -> httpx2.Client:
        """A browser that has opened nothing yet."""
        return httpx2.Client(base_url=self.address, headers={"origin": self.address})

    def lets_in(self, client: httpx2.Client) -> bool:
        """Open the link."""
        return client.post("/api/login", json={"link": self.link.partition("#link=")[2]}).status_code == 200

    def ends(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal. Returns the exit code and stderr."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, errors


@contextlib.contextmanager
def serving(
    folder: Path, *arguments: object, port: object = 0, program: Sequence[str] = HANDRAIL, **environment: str
) -> Iterator[Server]:
    command = [
        *powerless(*program),
        "serve",
        "--data",
        str(folder / "data"),
        "--root",
        str(folder),
        *map(str, arguments),
    ]
    command += [] if port is None else ["--port", str(port)]
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, env={**os.environ, **environment}, **pipes)
    try:
        assert process.stdout is not None
        lines: list[str] = []
        while not (lines and lines[-1].startswith("Open ")):
            line = process.stdout.readline().rstrip("\n")
            assert line, process.communicate(timeout=PATIENCE)
            lines.append(line)
        yield Server(process, lines)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


async def answers(server: Server, client: httpx2.Client, folder: Path) -> list[dict[str, Any]]:
    """Start a session with a prompt. Returns its events up to the result."""
    ticket = client.post("/api/tickets", json={}).json()["ticket"]
    address = f"{server.address.replace('http', 'ws', 1)}/ws"
    offered = [websockets.Subprotocol("handrail.v1"), websockets.Subprotocol(f"ticket.{ticket}")]
    cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    headers = {"cookie": cookies}
    async with (
        asyncio.timeout(PATIENCE),
        websockets.connect(
            address, subprotocols=offered, origin=websockets.Origin(server.address), additional_headers=headers
        ) as wire,
    ):

        async def say(**message: Any) -> None:
            await wire.send(json.dumps(message))

        await say(type="hello", protocol=1)
        await say(type="visible", visible=True)
        await say(type="command", id="one", command="start", fields={"cwd": str(folder), "prompt": "hello"})
        events: list[dict[str, Any]] = []
        async for text in wire:
            said = json.loads(text)
            if said["type"] == "receipt":
                await say(type="subscribe", session=said["result"]["session"]["id"], after=0)
            events += said["events"] if said["type"] == "events" else []
            if any(event["kind"] == "frame" and event["data"]["type"] == "result" for event in events):
                return events
    raise AssertionError("the server closed the socket")
