"""NATS servers as `handrail cluster init` sets them up. In: a folder. Out: running servers, a way in for each role."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from handrail.bridge.cluster.nats.address import parse_address
from handrail.bridge.cluster.nats.connection import NatsConnection
from handrail.bridge.cluster.setup.cluster_files import CA_CERTIFICATE, KEYS, cluster_url, write_cluster_files
from handrail.bridge.cluster.setup.server_configuration import (
    MONITORING_PORT_OFFSET,
    ROUTES_PORT_OFFSET,
    Server,
    parse_server,
)
from handrail.testing.nats_server import find_nats_server

PATIENCE = 30


def free_servers(count: int) -> list[Server]:
    """Places on this machine of which all ports are free."""
    found: list[Server] = []
    with contextlib.ExitStack() as taken:
        while len(found) < count:
            with contextlib.suppress(OSError, OverflowError):
                first = taken.enter_context(_bound(0))
                port = first.getsockname()[1]
                for above in (ROUTES_PORT_OFFSET, MONITORING_PORT_OFFSET):
                    taken.enter_context(_bound(port + above))
                found.append(parse_server(len(found) + 1, f"127.0.0.1:{port}"))
    return found


def _bound(port: int) -> socket.socket:
    bound = socket.socket()
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", port))
    except (OSError, OverflowError):
        bound.close()
        raise
    return bound


class Founded:
    """A cluster whose files are in a folder."""

    def __init__(self, folder: Path, servers: Sequence[Server], *, tls: bool) -> None:
        self.folder, self.servers, self.tls = folder, servers, tls

    @property
    def url(self) -> str:
        return cluster_url(self.servers, tls=self.tls)

    def key(self, role: str) -> Path:
        return self.folder / KEYS / f"{role}.nk"

    def link(self, role: str, *, key: str = "") -> NatsConnection:
        """A connection in a role, with its own key or that of another."""
        ca = self.folder / CA_CERTIFICATE if self.tls else None
        return NatsConnection(parse_address(self.url, credentials=self.key(key or role), ca=ca), f"a-{role}", role=role)


@contextlib.asynccontextmanager
async def founded(folder: Path, *, count: int = 1, tls: bool = False) -> AsyncGenerator[Founded]:
    """Found a cluster and run its servers as long as the block runs."""
    servers = free_servers(count)
    write_cluster_files(folder, servers, store="store", disk="1GB", tls=tls)
    running: list[subprocess.Popen[bytes]] = []
    try:
        for one in servers:
            running.append(_started(folder / one.name))
        for one in servers:
            await healthy(one, folder)
        yield Founded(folder, servers, tls=tls)
    finally:
        for process in running:
            process.kill()
            process.wait()


def _started(folder: Path) -> subprocess.Popen[bytes]:
    command = [str(find_nats_server()), "-c", "nats.conf", "-l", "nats.log"]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)


async def healthy(one: Server, folder: Path) -> None:
    """Wait until a server is ready."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            while True:
                with contextlib.suppress(OSError):
                    reader, writer = await asyncio.open_connection("127.0.0.1", one.port + MONITORING_PORT_OFFSET)
                    writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
                    answer = await reader.read()
                    writer.close()
                    if b" 200 " in answer.partition(b"\r\n")[0]:
                        return
                await asyncio.sleep(0.02)
    raise AssertionError((folder / one.name / "nats.log").read_text()[-2000:])
