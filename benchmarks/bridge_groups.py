"""CPU time of persisted lines when many sessions write at once, through the bridge and through a relay.

The relay commits each line by itself. The bridge puts lines that arrive together into one commit, also those of several
sessions. Each session has a client of its own on both sides.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from statistics import median

from benchmarks.bridge_delays import Run, shown, summary
from benchmarks.bridge_server import BridgeServer, Talk, bridge_server
from benchmarks.figures import Section, at_most
from benchmarks.workbench import Workbench

__all__ = ["measure"]

ROUNDS = 8
SESSIONS = 20
WORDS = "kept 60 20"
EDGE = SESSIONS * 5
"""Lines at the beginning and at the end that are not counted: not all sessions write then."""


def measure(bench: Workbench) -> Section:
    """Persisted lines of many sessions, alternating with the relay."""
    pairs = asyncio.run(_rounds(bench))
    (relay, bridge), (relay_cpu, cpu) = (
        map(summary, zip(*([run.delays for run in pair] for pair in pairs), strict=True)),
        (median(run.cpu for run in runs) for runs in zip(*pairs, strict=True)),
    )
    return Section(
        "Many sessions at once",
        f"{SESSIONS} sessions, each with `{WORDS}` (persisted lines, milliseconds between them) and a client of its "
        f"own; milliseconds from the child's line to the client, and CPU of the server. Median of {len(pairs)} rounds, "
        "alternating with a relay on the same loop that commits each line.",
        ("", "p50", "p99", "CPU of the server per line"),
        (
            ("relay with one commit each", *shown(relay), f"{relay_cpu:.0f} µs"),
            ("bridge", *shown(bridge), f"{cpu:.0f} µs"),
        ),
        (at_most("CPU of a kept line of many sessions against the relay", 0.8, cpu / relay_cpu),),
    )


async def _rounds(bench: Workbench) -> list[tuple[Run, Run]]:
    pairs: list[tuple[Run, Run]] = []
    async with bridge_server(bench, "groups") as server, AsyncExitStack() as stack:
        talks = [await stack.enter_async_context(server.talk()) for _ in range(SESSIONS)]
        sessions = [await talk.start(server.folder) for talk in talks]
        for talk, session in zip(talks, sessions, strict=True):
            await talk.say(type="subscribe", session=session, after=0)
        for _ in bench.rounds(ROUNDS, f"{SESSIONS} children speak"):
            pairs.append(
                (
                    await _together(server, [_relayed(server)] * SESSIONS),
                    await _together(server, [_bridged(*pair) for pair in zip(talks, sessions, strict=True)]),
                )
            )
    return pairs


Count = Callable[[float], None]
"""Called with the delay of each line."""


async def _together(server: BridgeServer, followers: list[Callable[[Count], Awaitable[None]]]) -> Run:
    delays: list[float] = []
    used: list[float] = []

    def count(delay: float) -> None:
        delays.append(delay)
        used.append(server.cpu())

    await asyncio.gather(*(follow(count) for follow in followers))
    counted = used[EDGE:-EDGE]
    return Run(delays[EDGE:-EDGE], (counted[-1] - counted[0]) / (len(counted) - 1) * 1e6)


def _relayed(server: BridgeServer) -> Callable[[Count], Awaitable[None]]:
    async def follow(count: Count) -> None:
        async with server.relay(WORDS, kept=True) as link:
            async for text in link:
                now = time.monotonic_ns()
                if at := json.loads(text).get("at"):
                    count((now - at) / 1e6)

    return follow


def _bridged(talk: Talk, session: str) -> Callable[[Count], Awaitable[None]]:
    async def follow(count: Count) -> None:
        id = f"g{time.monotonic_ns()}"
        await talk.say(type="command", id=id, command="send", fields={"session": session, "text": WORDS})
        started = False
        while True:
            line = json.loads(await talk.link.recv())
            now = time.monotonic_ns()
            for event in line["events"] if line["type"] == "events" else ():
                if at := event["data"].get("at"):
                    started = True
                    count((now - at) / 1e6)
                if event["kind"] == "state" and event["data"]["state"] == "idle" and started:
                    return

    return follow
