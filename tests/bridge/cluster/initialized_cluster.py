"""NATS servers that run with the files of `handrail cluster init`, and connections in every role."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import subprocess
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from handrail.bridge.cluster.nats.address import parse_address
from handrail.bridge.cluster.nats.connection import NatsConnection
from handrail.bridge.cluster.setup.cluster_files import (
    CA_CERTIFICATE,
    KEYS,
    MONITORING_PORT_OFFSET,
    ROUTES_PORT_OFFSET,
    Server,
    cluster_url,
    parse_server,
    write_cluster_files,
)
from handrail.testing.nats_server import find_nats_server

TIMEOUT = 30


def free_servers(count: int) -> list[Server]:
    """Loopback addresses whose ports are all free."""
    found: list[Server] = []
    with contextlib.ExitStack() as taken:
        while len(found) < count:
            with contextlib.suppress(OSError, OverflowError):
                first = taken.enter_context(_bind(0))
                port = first.getsockname()[1]
                for above in (ROUTES_PORT_OFFSET, MONITORING_PORT_OFFSET):
                    taken.enter_context(_bind(port + above))
                found.append(parse_server(len(found) + 1, f"127.0.0.1:{port}"))
    return found


def _bind(port: int) -> socket.socket:
    bound = socket.socket()
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", port))
    except (OSError, OverflowError):
        bound.close()
        raise
    return bound


class InitializedCluster:
    """The files and addresses of a cluster."""

    def __init__(
        self, folder: Path, servers: Sequence[Server], running: Sequence[subprocess.Popen[bytes]], *, tls: bool
    ) -> None:
        self.folder, self.servers, self.tls, self._running = folder, servers, tls, running

    @property
    def url(self) -> str:
        return cluster_url(self.servers, tls=self.tls)

    def key(self, role: str) -> Path:
        return self.folder / KEYS / f"{role}.nk"

    def reload(self) -> None:
        """Make the servers read their configuration again."""
        for process in self._running:
            process.send_signal(signal.SIGHUP)

    def connect(self, role: str, *, key: str = "") -> NatsConnection:
        """A connection in a role, with the key of that role or of `key`."""
        ca = self.folder / CA_CERTIFICATE if self.tls else None
        return NatsConnection(parse_address(self.url, credentials=self.key(key or role), ca=ca), f"a-{role}", role=role)


@contextlib.asynccontextmanager
async def initialized_cluster(folder: Path, *, count: int = 1, tls: bool = False) -> AsyncGenerator[InitializedCluster]:
    """Create the files of a cluster and run its servers inside the block."""
    servers = free_servers(count)
    write_cluster_files(folder, servers, store="store", disk="1GB", tls=tls)
    running: list[subprocess.Popen[bytes]] = []
    try:
        for server in servers:
            running.append(_start_server(folder / server.name))
        for server in servers:
            await wait_until_healthy(server, folder)
        yield InitializedCluster(folder, servers, running, tls=tls)
    finally:
        for process in running:
            process.kill()
            process.wait()


def _start_server(folder: Path) -> subprocess.Popen[bytes]:
    command = [str(find_nats_server()), "-c", "nats.conf", "-l", "nats.log"]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)


async def wait_until_healthy(server: Server, folder: Path) -> None:
    """Wait until a server is healthy; raise AssertionError with the end of its log otherwise."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(TIMEOUT):
            while True:
                with contextlib.suppress(OSError):
                    reader, writer = await asyncio.open_connection("127.0.0.1", server.port + MONITORING_PORT_OFFSET)
                    writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
                    answer = await reader.read()
                    writer.close()
                    if b" 200 " in answer.partition(b"\r\n")[0]:
                        return
                await asyncio.sleep(0.02)
    raise AssertionError((folder / server.name / "nats.log").read_text()[-2000:])
