"""Latency and CPU time of a line from the child to a client, through the bridge and through a bare relay.

The child writes the time into each line; the client reads the same clock. The relay sends each line of such a child, on
the same event loop as the server; for persisted ("kept") lines it first commits the line to a SQLite file.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from statistics import median, quantiles
from typing import NamedTuple

from benchmarks.bridge_server import BridgeServer, Talk, bridge_server
from benchmarks.figures import Section, at_most
from benchmarks.workbench import Workbench

__all__ = ["KEPT", "LIVE", "Delays", "Run", "measure", "shown", "summary", "through_bridge"]

ROUNDS = 8
LIVE, KEPT = "live 400 3", "kept 100 15"
ALONE = 0.8
"""Limit for a line that shares no commit. It has not been met (1.1 to 1.3 measured): both sides pay for one `fdatasync`
(40 % of the relay's line) and two thread switches; the bridge also decodes the line, numbers it and updates the log of
its session."""


def measure(bench: Workbench) -> Section:
    """Live and durable lines, alternating with the relay."""
    live, kept = asyncio.run(_rounds(bench))
    (live_relay, live_bridge), (kept_relay, kept_bridge) = (
        map(summary, zip(*([run.delays for run in pair] for pair in pairs), strict=True)) for pairs in (live, kept)
    )
    (live_relay_cpu, live_cpu), (kept_relay_cpu, kept_cpu) = (
        (median(run.cpu for run in runs) for runs in zip(*pairs, strict=True)) for pairs in (live, kept)
    )
    rows = (
        ("live lines, relay", *shown(live_relay), f"{live_relay_cpu:.0f} µs"),
        ("live lines, bridge", *shown(live_bridge), f"{live_cpu:.0f} µs"),
        ("durable lines, relay with one commit each", *shown(kept_relay), f"{kept_relay_cpu:.0f} µs"),
        ("durable lines, bridge", *shown(kept_bridge), f"{kept_cpu:.0f} µs"),
    )
    return Section(
        "From the child to a client",
        f"Milliseconds from the child's line to the WebSocket client; median over {len(live)} rounds of `{LIVE}` and "
        f"`{KEPT}` (lines, milliseconds between them; kept: durable), alternating with a relay on the same loop. "
        "Here each durable line arrives alone, so the bridge commits each by itself as the relay does; lines that "
        "arrive together share a commit, which is measured under many sessions at once.",
        ("", "p50", "p99", "CPU of the server per line"),
        rows,
        (
            at_most("live lines against the relay, p50", 2, live_bridge[0] / live_relay[0]),
            at_most("live lines against the relay, p99", 3, live_bridge[1] / live_relay[1]),
            at_most("durable lines against the relay with one commit, p50", 1.5, kept_bridge[0] / kept_relay[0]),
            at_most("CPU of a live line against the relay", 1.5, live_cpu / live_relay_cpu),
            at_most("CPU of a durable line that arrives alone against the relay", ALONE, kept_cpu / kept_relay_cpu),
        ),
    )


Delays = list[float]


class Run(NamedTuple):
    """The lines of one turn: their delays in milliseconds, and the CPU of the server per line in microseconds."""

    delays: Delays
    cpu: float


Pairs = list[tuple[Run, Run]]


async def _rounds(bench: Workbench) -> tuple[Pairs, Pairs]:
    live: Pairs = []
    kept: Pairs = []
    async with bridge_server(bench, "delays") as server, server.talk() as talk:
        session = await talk.start(server.folder)
        await talk.say(type="subscribe", session=session, after=0)
        await through_bridge(talk, session, LIVE)
        for _ in bench.rounds(ROUNDS, "a child speaks"):
            for pairs, words in ((live, LIVE), (kept, KEPT)):
                pairs.append(
                    (await _through_relay(server, words), await through_bridge(talk, session, words, cpu=server.cpu))
                )
    return live, kept


async def _through_relay(server: BridgeServer, words: str) -> Run:
    delays: Delays = []
    used: list[float] = []
    async with server.relay(words, kept=words.startswith("kept")) as link:
        async for text in link:
            now = time.monotonic_ns()
            if at := json.loads(text).get("at"):
                delays.append((now - at) / 1e6)
                used.append(server.cpu())
    return Run(delays, _per_line(used))


def _per_line(used: Sequence[float]) -> float:
    """CPU per line after the first one, without what it takes to begin and to end."""
    return (used[-1] - used[0]) / (len(used) - 1) * 1e6


def _no_cpu() -> float:
    return 0.0


async def through_bridge(
    talk: Talk, session: str, words: str, *, cpu: Callable[[], float] = _no_cpu, written: list[int] | None = None
) -> Run:
    """One turn. Each event counts, even if a frame contains several. `written` gets the times of the lines."""
    delays: Delays = []
    used: list[float] = []
    await talk.say(
        type="command", id=f"d{time.monotonic_ns()}", command="send", fields={"session": session, "text": words}
    )
    while True:
        text = await talk.link.recv()
        now = time.monotonic_ns()
        line = json.loads(text)
        for event in line["events"] if line["type"] == "events" else ():
            if at := event["data"].get("at"):
                delays.append((now - at) / 1e6)
                used.append(cpu())
                if written is not None:
                    written.append(at)
            if event["kind"] == "state" and event["data"]["state"] == "idle" and delays:
                return Run(delays, _per_line(used))


def summary(rounds: tuple[Delays, ...]) -> tuple[float, float]:
    """The medians over all rounds of p50 and p99."""
    return median(median(one) for one in rounds), median(quantiles(one, n=100)[98] for one in rounds)


def shown(figures: tuple[float, float]) -> tuple[str, str]:
    """Format p50 and p99."""
    return f"{figures[0]:.2f} ms", f"{figures[1]:.2f} ms"
