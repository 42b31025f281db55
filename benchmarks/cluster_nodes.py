"""A cluster under measurement, and clients of it.

It has three NATS servers with three replicas of everything, two gateways without sessions, and runners with the paced
CLI.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import nats
from nats.js import JetStreamContext

from benchmarks.bridge_server import Talk, talk_with
from benchmarks.workbench import PROGRAMS, Workbench
from handrail.bridge.cluster.nats.names import NODES, SESSIONS
from handrail.bridge.store.base import SessionRecord
from handrail.testing.nats_server import NatsCluster
from tests.faults.cluster_node import Gateway, Node, get_json, let_in

__all__ = ["Cost", "MeasuredCluster", "measured_cluster"]

PATIENCE = 60.0
AT_ONCE = 64


class Cost(NamedTuple):
    """CPU seconds of all runners, all gateways and all NATS servers."""

    runners: float
    gateways: float
    nats: float

    def less(self, other: Cost, times: float = 1.0) -> Cost:
        """Subtract `times` another cost."""
        return Cost(*(mine - times * theirs for mine, theirs in zip(self, other, strict=True)))


class MeasuredCluster:
    """A running cluster."""

    def __init__(self, folder: Path, servers: NatsCluster, gateways: list[Gateway], runners: list[Node]) -> None:
        self.name = folder.name
        self.work, self._servers, self.gateways, self.runners = folder / "work", servers, gateways, runners
        self.token = ""

    def cpu(self) -> Cost:
        """CPU used so far, without children."""
        pids = ([one.pid for one in part] for part in (self.runners, self.gateways, self._servers.servers))
        return Cost(*(sum(map(_cpu, part)) for part in pids))

    async def idle(self, seconds: float) -> Cost:
        """CPU per second while idle."""
        before = self.cpu()
        await asyncio.sleep(seconds)  # the measured interval
        spent = self.cpu().less(before)
        return Cost(*(part / seconds for part in spent))

    def resident(self, node: Node) -> float:
        """Resident memory of a node without its children, in MiB."""
        fields = Path(f"/proc/{node.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in fields if line.startswith("VmRSS:"))

    @asynccontextmanager
    async def talk(self, gateway: int) -> AsyncGenerator[Talk]:
        """A client of one gateway."""
        async with talk_with(self.gateways[gateway].port, self.token) as one:
            yield one

    async def sessions(self, talk: Talk, on_each: int) -> list[str]:
        """Start sessions on each runner and subscribe the client to them."""
        made: list[str] = []
        for runner in self.runners * on_each:
            started = await talk.command("start", cwd=str(self.work), runner=runner.name)
            made.append(started["session"]["id"])
            await talk.say(type="subscribe", session=made[-1], after=0)
            await talk.hear("subscribed")
        return made

    async def listed(self, limit: int) -> tuple[float, int]:
        """Returns the seconds to list the sessions at a gateway, and their number."""
        begun = time.monotonic()
        found = await get_json(self.gateways[0].port, self.token, f"/api/sessions?limit={limit}")
        return time.monotonic() - begun, len(found["sessions"])

    async def known(self, count: int) -> None:
        """Add sessions to the index, and wait until a gateway lists them."""
        limit = asyncio.Semaphore(AT_ONCE)
        async with self.jetstream() as js:

            async def put(number: int) -> None:
                id = f"00000000-0000-4000-8000-{number:012d}"
                record = SessionRecord(
                    id=id, cwd=f"{self.work}/{number % 50}", created=number, changed=number, state="hibernated"
                )
                named = msgspec.structs.replace(record, title=f"What was asked in {number}", runner="runner-1")
                async with limit:
                    await js.publish(f"$KV.{SESSIONS}.{id}", msgspec.json.encode(named))

            await asyncio.gather(*map(put, range(count)))
        async with asyncio.timeout(PATIENCE):
            while (await self.listed(2 * count))[1] < count:  # noqa: ASYNC110 - changes of a list are not announced
                await asyncio.sleep(0.05)

    @asynccontextmanager
    async def jetstream(self) -> AsyncGenerator[JetStreamContext]:
        """A separate connection to NATS."""
        connection = await nats.connect(self._servers.urls)
        try:
            yield connection.jetstream(timeout=10.0)
        finally:
            await connection.close()

    async def until_there(self) -> None:
        """Wait until every node is registered and every gateway answers."""
        async with self.jetstream() as js, asyncio.timeout(PATIENCE):
            for node in (*self.gateways, *self.runners):
                while not (await _is_known(js, node.name) and await _answers(node)):
                    node.look()
                    await asyncio.sleep(0.05)


async def _is_known(js: JetStreamContext, name: str) -> bool:
    try:
        return bool((await js.get_last_msg(f"KV_{NODES}", f"$KV.{NODES}.{name}")).data)
    except (nats.errors.Error, OSError, TimeoutError):
        return False


async def _answers(node: Node) -> bool:
    return not isinstance(node, Gateway) or await node.answers()


def _cpu(pid: int | None) -> float:
    """CPU seconds of all threads of a process."""
    assert pid is not None
    return time.clock_gettime((~pid << 3) | 2)


@asynccontextmanager
async def measured_cluster(
    bench: Workbench, name: str, *, runners: int, source: Path | None = None
) -> AsyncGenerator[MeasuredCluster]:
    """Start a cluster; it is stopped at the end of the block. `source`: run the nodes from this `src` folder."""
    folder = bench.folder / name
    (folder / "work").mkdir(parents=True)
    cli = folder / "cli"
    cli.write_text(f'#!/bin/sh\nexec "{bench.ours}" -I -S "{PROGRAMS / "paced_cli.py"}" "$@"\n')
    cli.chmod(0o700)
    root = ["--root", str(folder / "work")]
    gateways = [Gateway(f"gateway-{n}", folder / f"gateway-{n}", str(cli), [*root, "--no-run"]) for n in (1, 2)]
    nodes = [Node(f"runner-{n}", folder / f"runner-{n}", str(cli), root) for n in range(1, runners + 1)]
    async with NatsCluster(folder / "nats") as servers, AsyncExitStack() as stack:
        one = MeasuredCluster(folder, servers, gateways, nodes)
        one.token = await let_in(gateways)
        for node in (*gateways, *nodes):
            node.urls = servers.urls
            if source is not None:
                node.environment["PYTHONPATH"] = str(source)
            stack.push_async_callback(node.kill)
            stack.push_async_callback(node.stop)
            await node.start()
        await one.until_there()
        yield one
