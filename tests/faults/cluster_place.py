"""A whole cluster on this machine, to be hurt. In: a folder. Out: NATS, gateways, runners, and a token for all of them.

Three NATS servers; two gateways, of which the first runs sessions in `local` itself and keeps them, and the second runs
none; runners for sessions in `work`. Children of all of them keep their diaries in one folder.
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
    """Everything of one cluster."""

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
        """Of ours, straight to the servers."""

    @property
    def nodes(self) -> list[Node]:
        """Gateways and runners."""
        return [*self.gateways, *self.runners]

    @property
    def js(self) -> JetStreamContext:
        """JetStream, for whoever looks on."""
        return self.connection.jetstream(timeout=5.0)

    async def open(self, stack: contextlib.AsyncExitStack) -> None:
        """Start all, and wait until all are there."""
        self.token = await let_in(self.gateways)
        self.connection = await nats.connect(
            self.nats.urls, max_reconnect_attempts=-1, reconnect_time_wait=0.2, error_cb=_say_nothing
        )
        stack.push_async_callback(self.connection.close)
        ports = [server.port for server in self.nats.servers]
        for node in self.nodes:
            await node.reach(stack, ports)
            await node.start()
        await self.until_there(*self.nodes)

    async def until_there(self, *nodes: Node) -> None:
        """Wait until they are known to the cluster, and their pages answer."""
        async with asyncio.timeout(PATIENCE):
            for node in nodes:
                while not (await self.is_known(node) and (not isinstance(node, Gateway) or await node.answers())):
                    node.look()
                    await asyncio.sleep(0.05)

    async def is_known(self, node: Node) -> bool:
        """Whether its lease is there."""
        try:
            entry = await self.js.get_last_msg(f"KV_{NODES}", f"$KV.{NODES}.{node.name}")
        except (Error, OSError, TimeoutError):
            return False
        return bool(entry.data)

    async def until_counted(self, sessions: int) -> None:
        """Wait until the runners tell that they run so many: the next one goes to the emptiest."""
        async with asyncio.timeout(PATIENCE):
            while sum([await self._told_sessions(node) for node in self.runners]) < sessions:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def _told_sessions(self, node: Node) -> int:
        entry = await self.js.get_last_msg(f"KV_{NODES}", f"$KV.{NODES}.{node.name}")
        return json.loads(entry.data or b"{}").get("sessions", 0)

    async def until_whole(self) -> None:
        """Wait until every NATS server has all that it should have, and somebody leads."""
        async with asyncio.timeout(PATIENCE):
            while not all([await server.healthy() for server in self.nats.servers]):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            await self.leader()

    async def leader(self) -> NatsServer:
        """Who leads the events."""
        async with asyncio.timeout(PATIENCE):
            while (found := await self.nats.leader_of(EVENTS)) is None:  # noqa: ASYNC110 - a server tells nobody
                await asyncio.sleep(0.1)
        return found

    async def listed(self, gateway: Gateway) -> dict[str, dict[str, Any]]:
        """The sessions as a gateway lists them, by their ids."""
        found = await get_json(gateway.port, self.token, "/api/sessions?limit=1000")
        return {one["id"]: one for one in found["sessions"]}

    async def close(self) -> list[str]:
        """Stop the nodes. Out: what is left of them."""
        for link in (link for node in self.nodes for link in node.links):
            link.gone = link.refuses = False
        faults: list[str] = []
        for node in [*self.runners, *self.gateways]:
            try:
                await node.stop()
            except TimeoutError:
                faults.append(f"{node.name} did not end when it was told to:\n{node.log[-1500:]}")
                await node.kill()
            if left := await node.children():
                faults.append(f"orphans: {left} live after {node.name} was stopped")
        if left := processes_of(self.diaries):
            faults.append(f"orphans: {left} live after all")
        return faults

    async def kill(self) -> None:
        """Nothing outlives this."""
        await asyncio.gather(*(node.kill() for node in self.nodes))


async def _say_nothing(_: Exception) -> None:
    """That NATS is hurt is no news here."""


@contextlib.asynccontextmanager
async def place(folder: Path, *, runners: int = RUNNERS) -> AsyncGenerator[Place]:
    """A cluster that runs."""
    async with LinkedNats(folder / "nats") as servers, contextlib.AsyncExitStack() as stack:
        one = Place(folder, servers, runners=runners)
        stack.push_async_callback(one.kill)
        await one.open(stack)
        yield one
