"""A server without sockets: tests run commands on it and view the events.

async with stage(tmp_path, write_cli(tmp_path, script)) as on:
    session = await on.start(prompt="Hello")
    async with on.viewer(session) as viewer:
        await viewer.until_state("idle")
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from handrail.bridge.configuration import Configuration
from handrail.bridge.server import Bridge
from handrail.bridge.session.host import SessionHost
from handrail.bridge.web.devices import Device
from handrail.bridge.web.dialects.native import Client
from handrail.model_access.choice import CliChoice

Json = dict[str, Any]
AGENT = str(Path(sys.executable).with_name("handrail-agent"))
SCOPES = frozenset({"view", "prompt", "approve", "admin"})
PATIENCE = 30
"""Seconds after which a test is considered hung; no test waits for time to pass."""
_numbers = count()


class Refused(Exception):
    """A command was refused; `code` is the error code."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class MemoryWire:
    """Both ends of a socket. While `reads` is cleared, the client does not read."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[str | None] = asyncio.Queue()
        self.heard: list[Json] = []
        self.changed = asyncio.Event()
        self.reads = asyncio.Event()
        self.reads.set()
        self.closed: tuple[int, str] | None = None
        self.longest = 0

    async def receive(self) -> str | None:
        return await self.said.get()

    async def send(self, text: str) -> None:
        await self.reads.wait()
        self.longest = max(self.longest, len(text.encode()))
        self.heard.append(json.loads(text))
        self.changed.set()

    async def close(self, code: int, reason: str) -> None:
        self.closed = (code, reason)
        self.changed.set()


class Viewer:
    """A client of the native protocol."""

    def __init__(self) -> None:
        self.wire = MemoryWire()

    def say(self, type: str, **fields: Any) -> None:
        self.wire.said.put_nowait(json.dumps({"type": type, **fields}))

    @property
    def events(self) -> list[Json]:
        """All events so far, of all sessions; persisted ones have a seq."""
        return [event for line in self.wire.heard if line["type"] == "events" for event in line["events"]]

    @property
    def kept(self) -> list[Json]:
        return [event for event in self.events if "seq" in event]

    def of(self, kind: str) -> list[Json]:
        """The data of the events of one kind; very large events come without data and are omitted."""
        return [event["data"] for event in self.events if event["kind"] == kind and "data" in event]

    def frames(self, type: str) -> list[Json]:
        return [line for line in self.of("frame") if line["type"] == type]

    @property
    def states(self) -> list[str]:
        return [state["state"] for state in self.of("state")]

    async def until(self, true: Callable[[], Any]) -> Any:
        """Wait until a condition holds; returns its value."""
        while not (found := true()):
            self.wire.changed.clear()
            await self.wire.changed.wait()
        return found

    async def line(self, type: str, **fields: Any) -> Json:
        """Wait for a message from the server."""

        def found() -> Json | None:
            lines = (line for line in self.wire.heard if line["type"] == type)
            return next((line for line in lines if fields.items() <= line.items()), None)

        return await self.until(found)

    async def until_kind(self, kind: str, times: int = 1) -> Json:
        return (await self.until(lambda: len(self.of(kind)) >= times and self.of(kind)))[times - 1]

    async def until_state(self, state: str) -> None:
        """Wait until this is the newest state."""
        await self.until(lambda: self.states and self.states[-1] == state)

    async def until_result(self, times: int = 1) -> Json:
        return (await self.until(lambda: len(self.frames("result")) >= times and self.frames("result")))[times - 1]


class Stage:
    """One server."""

    def __init__(self, bridge: Bridge, folder: Path, clock: Clock) -> None:
        self.bridge, self.folder, self.clock = bridge, folder, clock
        self.viewing = bridge
        """The server that viewers connect to."""

    async def do(self, name: str, *, id: str = "", device: str = "d", scopes: frozenset[str] = SCOPES, **fields: Any):
        """Execute a command and return its result; raises `Refused`."""
        id = id or f"any{next(_numbers)}"  # differs from every id chosen by a test
        data = json.dumps(fields).encode()
        receipt = json.loads(await self.bridge.commands.do(device, id, name, data, by=device, scopes=scopes))
        if not receipt["ok"]:
            raise Refused(receipt["error"]["code"], receipt["error"]["message"])
        return receipt["result"]

    async def start(self, **fields: Any) -> str:
        """Start a session and return its id."""
        folder = fields.pop("cwd", None) or self.folder / "work"
        folder.mkdir(exist_ok=True)
        return (await self.do("start", cwd=str(folder), **fields))["session"]["id"]

    async def host(self, session: str) -> SessionHost:
        return await self.bridge.sessions.get(session)

    @asynccontextmanager
    async def viewer(self, *sessions: str, after: int = 0, scopes: frozenset[str] = SCOPES) -> AsyncGenerator[Viewer]:
        """A client that follows the sessions."""
        viewer = Viewer()
        device = Device("v", "viewer", "program", scopes, 0, 0)
        running = asyncio.create_task(Client(self.viewing, device, viewer.wire).run())
        viewer.say("hello", protocol=1)
        for session in sessions:
            viewer.say("subscribe", session=session, after=after)
            await viewer.line("subscribed", session=session)
        try:
            yield viewer
        finally:
            viewer.wire.said.put_nowait(None)
            await running

    async def answer(self, session: str, asked: Json, behavior: str = "allow", /, **fields: Any) -> Any:
        what = {"session": session, "question": asked["question"], "hash": asked["hash"], "behavior": behavior}
        return await self.do("answer", **{**what, **fields})

    async def sweep(self) -> None:
        """Run the periodic sweep once."""
        await self.bridge.sessions.sweep()

    async def copy_store(self) -> Path:
        """Copy the store as a kill at this moment would leave it; returns a data folder for another server."""
        folder = self.folder / f"copy{next(_numbers)}"
        folder.mkdir()

        def copy(db: sqlite3.Connection) -> None:
            db.execute("VACUUM INTO ?", (str(folder / "handrail.db"),))

        await self.bridge.database.look(copy)
        return folder


class Where:
    """Whether stages use a cluster instead of one server; set by the `anywhere` fixture."""

    cluster = False


@asynccontextmanager
async def stage(folder: Path, cli: str = AGENT, **options: Any) -> AsyncGenerator[Stage]:
    """Open a server; TimeoutError if the test takes longer than `PATIENCE` seconds."""
    if Where.cluster:
        from tests.bridge.cluster_stage import cluster_stage

        async with cluster_stage(folder, cli, **options) as on:
            yield on
    else:
        async with one_server(folder, cli, **options) as on:
            yield on


@asynccontextmanager
async def one_server(
    folder: Path, cli: str = AGENT, *, data: Path | None = None, clock: Clock | None = None, **configuration: Any
) -> AsyncGenerator[Stage]:
    clock = clock or Clock()
    configured = Configuration(
        cli=CliChoice.fixed(cli),
        data=data or folder / "data",
        roots=(folder,),
        hibernate_after=60.0,
        **configuration,
    )
    async with asyncio.timeout(PATIENCE), Bridge(configured, clock=clock) as bridge:
        yield Stage(bridge, folder, clock)


@asynccontextmanager
async def no_receipts(on: Stage) -> AsyncGenerator[None]:
    """Make writing a receipt fail, as if the server were killed just before."""
    await on.bridge.database.execute(
        "CREATE TRIGGER none BEFORE INSERT ON receipt BEGIN SELECT RAISE(ABORT, 'no receipt'); END"
    )
    yield
    await on.bridge.database.execute("DROP TRIGGER none")
