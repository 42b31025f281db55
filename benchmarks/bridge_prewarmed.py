"""Starting a session in a prewarmed process, against starting it in a new one.

Two servers without sockets run `handrail-agent`, one of them with a process that waits. Each round starts and stops one
session on either. The time is that of the command `start`, which returns once the agent has answered `initialize`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.figures import Section, at_most
from benchmarks.workbench import Workbench
from handrail.bridge.configuration import Configuration
from handrail.bridge.server import Bridge
from handrail.model_access.choice import CliChoice

__all__ = ["measure"]

ROUNDS = 12
SCOPES = frozenset({"view", "prompt", "approve", "admin"})
SHARE = 0.5
"""Promised share of the time of a new process."""
QUIET = 0.25
"""Seconds without CPU time after which a waiting process has loaded its modules."""


@dataclass
class Figures:
    """Seconds by round: until the session was started, and the CPU time of its process meanwhile."""

    wall: list[float] = field(default_factory=list[float])
    cpu: list[float] = field(default_factory=list[float])


def measure(bench: Workbench) -> Section:
    """The first round only warms the caches."""
    new, waiting = asyncio.run(_rounds(bench))
    wall, cpu = median(waiting.wall) / median(new.wall), median(waiting.cpu) / median(new.cpu)
    return Section(
        "Prewarmed processes",
        f"From the command `start` to its answer, after `initialize`; median of {len(new.wall)} sessions of "
        "`handrail-agent` each, alternating. CPU time of the agent meanwhile.",
        ("", "wall time", "CPU time of the agent"),
        (
            ("new process", _milliseconds(median(new.wall)), _milliseconds(median(new.cpu))),
            (
                "process that waited (`--prewarm 1`)",
                _milliseconds(median(waiting.wall)),
                _milliseconds(median(waiting.cpu)),
            ),
            ("ratio", f"{wall:.2f}×", f"{cpu:.2f}×"),
        ),
        (
            at_most("time to start a session in a prewarmed process, against a new one", SHARE, wall),
            at_most("CPU time of the agent for that start", SHARE, cpu),
        ),
    )


async def _rounds(bench: Workbench) -> tuple[Figures, Figures]:
    new, waiting = Figures(), Figures()
    with _empty_home(bench.folder / "prewarm-home"):
        await _alternate(bench, new, waiting)
    return new, waiting


@contextmanager
def _empty_home(home: Path) -> Generator[None]:
    """Have the agents find no settings of a person."""
    home.mkdir()
    before = os.environ["HOME"]
    os.environ["HOME"] = str(home)
    try:
        yield
    finally:
        os.environ["HOME"] = before


async def _alternate(bench: Workbench, new: Figures, waiting: Figures) -> None:
    async with _server(bench.folder, 0) as cold, _server(bench.folder, 1) as warm:
        for number in bench.rounds(ROUNDS + 1, "starting sessions"):
            for bridge, figures in ((cold, new), (warm, waiting)):
                await _round(bridge, bench.folder, figures if number > 1 else Figures(), number)


@asynccontextmanager
async def _server(folder: Path, prewarm: int) -> AsyncGenerator[Bridge]:
    agent = str(Path(sys.executable).with_name("handrail-agent"))
    data = folder / f"prewarm-{prewarm}"
    async with Bridge(Configuration(cli=CliChoice.fixed(agent), data=data, roots=(folder,), prewarm=prewarm)) as bridge:
        yield bridge


async def _round(bridge: Bridge, folder: Path, figures: Figures, number: int) -> None:
    await bridge.sessions.prewarmed.filled()
    used = {pid: await _loaded(pid) for pid in bridge.sessions.prewarmed.pids}
    begun = time.perf_counter()
    session = (await _do(bridge, f"start-{number}", "start", cwd=str(folder)))["session"]["id"]
    figures.wall.append(time.perf_counter() - begun)
    pid = (await bridge.sessions.get(session)).session.pid
    assert pid is not None
    figures.cpu.append(_cpu(pid) - used.get(pid, 0.0))
    await _do(bridge, f"stop-{number}", "stop", session=session)


async def _loaded(pid: int) -> float:
    """Wait until a process has loaded its modules. Returns the CPU seconds that it took."""
    before, now = -1.0, 0.0
    while now != before:
        await asyncio.sleep(QUIET)
        before, now = now, _cpu(pid)
    return now


def _cpu(pid: int) -> float:
    return time.clock_gettime((~pid << 3) | 2)  # the CPU clock of another process on Linux


async def _do(bridge: Bridge, id: str, name: str, **fields: str) -> dict[str, dict[str, str]]:
    done = await bridge.commands.do("bench", id, name, json.dumps(fields).encode(), by="bench", scopes=SCOPES)
    receipt = json.loads(done)
    if not receipt["ok"]:
        raise RuntimeError(receipt["error"]["message"])
    return receipt["result"]


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"
