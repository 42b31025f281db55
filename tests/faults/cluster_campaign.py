"""Campaigns that inject faults into a cluster, and check the result.

Sessions on three runners are always busy; clients at two gateways send commands, some of them twice, and follow every
session. Each round then disturbs NATS or a runner.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

from handrail.testing.nats_server import NatsServer
from tests.faults.cluster_away import leave_alone
from tests.faults.cluster_place import place
from tests.faults.cluster_runner import kill_runner
from tests.faults.cluster_scene import AWAY, SESSIONS, Report, Scene, Tell

__all__ = ["FAULTS", "run"]

CALM = 1.0


async def kill_leader(scene: Scene) -> None:
    """Kill the leader of the event stream and start it again."""
    server = await scene.place.leader()
    begun = time.monotonic()
    await server.kill()
    await asyncio.sleep(scene.random.uniform(2, 12))  # downtime
    await server.start()
    await _healed(scene, begun)


async def pause_leader(scene: Scene) -> None:
    """Pause the leader of the event stream, with its connections open."""
    server = await scene.place.leader()
    begun = time.monotonic()
    server.pause()
    try:
        await asyncio.sleep(scene.random.uniform(5, 20))  # length of the pause
    finally:
        server.resume()
    await _healed(scene, begun)


async def cut_server(scene: Scene) -> None:
    """Cut one NATS server off from the others, but not from its clients."""
    server = await _one_of(scene)
    begun = time.monotonic()
    scene.place.nats.cut(server, silent=scene.random.random() < 0.5)
    try:
        await asyncio.sleep(scene.random.uniform(5, 20))  # length of the partition
    finally:
        scene.place.nats.heal(server)
    await _healed(scene, begun)


async def cut_runner(scene: Scene) -> None:
    """Cut a runner off from NATS, for a moment or for longer than its lease."""
    runner = scene.random.choice(scene.place.runners)
    own_sessions = [one for one, name in (await scene.runners_of()).items() if name == runner.name]
    begun = time.monotonic()
    runner.cut(silent=scene.random.random() < 0.5)
    try:
        await asyncio.sleep(scene.random.uniform(3, 25))  # length of the partition
    finally:
        runner.heal()
    healed = time.monotonic()
    await scene.until_all_speak(healed)
    if others := [one for one in scene.busy if one not in own_sessions]:
        scene.measure(begun, others)
    if own_sessions:
        scene.measure(healed, own_sessions)


async def _one_of(scene: Scene) -> NatsServer:
    """The leader in half of the cases, else any server."""
    leads = scene.random.random() < 0.5
    return await scene.place.leader() if leads else scene.random.choice(scene.place.nats.servers)


async def _healed(scene: Scene, begun: float) -> None:
    """Wait until every session makes progress and every server is in sync."""
    await scene.until_all_speak(time.monotonic())
    scene.measure(begun)
    await scene.place.until_whole()


Fault = Callable[[Scene], Awaitable[None]]
FAULTS: dict[str, tuple[str, Fault]] = {
    "leader-kill": ("the leader is killed", kill_leader),
    "leader-pause": ("the leader is paused for 5 to 20 s", pause_leader),
    "server-cut": ("a NATS server is cut off from the others", cut_server),
    "runner-cut": ("a runner is cut off from NATS", cut_runner),
    "runner-kill": ("a runner is killed", kill_runner),
    "nats-away": ("NATS is unavailable", leave_alone),
}
"""By name on the command line: a description, and the function that runs one round."""


async def run(
    folder: Path,
    name: str,
    rounds: int,
    seed: int,
    tell: Tell,
    *,
    sessions: int = SESSIONS,
    runners: int = 3,
    away: float = AWAY,
) -> Report:
    """Run one campaign."""
    what, fault = FAULTS[name]
    async with contextlib.AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(place(folder, runners=runners))
        scene = Scene(cluster, Random(seed), tell, away)
        await scene.open(stack, sessions)
        for number in range(1, rounds + 1):
            await asyncio.sleep(CALM)  # normal operation
            await fault(scene)
            turns = sum(one.turns for one in scene.busy.values())
            worst = f", at most {max(scene.again):.1f} s until a session continued" if scene.again else ""
            tell(f"{number} of {rounds}: {turns:,} turns{worst}, {len(scene.faults)} faults")
        await scene.finish()
        return await scene.judge(what, rounds)
