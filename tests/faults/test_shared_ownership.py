"""Ownership on three NATS servers whose leaders are killed or paused: no session has two owners."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random

import nats
import pytest

from handrail.bridge.cluster.leases.lease import Node
from handrail.bridge.cluster.leases.membership import Membership
from handrail.bridge.cluster.leases.ownership import JetStreamOwnership
from handrail.bridge.cluster.nats.names import NODES, OWNERS
from handrail.bridge.cluster.store.layout import lay_out
from handrail.bridge.errors import BridgeError, ClusterAway
from handrail.testing import NatsCluster
from tests.bridge.cluster.leased_machine import disconnect

SESSIONS = [f"s{n}" for n in range(12)]


async def _quiet(_: Exception) -> None:
    """Connection errors are expected while servers are killed."""


async def create_streams(cluster: NatsCluster) -> None:
    """Create the streams, retrying while the servers are still forming the cluster."""
    connection = await nats.connect(cluster.urls)
    while True:
        try:
            await lay_out(connection.jetstream(timeout=10), 3)
        except BridgeError:
            await asyncio.sleep(0.1)
        else:
            break
    await connection.close()


@asynccontextmanager
async def owning(
    cluster: NatsCluster, name: str, fenced: list[str], members: list[Membership]
) -> AsyncGenerator[JetStreamOwnership]:
    connection = await nats.connect(
        cluster.urls, reconnect_time_wait=0.1, max_reconnect_attempts=-1, error_cb=_quiet, ping_interval=2
    )
    js = connection.jetstream(timeout=2)
    membership = Membership(js, lambda: Node(name=name, boot=""))

    async def on_fenced() -> None:
        fenced.append(name)

    membership.on_fenced.append(on_fenced)
    ownership = JetStreamOwnership(js, membership, moves=True, retry_for=0.0, timeout=1.0)
    await membership.open()
    members.append(membership)
    try:
        yield ownership
    finally:
        await ownership.close()
        await membership.close()
        await disconnect(connection)


async def owner_of(one: JetStreamOwnership, session: str) -> str:
    """The owner that NATS names. The resumed server may start another election, in which no one answers."""
    while True:
        try:
            return await one.owner(session)
        except ClusterAway:
            await asyncio.sleep(0.1)


@pytest.mark.campaign
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # nats-py abandons unanswered requests
@pytest.mark.parametrize("how", ["kill", "pause"])
async def test_sessions_have_one_owner_while_leaders_fail(how: str, tmp_path: Path):
    random, over, fenced, gaps, last = Random(3), asyncio.Event(), list[str](), list[float](), time.monotonic()
    members: list[Membership] = []
    async with asyncio.timeout(300), NatsCluster(tmp_path) as cluster, AsyncExitStack() as stack:
        await create_streams(cluster)
        owners = [await stack.enter_async_context(owning(cluster, name, fenced, members)) for name in "abc"]

        def check() -> None:
            for session in SESSIONS:
                assert sum(one.holds(session) for one in owners) <= 1, f"{session} has two owners"

        async def work(one: JetStreamOwnership) -> None:
            nonlocal last
            while not over.is_set():
                session = random.choice(SESSIONS)
                with contextlib.suppress(ClusterAway):
                    if await one.claim(session):
                        last = time.monotonic()
                    check()
                    await one.release(session)
                check()

        async def stop_leaders() -> None:
            nonlocal last
            for stream in [f"KV_{OWNERS}", f"KV_{NODES}"] * 3:
                leader, began = await cluster.led(stream), time.monotonic()
                if how == "kill":
                    await leader.kill()
                else:
                    leader.pause()
                await cluster.led(stream, not_by=leader)
                before = last
                while last == before:  # noqa: ASYNC110 - polls the other tasks
                    await asyncio.sleep(0.01)
                gaps.append(last - began)
                if how == "kill":
                    await leader.start()
                else:
                    leader.resume()
                await cluster.led(stream)
            over.set()

        async with asyncio.TaskGroup() as group:
            for task in (stop_leaders(), *map(work, owners)):
                group.create_task(task)
        # NATS lists the sessions of a fenced machine until that machine rejoins.
        while not all(member.valid for member in members):  # noqa: ASYNC110 - there is nothing to wait on
            await asyncio.sleep(0.1)
        await asyncio.gather(*(one.settle() for one in owners))
        # A server that was paused answers with what it has until it has caught up; the timeout above ends the wait.
        for session in SESSIONS:
            while {await owner_of(one, session) for one in owners} != {""}:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    print(f"{how}: claims again after {sorted(round(gap, 1) for gap in gaps)} s; fenced: {len(fenced)}")
