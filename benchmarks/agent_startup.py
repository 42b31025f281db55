"""Response times and memory of handrail-agent and the real CLI.

Both use the same scripted Messages API on loopback, in throw-away homes, alternating in every round.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.agent_process import agent
from benchmarks.figures import Section, at_most
from benchmarks.workbench import Workbench
from handrail.testing import Lab, Script, ScriptedMessagesApi, real_cli

__all__ = ["measure"]

ROUNDS, TURNS = 12, 60
LONG_ROUNDS = 3
"""Rounds with `TURNS` turns; the others have `FEW`."""
FEW = 6
SETTLE = 1.0
"""Seconds to wait before memory is measured."""
TIME_SHARE, MEMORY_SHARE = 0.25, 0.22
"""Promised shares of the time and memory of the CLI."""
MEGABYTE = 1024 * 1024
SCRIPT = Script.from_dict({"replies": [], "afterwards": {"blocks": [{"type": "text", "text": "It is said. " * 20}]}})


@dataclass
class Figures:
    """The measurements of one agent, by round."""

    start: list[float] = field(default_factory=list[float])
    first_turn: list[float] = field(default_factory=list[float])
    later_turns: list[float] = field(default_factory=list[float])
    exit: list[float] = field(default_factory=list[float])
    idle: list[float] = field(default_factory=list[float])
    used: list[float] = field(default_factory=list[float])


def measure(bench: Workbench) -> Section:
    """Each round starts both agents once; the first round only warms the caches."""
    theirs = real_cli()
    if theirs is None:
        raise RuntimeError("the real CLI is not installed; run `make bench`, or set HANDRAIL_REAL_CLI")
    return _section(*asyncio.run(_measure(bench, Path(sys.executable).with_name("handrail-agent"), theirs)))


async def _measure(bench: Workbench, our_agent: Path, their_agent: Path) -> tuple[Figures, Figures]:
    ours, theirs = Figures(), Figures()
    async with ScriptedMessagesApi() as api:
        for number in bench.rounds(ROUNDS + 1, "starting agents"):
            turns = TURNS if 1 < number <= 1 + LONG_ROUNDS else FEW
            for command, figures in ((our_agent, ours), (their_agent, theirs)):
                lab = Lab(bench.folder / f"agent-{number}")
                await _round(command, lab, api, figures if number > 1 else Figures(), turns)
                shutil.rmtree(lab.root)
    return ours, theirs


async def _round(command: Path, lab: Lab, api: ScriptedMessagesApi, figures: Figures, turns: int) -> None:
    environment = lab.environment(api.session(SCRIPT))
    async with agent(command, environment, lab.project) as running:
        figures.start.append(await running.initialize())
        await asyncio.sleep(SETTLE)
        figures.idle.append(running.resident())
        figures.first_turn.append(await running.turn())
        for _ in range(turns - 1):
            figures.later_turns.append(await running.turn())
        if turns == TURNS:
            figures.used.append(running.resident())
        figures.exit.append(await running.end())


def _section(ours: Figures, theirs: Figures) -> Section:
    rows = (
        ("process to `initialize` answer", "start", _milliseconds),
        ("prompt to first line, first turn", "first_turn", _milliseconds),
        ("prompt to first line, later turns", "later_turns", _milliseconds),
        ("end of input to exit", "exit", _milliseconds),
        ("resident memory, idle", "idle", _megabytes),
        (f"resident memory after {TURNS} turns", "used", _megabytes),
    )
    middle = {name: (median(getattr(ours, name)), median(getattr(theirs, name))) for _, name, _ in rows}
    ratio = {name: ours / theirs for name, (ours, theirs) in middle.items()}
    return Section(
        "The agent beside the real CLI",
        "`handrail-agent` and the real CLI in alternation, measured by their host, with the same scripted Messages API "
        f"on loopback. Median of {len(ours.start)} rounds; later turns: of {len(ours.later_turns)} turns. Memory of "
        f"the process and its children; idle: {SETTLE:g} s after `initialize`.",
        ("", "handrail-agent", "claude", "ratio"),
        tuple((text, *(shown(each) for each in middle[name]), f"{ratio[name]:.2f}×") for text, name, shown in rows),
        (
            at_most(
                "time from the start of the process to its `initialize` answer, against the CLI",
                TIME_SHARE,
                ratio["start"],
            ),
            at_most("resident memory of the idle agent, against the CLI", MEMORY_SHARE, ratio["idle"]),
            at_most(
                "time from a prompt to the first line in later turns, against the CLI", TIME_SHARE, ratio["later_turns"]
            ),
        ),
    )


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def _megabytes(size: float) -> str:
    return f"{size / MEGABYTE:.0f} MB"
