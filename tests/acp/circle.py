"""The whole circle as processes: editor, `handrail acp --server`, `handrail serve`, `handrail-acp` and an ACP agent.

A second client of the native protocol watches, as the page does. Each part can be killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from handrail.bridge_client.connection import BridgeConnection, Event
from handrail.bridge_client.server_link import ServerLink
from tests.acp.editor import BIN, TestEditor, connected
from tests.cli.served import Server, serving
from tests.faults.server_process import free_port


class Circle:
    """The parts, and what the watcher has seen."""

    def __init__(self, folder: Path, agent: Sequence[str], environment: Mapping[str, str]) -> None:
        self.folder, self.work, self.data = folder, folder / "work", folder / "data"
        for path in (self.work, folder / "home"):
            path.mkdir(parents=True, exist_ok=True)
        self.log = folder / "requests.jsonl"
        self._agent, self._environment = list(agent), dict(environment)
        self._port, self._server = free_port(), contextlib.ExitStack()
        self._process: Server | None = None

    def serve(self) -> None:
        """Start the server, also again after it was killed."""
        launcher = self.folder / "launcher"
        variables = {**self._environment, "ACP_AGENT_LOG": str(self.log)}
        given = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
        command = shlex.join([str(BIN / "handrail-acp"), "--", *self._agent])
        launcher.write_text(f'#!/bin/sh\nexec env {given} {command} "$@"\n')
        launcher.chmod(0o700)
        environment = {"HOME": str(self.folder / "home"), **self._environment}
        self._process = self._server.enter_context(
            serving(self.folder, "--cli", launcher, port=self._port, **environment)
        )

    @property
    def link(self) -> str:
        """The link to the page that the server printed."""
        assert self._process is not None
        return self._process.link

    def stop(self) -> None:
        """End the server."""
        if self._process is not None:
            self._process.ends(signal.SIGTERM)
        self._server.close()

    @contextlib.asynccontextmanager
    async def editor(self) -> AsyncIterator[TestEditor]:
        """An editor of the user who runs the server."""
        server = ("--server", f"http://127.0.0.1:{self._port}", "--data", str(self.data))
        async with connected(self.work, *server) as editor:
            yield editor

    @contextlib.asynccontextmanager
    async def watcher(self, session: str) -> AsyncIterator[Watcher]:
        """Another client, which follows a session from its first event."""
        token = (self.data / "editor-token").read_text()
        connection = BridgeConnection(ServerLink(f"http://127.0.0.1:{self._port}", token))
        running = asyncio.create_task(connection.run())
        try:
            yield await Watcher.following(connection, session)
        finally:
            running.cancel()
            await asyncio.wait([running])

    def kill_server(self) -> None:
        """SIGKILL for the server."""
        assert self._process is not None
        self._process.process.kill()
        self._process.process.communicate()

    def kill_adapter(self) -> None:
        """SIGKILL for `handrail-acp`."""
        os.kill(self._adapter(), signal.SIGKILL)

    def kill_agent(self) -> None:
        """SIGKILL for the agent."""
        adapter = self._adapter()
        (agent,) = [pid for pid in self._pids() if _parent(pid) == adapter]
        os.kill(agent, signal.SIGKILL)

    def _adapter(self) -> int:
        (one,) = [pid for pid in self._pids() if any(word.endswith("/handrail-acp") for word in _words(pid)[:2])]
        return one

    def _pids(self) -> list[int]:
        """The processes of this circle behind the server."""
        mark, found = os.fsencode(f"ACP_AGENT_LOG={self.log}"), list[int]()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    found.append(int(pid))
        return found

    def prompts(self) -> list[str]:
        """The prompts that the agent got, over all its processes."""
        lines = map(msgspec.json.decode, self.log.read_bytes().splitlines())
        return [params["prompt"][0]["text"] for method, params in lines if method == "session/prompt"]

    def methods(self) -> list[str]:
        """The requests and notifications that the agent got."""
        return [msgspec.json.decode(line)[0] for line in self.log.read_bytes().splitlines()]


def _words(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


class Watcher:
    """A client that only looks."""

    def __init__(self, connection: BridgeConnection, session: str) -> None:
        self.connection, self.session = connection, session
        self.events: list[tuple[int, str, dict[str, Any]]] = []
        self._more = asyncio.Condition()

    @classmethod
    async def following(cls, connection: BridgeConnection, session: str) -> Watcher:
        watcher = cls(connection, session)
        await connection.follow(session, take=watcher._take, caught_up=lambda: None, lost=lambda _error: None)
        return watcher

    async def _take(self, event: Event) -> None:
        async with self._more:
            if event.seq:
                self.events.append((event.seq, event.kind, msgspec.json.decode(event.data)))
            self._more.notify_all()

    async def until(self, holds: Callable[[], object]) -> None:
        async with self._more:
            await self._more.wait_for(lambda: bool(holds()))

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [data for _, one, data in self.events if one == kind]

    @property
    def said(self) -> list[str]:
        """The prompts of all clients."""
        return [one["content"] for one in self.of("said")]

    @property
    def answers(self) -> str:
        """The text of all answers."""
        return "".join(
            block["text"]
            for line in self.of("frame")
            if line["type"] == "assistant"
            for block in line["message"]["content"]
            if block["type"] == "text"
        )

    @property
    def results(self) -> list[dict[str, Any]]:
        """How the turns ended; also those that the server had to end."""
        return [data for _, kind, data in self.events if kind == "crashed" or data.get("type") == "result"]

    def check_complete(self) -> None:
        """Every event is there once, in order."""
        assert [seq for seq, _, _ in self.events] == list(range(1, len(self.events) + 1))
        uuids = [line["uuid"] for line in self.of("frame") if line.get("uuid")]
        assert len(uuids) == len(set(uuids))


@contextlib.asynccontextmanager
async def a_circle(
    folder: Path, agent: Sequence[str], *, seconds: float = 120, **environment: str
) -> AsyncIterator[Circle]:
    """A circle whose server runs. It ends after these seconds at the latest."""
    circle = Circle(folder, agent, environment)
    try:
        circle.serve()
        async with asyncio.timeout(seconds):
            yield circle
    finally:
        circle.stop()
