"""A whole cluster on this machine, for fault injection.

Three NATS servers; two gateways, of which the first runs the sessions in `local` itself and the second runs none;
runners for the sessions in `work`. Children of all nodes write their diaries to one folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client
from nats.errors import Error
from nats.js import JetStreamContext

from handrail.bridge.cluster.nats.names import EVENTS, NODES
from handrail.testing.nats_server import NatsServer
from tests.faults.cluster_nats import LinkedNats
from tests.faults.cluster_node import Gateway, Node, get_json, let_in
from tests.faults.fake_cli import write_cli
from tests.faults.server_process import processes_of

__all__ = ["Place", "place"]

GATEWAYS = 2
RUNNERS = 3
PATIENCE = 60.0


class Place:
    """The servers, gateways and runners of one cluster."""

    def __init__(self, folder: Path, servers: LinkedNats, *, runners: int = RUNNERS) -> None:
        self.folder, self.nats = folder, servers
        self.diaries, self.work, self.local = (folder / name for name in ("diaries", "work", "local"))
        for path in (self.diaries, self.work, self.local):
            path.mkdir()
        cli = write_cli(self.diaries, "--transcripts", "yes")
        here, elsewhere = ["--root", str(self.local)], ["--root", str(self.work), "--no-run"]
        self.gateways = [
            Gateway(f"gateway-{n}", folder / f"gateway-{n}", cli, options)
            for n, options in enumerate((here, elsewhere), 1)
        ]
        roots = ["--root", str(self.work)]
        self.runners = [Node(f"runner-{n}", folder / f"runner-{n}", cli, roots) for n in range(1, runners + 1)]
        self.token = ""
        self.connection = Client()
        """A direct connection for the checks, not through the proxies."""

    @property
    def nodes(self) -> list[Node]:
        """Gateways and runners."""
        return [*self.gateways, *self.runners]

    @property
    def js(self) -> JetStreamContext:
        """JetStream on the direct connection."""
        return self.connection.jetstream(timeout=5.0)

    async def open(self, stack: contextlib.AsyncExitStack) -> None:
        """Start all nodes and wait until they are ready."""
        self.token = await let_in(self.gateways)
        self.connection = await nats.connect(
            self.nats.urls, max_reconnect_attempts=-1, reconnect_time_wait=0.2, error_cb=_quiet
        )
        stack.push_async_callback(self.connection.close)
        ports = [server.port for server in self.nats.servers]
        for node in self.nodes:
            await node.reach(stack, ports)
            await node.start()
        await self.until_there(*self.nodes)

    async def until_there(self, *nodes: Node) -> None:
        """Wait until the nodes are known to the cluster and gateways answer."""
        async with asyncio.timeout(PATIENCE):
            for node in nodes:
                while not (await self.is_known(node) and (not isinstance(node, Gateway) or await node.answers())):
                    node.look()
                    await asyncio.sleep(0.05)

    async def is_known(self, node: Node) -> bool:
        """Whether the node has a lease."""
        try:
            entry = await self.js.get_last_msg(f"KV_{NODES}", f"$KV.{NODES}.{node.name}")
        except (Error, OSError, TimeoutError):
            return False
        return bool(entry.data)

    async def until_counted(self, sessions: int) -> None:
        """Wait until the runners report this many sessions, so that the next one goes to the least loaded runner."""
        async with asyncio.timeout(PATIENCE):
            while sum([await self._reported_sessions(node) for node in self.runners]) < sessions:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def _reported_sessions(self, node: Node) -> int:
        entry = await self.js.get_last_msg(f"KV_{NODES}", f"$KV.{NODES}.{node.name}")
        return json.loads(entry.data or b"{}").get("sessions", 0)

    async def until_whole(self) -> None:
        """Wait until every NATS server is in sync and the event stream has a leader."""
        async with asyncio.timeout(PATIENCE):
            while not all([await server.healthy() for server in self.nats.servers]):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            await self.leader()

    async def leader(self) -> NatsServer:
        """The leader of the event stream."""
        async with asyncio.timeout(PATIENCE):
            while (found := await self.nats.leader_of(EVENTS)) is None:  # noqa: ASYNC110 - no event to wait for
                await asyncio.sleep(0.1)
        return found

    async def listed(self, gateway: Gateway) -> dict[str, dict[str, Any]]:
        """The sessions listed by a gateway, by id."""
        found = await get_json(gateway.port, self.token, "/api/sessions?limit=1000")
        return {one["id"]: one for one in found["sessions"]}

    async def close(self) -> list[str]:
        """Stop the nodes; returns faults, such as processes that are left."""
        for link in (link for node in self.nodes for link in node.links):
            link.gone = link.refuses = False
        faults: list[str] = []
        for node in [*self.runners, *self.gateways]:
            try:
                await node.stop()
            except TimeoutError:
                faults.append(f"{node.name} did not stop:\n{node.log[-1500:]}")
                await node.kill()
            if left := await node.children():
                faults.append(f"orphans: {left} survived the stop of {node.name}")
        if left := processes_of(self.diaries):
            faults.append(f"orphans: {left} survived all nodes")
        return faults

    async def kill(self) -> None:
        """Kill all nodes."""
        await asyncio.gather(*(node.kill() for node in self.nodes))


async def _quiet(_: Exception) -> None:
    """Connection errors are expected while NATS is disturbed."""


@contextlib.asynccontextmanager
async def place(folder: Path, *, runners: int = RUNNERS) -> AsyncGenerator[Place]:
    """A running cluster."""
    async with LinkedNats(folder / "nats") as servers, contextlib.AsyncExitStack() as stack:
        one = Place(folder, servers, runners=runners)
        stack.push_async_callback(one.kill)
        await one.open(stack)
        yield one
