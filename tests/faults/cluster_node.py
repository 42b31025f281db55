"""One machine of a cluster, as a process that can be killed and cut off.

Each node has a home, a data folder and a proxy to each NATS server; project folders and diaries are shared.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from shutil import which
from typing import Any

from handrail.bridge.commands.table import SCOPES
from handrail.bridge.store.database import Database
from handrail.bridge.store.shared_values import TABLES, SqliteValues
from handrail.bridge.web.devices import Access
from tests.faults.fault_proxy import FaultProxy
from tests.faults.server_process import free_port, processes_at

__all__ = ["Gateway", "Node", "get_json", "let_in"]

PATIENCE = 60.0
MOST_OF_LOG = 3000
DIES_WITH_US = (which("setpriv") or "", "--pdeathsig", "KILL", "--") if which("setpriv") else ()
"""Ends the nodes when a campaign is aborted."""


class Node:
    """A runner. `options` are appended to its command line."""

    command = "runner"

    def __init__(self, name: str, folder: Path, cli: str, options: Sequence[str]) -> None:
        self.name, self.folder, self._cli, self._options = name, folder, cli, list(options)
        self.home, self.data = folder / "home", folder / "data"
        self.home.mkdir(parents=True)
        self.links: list[FaultProxy] = []
        self.urls: list[str] = []
        """URLs of the NATS servers, through the proxies."""
        self._process: asyncio.subprocess.Process | None = None

    async def reach(self, stack: contextlib.AsyncExitStack, ports: Sequence[int]) -> None:
        """Open a proxy to each NATS server."""
        self.links = [await stack.enter_async_context(FaultProxy(port)) for port in ports]
        self.urls = [f"nats://127.0.0.1:{link.port}" for link in self.links]

    @property
    def pid(self) -> int:
        """The id of its process."""
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """Its output so far."""
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def runs(self) -> bool:
        """Whether its process is running."""
        return self._process is not None and self._process.returncode is None

    def words(self) -> list[str]:
        """Its command line."""
        common = ["--cluster", ",".join(self.urls), "--data", str(self.data), "--cli", self._cli, *self._options]
        return [sys.executable, "-m", "handrail.cli", self.command, *common, "--name", self.name]

    async def start(self) -> None:
        """Start its process without waiting for it to be ready."""
        given = ("PATH", "PYTHONPATH")
        environment = {name: os.environ[name] for name in given if name in os.environ}
        environment |= {"HOME": str(self.home), "LANG": "C.UTF-8"}
        with (self.folder / "log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *DIES_WITH_US, *self.words(), env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log
            )

    def look(self) -> None:
        """Raise RuntimeError, with the end of its log, if the process has exited."""
        if self._process is not None and self._process.returncode is not None:
            raise RuntimeError(f"{self.name} exited with {self._process.returncode}:\n{self.log[-MOST_OF_LOG:]}")

    async def kill(self) -> None:
        """End it with SIGKILL, as in a crash."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """End it with SIGTERM, as an operator would."""
        await self._end(signal.SIGTERM)

    async def _end(self, number: int) -> None:
        if self._process is None or self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, number)
        async with asyncio.timeout(PATIENCE):
            await self._process.wait()

    def cut(self, *, silent: bool) -> None:
        """Cut it off from NATS. `silent`: connections stay open but carry nothing, as when a cable is unplugged."""
        for link in self.links:
            link.gone = silent
            link.refuses = True
            if not silent:
                link.cut()

    def heal(self) -> None:
        """Restore the links; data in flight on a silent link is lost."""
        for link in self.links:
            link.gone = link.refuses = False
            link.cut()

    async def children(self, *, patience: float = 2.0) -> list[int]:
        """Processes it has started that are left after `patience` seconds; returns early if none are."""
        own = self._process.pid if self.runs and self._process is not None else 0
        end = time.monotonic() + patience
        while (left := set(processes_at(self.home)) - {own}) and time.monotonic() < end:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        return sorted(left)


class Gateway(Node):
    """A node that serves the page."""

    command = "serve"

    def __init__(self, name: str, folder: Path, cli: str, options: Sequence[str]) -> None:
        super().__init__(name, folder, cli, options)
        self.port = free_port()

    def words(self) -> list[str]:
        """Its command line."""
        *words, _, name = super().words()
        return [*words, "--node-name", name, "--port", str(self.port)]

    @property
    def url(self) -> str:
        """The WebSocket URL for clients."""
        return f"ws://127.0.0.1:{self.port}/ws"

    async def answers(self) -> bool:
        """Whether it answers HTTP requests."""
        try:
            return bool(await get_json(self.port, "", "/api/health"))
        except (OSError, ValueError, EOFError):
            return False


async def let_in(gateways: Sequence[Gateway]) -> str:
    """Add a device to the first gateway before it starts; the others learn of it over NATS. Returns its token."""
    gateways[0].data.mkdir(mode=0o700)
    database = Database(gateways[0].data / "handrail.db", TABLES)
    _, token = await Access(SqliteValues(database)).add_device("faults", "program", SCOPES)
    await database.close()
    return token


async def get_json(port: int, token: str, path: str) -> Any:
    """GET a path and decode the response; raises ValueError unless the status is 200."""
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
        try:
            login = f"Authorization: Bearer {token}\r\n" if token else ""
            head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{login}\r\n"
            writer.write(head.encode())
            answer = await reader.read()
        finally:
            writer.close()
    head_of, _, body = answer.partition(b"\r\n\r\n")
    if b" 200 " not in head_of.partition(b"\r\n")[0]:
        raise ValueError(f"{path}: {answer[:300]!r}")
    return json.loads(body)
