"""CPU that one durable line costs a cluster at a fixed rate, alternating with an earlier commit.

Twenty sessions on one runner write 100 lines a second in all, and a client at a gateway follows them. Only lines count:
prompts, results and the CPU of the idle cluster are left out.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import tarfile
import time
from contextlib import AsyncExitStack
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.bridge_server import Talk
from benchmarks.cluster_nodes import Cost, MeasuredCluster, measured_cluster
from benchmarks.figures import Section, at_most
from benchmarks.workbench import HERE, Workbench

__all__ = ["measure"]

BEFORE = "856ed25"
"""The commit before lines of many sessions shared one JetStream batch."""
SESSIONS = 20
PAUSE = 0.2
"""Seconds between two lines of a session."""
ROUNDS = 3
MARGIN_SECONDS = 3.0
MEASURED_SECONDS = 8.0
IDLE_SECONDS = 5.0
PATIENCE = 60.0
MOST_RUNNER = 0.7
MOST_NATS = 0.6
"""Milliseconds per line."""


class _Round(NamedTuple):
    """CPU seconds per line, lines per second, and the delays of the lines in seconds."""

    cost: Cost
    rate: float
    delays: list[float]


class _Run(NamedTuple):
    cluster: MeasuredCluster
    talk: Talk
    sessions: list[str]
    idle: Cost
    rounds: list[_Round]


def measure(bench: Workbench) -> Section:
    """All measurements."""
    found = asyncio.run(_measure(bench))
    rows = [row for name, run in found.items() for row in _rows(name, run)]
    now = _middle(found["now"].rounds)
    return Section(
        "Durable lines in a cluster",
        f"Three NATS servers with three replicas, two gateways, one runner: {SESSIONS} sessions write "
        f"{SESSIONS / PAUSE:.0f} lines per second in all, at random moments, and a client at a gateway follows them. "
        f"CPU per line of the runner, of both gateways and of the three NATS servers together, without the CPU of the "
        f"idle cluster; median of {len(found['now'].rounds)} rounds, alternating with commit {BEFORE}. Delay: from "
        "the child's line to the client.",
        ("", "runner", "gateways", "NATS", "lines/s", "delay p50", "delay p99"),
        tuple(rows),
        (
            at_most("CPU of the runner per durable line", MOST_RUNNER, now.runners * 1000, " ms"),
            at_most("CPU of three NATS servers per durable line", MOST_NATS, now.nats * 1000, " ms"),
        ),
    )


def _middle(rounds: list[_Round]) -> Cost:
    return Cost(*map(median, zip(*(one.cost for one in rounds), strict=True)))


def _rows(name: str, run: _Run) -> list[tuple[str, ...]]:
    delays = sorted(delay for one in run.rounds for delay in one.delays)
    lag = (f"{delays[len(delays) * place // 100] * 1000:.1f} ms" for place in (50, 99))
    rate = f"{median(one.rate for one in run.rounds):.0f}"
    return [
        (name, *(f"{part * 1000:.2f} ms" for part in _middle(run.rounds)), rate, *lag),
        (f"{name}, idle, per second", *(f"{part * 1000:.1f} ms" for part in run.idle), "", "", ""),
    ]


async def _measure(bench: Workbench) -> dict[str, _Run]:
    sources = {"now": None, BEFORE: _earlier_source(bench.folder)}
    async with AsyncExitStack() as stack:
        runs: dict[str, _Run] = {}
        for name, source in sources.items():
            if name != "now" and source is None:
                continue  # without the history of the repository there is nothing to compare with
            bench.say(f"a cluster of {name}")
            cluster = await stack.enter_async_context(
                measured_cluster(bench, f"lines-{name}", runners=1, source=source)
            )
            talk = await stack.enter_async_context(cluster.talk(1))
            sessions = await _start_sessions(cluster, talk)
            run = _Run(cluster, talk, sessions, Cost(0, 0, 0), [])
            await _round(run, 1.0)  # the first turn is not measured
            runs[name] = run._replace(idle=await cluster.idle(IDLE_SECONDS))
        for number in bench.rounds(ROUNDS, "sessions write"):
            order = sorted(runs.values(), key=lambda run: run.cluster.name, reverse=number % 2 == 0)
            for run in order:
                run.rounds.append(await _round(run, MEASURED_SECONDS))
    return runs


def _earlier_source(folder: Path) -> Path | None:
    """The sources of the earlier commit; None if the repository does not have it."""
    command = ["git", "-C", str(HERE.parent), "archive", BEFORE, "src"]
    packed = subprocess.run(command, capture_output=True, timeout=60, check=False)
    if packed.returncode != 0:
        return None
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
        archive.extractall(folder / BEFORE, filter="data")
    return folder / BEFORE / "src"


async def _start_sessions(cluster: MeasuredCluster, talk: Talk) -> list[str]:
    """Start all sessions at once, and follow them."""
    folder = str(cluster.work)
    for number in range(SESSIONS):
        await talk.say(type="command", id=f"start-{number}", command="start", fields={"cwd": folder})
    receipts = [await talk.hear("receipt") for _ in range(SESSIONS)]
    sessions = [receipt["result"]["session"]["id"] for receipt in receipts]
    for session in sessions:
        await talk.say(type="subscribe", session=session, after=0)
        await talk.hear("subscribed")
    return sessions


async def _round(run: _Run, seconds: float) -> _Round:
    """Run a turn in every session, and measure for some seconds from the moment when all of them write."""
    text = f"kept {round((seconds + MARGIN_SECONDS) / PAUSE)} {round(PAUSE * 1000)}"
    phases = random.Random(19)  # sessions of different people do not write in step
    for session in sorted(run.sessions, key=lambda _: phases.random()):
        fields = {"session": session, "text": text}
        await run.talk.say(type="command", id=f"c{time.monotonic_ns()}", command="send", fields=fields)
        await asyncio.sleep(phases.expovariate(SESSIONS / PAUSE))
    silent, speaking = set(run.sessions), set(run.sessions)
    delays: list[float] = []
    begun = ended = (0.0, run.cluster.cpu())
    async with asyncio.timeout(PATIENCE + seconds):
        while speaking:
            line = await run.talk.hear("events")
            now = time.monotonic()
            for data in (event["data"] for event in line["events"] if event["kind"] == "frame"):
                if data["type"] == "result":
                    speaking.discard(line["session"])
                elif "at" in data and silent:
                    silent.discard(line["session"])
                    begun = now, run.cluster.cpu()
                elif "at" in data and now - begun[0] < seconds:
                    delays.append(now - data["at"] / 1e9)
                    ended = now, run.cluster.cpu()
    took = ended[0] - begun[0]
    spent = ended[1].less(begun[1]).less(run.idle, took)
    return _Round(Cost(*(part / len(delays) for part in spent)), len(delays) / took, delays)
