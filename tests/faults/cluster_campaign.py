"""Misfortunes of a cluster. In: which, how often. Out: figures, and what the checker says.

Sessions on three runners are busy all the time; clients at two gateways send commands, some of them twice, and follow
all of it. Then something happens to NATS, or to a runner.
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
    """The server that leads the events dies, and is started again."""
    server = await scene.place.leader()
    begun = time.monotonic()
    await server.kill()
    await asyncio.sleep(scene.random.uniform(2, 12))  # so long it is gone
    await server.start()
    await _healed(scene, begun)


async def pause_leader(scene: Scene) -> None:
    """The server that leads the events stands still, with its connections open."""
    server = await scene.place.leader()
    begun = time.monotonic()
    server.pause()
    try:
        await asyncio.sleep(scene.random.uniform(5, 20))  # so long it stands still
    finally:
        server.resume()
    await _healed(scene, begun)


async def cut_server(scene: Scene) -> None:
    """One NATS server is cut off from the others, and not from those who use it."""
    server = await _one_of(scene)
    begun = time.monotonic()
    scene.place.nats.cut(server, silent=scene.random.random() < 0.5)
    try:
        await asyncio.sleep(scene.random.uniform(5, 20))  # so long it is cut off
    finally:
        scene.place.nats.heal(server)
    await _healed(scene, begun)


async def cut_runner(scene: Scene) -> None:
    """A runner loses NATS: for a moment, or for longer than its lease."""
    runner = scene.random.choice(scene.place.runners)
    its_own = [one for one, name in (await scene.runners_of()).items() if name == runner.name]
    begun = time.monotonic()
    runner.cut(silent=scene.random.random() < 0.5)
    try:
        await asyncio.sleep(scene.random.uniform(3, 25))  # so long it is cut off
    finally:
        runner.heal()
    healed = time.monotonic()
    await scene.until_all_speak(healed)
    if others := [one for one in scene.busy if one not in its_own]:
        scene.measure(begun, others)
    if its_own:
        scene.measure(healed, its_own)


async def _one_of(scene: Scene) -> NatsServer:
    """The leader, every other time."""
    leads = scene.random.random() < 0.5
    return await scene.place.leader() if leads else scene.random.choice(scene.place.nats.servers)


async def _healed(scene: Scene, begun: float) -> None:
    """All is as it was: every session speaks again, and every server has everything."""
    await scene.until_all_speak(time.monotonic())
    scene.measure(begun)
    await scene.place.until_whole()


Fault = Callable[[Scene], Awaitable[None]]
FAULTS: dict[str, tuple[str, Fault]] = {
    "leader-kill": ("the leader is killed", kill_leader),
    "leader-pause": ("the leader stands still for 5 to 20 s", pause_leader),
    "server-cut": ("a NATS server is cut off from the others", cut_server),
    "runner-cut": ("a runner is cut off from NATS", cut_runner),
    "runner-kill": ("a runner is killed", kill_runner),
    "nats-away": ("NATS is away", leave_alone),
}
"""By the name that is given on the command line: what it is, and what does it once."""


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
    """One misfortune, again and again."""
    what, fault = FAULTS[name]
    async with contextlib.AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(place(folder, runners=runners))
        scene = Scene(cluster, Random(seed), tell, away)
        await scene.open(stack, sessions)
        for number in range(1, rounds + 1):
            await asyncio.sleep(CALM)  # a while like any other
            await fault(scene)
            turns = sum(one.turns for one in scene.busy.values())
            worst = f", at most {max(scene.again):.1f} s until a session went on" if scene.again else ""
            tell(f"{number} of {rounds}: {turns:,} turns{worst}, {len(scene.faults)} faults")
        await scene.finish()
        return await scene.judge(what, rounds)
