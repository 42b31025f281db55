"""A stage with two gateways and two runners on a real NATS server.

The first gateway receives the commands, the second one serves the viewers, and sessions run on either runner. Tests of
a single server pass here too, unless they are marked `one_server`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from handrail.bridge.cluster.configuration import ClusterConfiguration
from handrail.bridge.cluster.nats.address import parse_address
from handrail.bridge.cluster.nats.connection import NatsConnection
from handrail.bridge.cluster.nats.credentials import new_seed, public_key
from handrail.bridge.cluster.setup.cluster_files import accounts
from handrail.bridge.cluster.setup.roles import ROLES
from handrail.bridge.cluster.store.layout import lay_out
from handrail.bridge.configuration import Configuration
from handrail.bridge.private_files import write_private
from handrail.bridge.server import Bridge
from handrail.bridge.session.host import SessionHost
from handrail.model_access.choice import CliChoice
from handrail.testing import NatsServer
from tests.bridge.stage import AGENT, PATIENCE, Clock, Json, Stage


class ClusterStage(Stage):
    """A cluster with the interface of one server."""

    def __init__(self, server: NatsServer, nodes: dict[str, Bridge], folder: Path, clock: Clock) -> None:
        super().__init__(nodes["gateway-1"], folder, clock)
        self.server, self.nodes = server, nodes
        self.viewing = nodes["gateway-2"]

    async def leave(self, name: str) -> None:
        """Shut down a machine in an orderly way."""
        await self.nodes.pop(name).__aexit__()

    @property
    def runners(self) -> list[Bridge]:
        return [bridge for name, bridge in self.nodes.items() if name.startswith("runner")]

    def running(self, session: str) -> Bridge:
        """The machine that runs a session."""
        [bridge] = [bridge for bridge in self.nodes.values() if bridge.sessions.here(session) is not None]
        return bridge

    async def host(self, session: str) -> SessionHost:
        return await self.running(session).sessions.get(session)

    async def sweep(self) -> None:
        for bridge in self.nodes.values():
            await bridge.sessions.sweep()


def node(folder: Path, name: str, server: NatsServer, cli: str = AGENT, **fields: Any) -> Configuration:
    """The configuration of one machine. Fields such as `runs`, `moves` and `labels` go to its cluster configuration."""
    names = ("runs", "moves", "labels", "most_sessions", "page", "timing")
    own = {key: fields.pop(key) for key in names if key in fields}
    cluster = ClusterConfiguration(address=parse_address(server.url), name=name, least_memory=0, **own)
    key = server.folder / f"{cluster.role}.nk"
    cluster = replace(cluster, address=parse_address(server.url, credentials=key if key.exists() else None))
    given = {"data": folder / name, "roots": (folder,), "hibernate_after": 60.0, **fields}
    return Configuration(cli=CliChoice.fixed(cli), cluster=cluster, **given)


GATEWAY: Json = {"runs": False}
RUNNER: Json = {"page": False, "moves": True}
BOTH: Json = {}
"""A gateway that also runs sessions; they do not move."""
KINDS = {"gateway-1": GATEWAY, "gateway-2": GATEWAY, "runner-1": RUNNER, "runner-2": RUNNER}


def with_keys(folder: Path) -> str:
    """Write a key for each role into a folder; returns the accounts for the server configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    seeds = {role: new_seed() for role in ROLES}
    for role, seed in seeds.items():
        write_private(folder / f"{role}.nk", seed)
    return accounts({role: [public_key(seed)] for role, seed in seeds.items()}) + "\n"


async def laid_out(server: NatsServer) -> None:
    """Create the streams; runners wait for a gateway to do so."""
    given = parse_address(server.url, credentials=server.folder / "both.nk")
    async with NatsConnection(given, "laying out", role="both") as link:
        await link.until_up(PATIENCE)
        await lay_out(link.js, 1)


@asynccontextmanager
async def cluster_stage(
    folder: Path,
    cli: str = AGENT,
    *,
    clock: Clock | None = None,
    kinds: dict[str, Json] = KINDS,
    **configuration: Any,
) -> AsyncGenerator[ClusterStage]:
    """Open all machines; TimeoutError if the test takes longer than `PATIENCE` seconds."""
    clock = clock or Clock()
    async with asyncio.timeout(PATIENCE), AsyncExitStack() as stack:
        server = await stack.enter_async_context(NatsServer(folder / "nats", extra=with_keys(folder / "nats")))
        await laid_out(server)
        nodes = {
            name: Bridge(node(folder, name, server, cli, **kind, **configuration), clock=clock)
            for name, kind in kinds.items()
        }
        await asyncio.gather(*(bridge.__aenter__() for bridge in nodes.values()))
        try:
            await all_machines_known(nodes)
            yield ClusterStage(server, nodes, folder, clock)
        finally:
            await asyncio.gather(*(bridge.__aexit__() for bridge in nodes.values()))
    assert [line for line in server.log.splitlines() if "Violation" in line] == []


async def all_machines_known(nodes: dict[str, Bridge]) -> None:
    """Wait until each machine lists all others."""
    for bridge in nodes.values():
        cluster = bridge.cluster
        assert cluster is not None
        changed = asyncio.Event()
        cluster.membership.on_change.append(lambda *_, changed=changed: changed.set())
        while not nodes.keys() <= {one.name for one in cluster.nodes()}:
            changed.clear()
            await changed.wait()
