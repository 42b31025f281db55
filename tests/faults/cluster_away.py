"""NATS is unavailable: sessions of a gateway that runs them keep working, and JetStream catches up afterwards."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from nats.js.errors import NotFoundError

from tests.faults.cluster_client import BusySession
from tests.faults.cluster_record import last_of
from tests.faults.cluster_scene import Scene

__all__ = ["leave_alone"]

LOCAL_SESSIONS = 4
DRAINED_WITHIN = 30.0
LONGEST_TURN = 6.0
"""Seconds that a turn may take on a busy machine; usually it takes one."""


async def leave_alone(scene: Scene) -> None:
    """Run one round: sessions of the first gateway run turn after turn without any NATS server."""
    client = scene.clients[0]
    local: list[BusySession] = []
    for _ in range(LOCAL_SESSIONS):
        session = await client.start(scene.place.local)
        await asyncio.gather(*(other.follow(session) for other in client.others))
        local.append(BusySession(client, session, scene.random))
        scene.busy[session] = local[-1]
    await scene.until_all_speak(time.monotonic())
    before = [one.turns for one in local]
    await scene.place.nats.kill()
    scene.tell(f"NATS is unavailable for {scene.away:.0f} s")
    await asyncio.sleep(scene.away)  # the outage
    had = [one.turns - turns for one, turns in zip(local, before, strict=True)]
    scene.more_words.append(f"{sum(had):,} turns within {scene.away:.0f} s without NATS")
    if min(had) < scene.away / LONGEST_TURN:
        scene.faults.append(f"alone: sessions had {had} turns while NATS was unavailable")
    await scene.place.nats.start()
    back = time.monotonic()
    for one in local:
        one.hold()
    await _drained(scene, [one.session for one in local], back)
    for one in local:
        one.free()
    await scene.place.until_whole()
    await scene.until_all_speak(time.monotonic())


async def _drained(scene: Scene, sessions: list[str], back: float) -> None:
    """Wait until JetStream has all events of the gateway."""
    store = scene.place.gateways[0].data / "handrail.db"
    wanted: dict[str, int] = {}
    there: dict[str, int] = {}
    try:
        async with asyncio.timeout(DRAINED_WITHIN):
            while not wanted or any(there.get(one, 0) < number for one, number in wanted.items()):
                wanted = await asyncio.to_thread(_kept, store, sessions)
                for one in sessions:
                    try:
                        there[one] = await last_of(scene.place.js, one)
                    except (NotFoundError, TimeoutError, OSError):
                        there[one] = 0
                await asyncio.sleep(0.1)
    except TimeoutError:
        scene.faults.append(f"drained: JetStream has {there} of {wanted} after {DRAINED_WITHIN} s")
    else:
        scene.note("drained", time.monotonic() - back)


def _kept(store: Path, sessions: list[str]) -> dict[str, int]:
    """The last seq of each session in a store."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
        return {one: db.execute("SELECT last FROM log WHERE session = ?", (one,)).fetchone()[0] for one in sessions}
