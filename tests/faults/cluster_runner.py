"""A runner is killed: its sessions are listed as interrupted and resume elsewhere with their history."""

from __future__ import annotations

import asyncio
import re
import time

from tests.faults.cluster_scene import Scene
from tests.faults.watcher import Refused

__all__ = ["kill_runner"]

LEASE = 15.0
SEEN_WITHIN = LEASE + 5.0
TURN = 60.0


async def kill_runner(scene: Scene) -> None:
    """Run one round; the runner is restarted afterwards and must not reclaim sessions."""
    where = await scene.runners_of()
    runner = scene.random.choice([one for one in scene.place.runners if one.name in where.values()])
    own_sessions = [one for one, name in where.items() if name == runner.name]
    for session in own_sessions:
        scene.busy[session].hold()
    begun = time.monotonic()
    await runner.kill()
    if left := await runner.children():
        scene.faults.append(f"orphans: {left} survived the kill of {runner.name}")
    await asyncio.gather(*(_interrupted(scene, number, own_sessions, begun) for number in range(len(scene.clients))))
    others = [one for one in scene.busy if one not in own_sessions]
    if others:
        scene.measure(begun, others)
    resumed = time.monotonic()
    await asyncio.gather(*(_resume(scene, session) for session in own_sessions))
    scene.note("resumed", time.monotonic() - resumed)
    now = await scene.runners_of()
    stayed = [one for one in own_sessions if now[one] == runner.name]
    scene.faults += [f"elsewhere: {one} is still listed on {runner.name}" for one in stayed]
    await runner.start()
    await scene.place.until_there(runner)
    for session in own_sessions:
        scene.busy[session].free()
    await scene.until_all_speak(time.monotonic())


async def _interrupted(scene: Scene, number: int, sessions: list[str], begun: float) -> None:
    """Wait until a gateway lists them as interrupted."""
    gateway = scene.place.gateways[number]
    states: dict[str, str] = {}
    try:
        async with asyncio.timeout(SEEN_WITHIN - (time.monotonic() - begun)):
            while set(states.values()) != {"interrupted"}:
                listed = await scene.place.listed(gateway)
                states = {one: listed.get(one, {}).get("state", "") for one in sessions}
                await asyncio.sleep(0.1)
    except TimeoutError:
        scene.faults.append(f"interrupted: {gateway.name} says {sorted(states.values())} after {SEEN_WITHIN} s")
    else:
        scene.note("listed as interrupted", time.monotonic() - begun)


async def _resume(scene: Scene, session: str) -> None:
    """Send a message: the session resumes elsewhere and knows all earlier turns, except perhaps the last."""
    client = scene.random.choice(scene.clients)
    seen = client.sessions[session]
    ended = sum(data.get("subtype") == "success" for data in seen.of_kind("frame") if data.get("type") == "result")
    try:
        async with asyncio.timeout(TURN):
            uuid = await client.turn(session, "recall=1 deltas=2 blocks=1")
    except (Refused, TimeoutError) as error:
        scene.faults.append(f"elsewhere: {session} could not be resumed: {error!r}")
        return
    said = [
        data["message"]["content"][0]["text"]
        for data in seen.of_kind("frame")
        if data.get("type") == "assistant" and data["message"]["content"][0]["text"].startswith(f"[{uuid}.")
    ]
    known = [int(number) for text in said for number in re.findall(r" knows (\d+)$", text)]
    if not known or known[0] < ended - 1:
        scene.faults.append(f"elsewhere: {session} knows {known} of {ended} turns")
