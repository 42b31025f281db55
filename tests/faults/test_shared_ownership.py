"""Three NATS servers, one of which dies or stands still again and again: nobody has what another has."""

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

from handrail.bridge.cluster.leases.membership import Membership
from handrail.bridge.cluster.leases.ownership import JetStreamOwnership
from handrail.bridge.cluster.names import NODES, OWNERS
from handrail.bridge.cluster.records import Node
from handrail.bridge.cluster.store.layout import lay_out
from handrail.bridge.errors import BridgeError, ClusterAway
from handrail.testing import NatsCluster
from tests.bridge.cluster.machines import disconnected

SESSIONS = [f"s{n}" for n in range(12)]


async def _quiet(_: Exception) -> None:
    """That servers die is what this test is about."""


async def laid_out(cluster: NatsCluster) -> None:
    """Right after they have met, not every server counts the others yet."""
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

    async def told() -> None:
        fenced.append(name)

    membership.on_fenced.append(told)
    ownership = JetStreamOwnership(js, membership, moves=True, patience=0.0, timeout=1.0)
    await membership.open()
    members.append(membership)
    try:
        yield ownership
    finally:
        await ownership.close()
        await membership.close()
        await disconnected(connection)


@pytest.mark.campaign
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the client leaves what never answered
@pytest.mark.parametrize("how", ["kill", "pause"])
async def test_while_leaders_fall_each_session_has_one_owner(how: str, tmp_path: Path):
    random, over, fenced, gaps, last = Random(3), asyncio.Event(), list[str](), list[float](), time.monotonic()
    members: list[Membership] = []
    async with asyncio.timeout(300), NatsCluster(tmp_path) as cluster, AsyncExitStack() as stack:
        await laid_out(cluster)
        owners = [await stack.enter_async_context(owning(cluster, name, fenced, members)) for name in "abc"]

        def look() -> None:
            for session in SESSIONS:
                assert sum(one.holds(session) for one in owners) <= 1, f"{session} has two owners"

        async def work(one: JetStreamOwnership) -> None:
            nonlocal last
            while not over.is_set():
                session = random.choice(SESSIONS)
                with contextlib.suppress(ClusterAway):
                    if await one.claim(session):
                        last = time.monotonic()
                    look()
                    await one.release(session)
                look()

        async def trouble() -> None:
            nonlocal last
            for stream in [f"KV_{OWNERS}", f"KV_{NODES}"] * 3:
                leader, began = await cluster.led(stream), time.monotonic()
                if how == "kill":
                    await leader.kill()
                else:
                    leader.pause()
                await cluster.led(stream, not_by=leader)
                before = last
                while last == before:  # noqa: ASYNC110 - what others did is looked at from outside
                    await asyncio.sleep(0.01)
                gaps.append(last - began)
                if how == "kill":
                    await leader.start()
                else:
                    leader.resume()
                await cluster.led(stream)
            over.set()

        async with asyncio.TaskGroup() as group:
            for task in (trouble(), *map(work, owners)):
                group.create_task(task)
        # Who is fenced is believed to have its sessions until it is back.
        while not all(member.valid for member in members):  # noqa: ASYNC110 - it is asked, and tells nobody
            await asyncio.sleep(0.1)
        await asyncio.gather(*(one.settle() for one in owners))
        for session in SESSIONS:
            named = {await one.owner(session) for one in owners}
            assert named == {""}, f"{named} have {session}, and nobody does"
    print(f"{how}: claims again after {sorted(round(gap, 1) for gap in gaps)} s; fenced: {len(fenced)}")
