"""CPU per turn in long sessions, time to resume them, and request sizes with compaction.

The scripted model runs in the agent's process, so only the agent is measured. The floor is a loop that reads each line
and writes three. The last turns of the long session alternate with those of a young one, so that other load on the
machine affects both.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from statistics import mean

from benchmarks.agent_process import AgentProcess, agent
from benchmarks.figures import Section, at_most
from benchmarks.workbench import PROGRAMS, Workbench
from handrail.testing import Lab

__all__ = ["measure"]

TURNS, EARLY = 10_000, (100, 200)
QUICK_TURNS = 1_000
WINDOW, LONG_TURNS = 20_000, 400
RESUMES = 5
SCRIPT = {"replies": [], "afterwards": {"blocks": [{"type": "text", "text": "It is said. " * 20}]}}
SESSION = "6f1d3c5e-0c1e-4a7b-9f52-7f0e5a1b2c3d"


def measure(bench: Workbench) -> Section:
    """A long session, its resume, and a session larger than its context window."""
    turns = QUICK_TURNS if bench.quick else TURNS
    early, late, resumed, size = asyncio.run(_talk(bench, turns))
    floor = asyncio.run(_floor(bench))
    bench.say("a session larger than its window")
    long = bench.figures(bench.ours, "long_talk.py", str(WINDOW), str(LONG_TURNS))
    return Section(
        "A long session of the agent",
        f"{turns:,} turns with the scripted model in one process: CPU time of the process, mean of 100 turns, "
        "alternating with those of a young session; for comparison, a loop that only copies lines. Then that session "
        f"is resumed. Last, {LONG_TURNS} turns in a window of {WINDOW:,} tokens, with compaction.",
        ("", "", ""),
        (
            (f"CPU per turn, turns {EARLY[0]}–{EARLY[1]}", _milliseconds(early), f"{1 / early:,.0f} turns/s"),
            (f"CPU per turn, the last 100 of {turns:,}", _milliseconds(late), f"{1 / late:,.0f} turns/s"),
            ("floor: lines copied by a loop", _milliseconds(floor), f"{1 / floor:,.0f} turns/s"),
            (
                "resume, process to `initialize` answer, fastest",
                f"{resumed:.2f} s",
                f"{size / 1024 / 1024:.1f} MB on disk",
            ),
            (
                f"largest request, window of {WINDOW:,} tokens",
                f"{long['largest']:,} tokens",
                f"{long['summaries']} summaries in {long['turns']} turns",
            ),
        ),
        (
            at_most(f"CPU per turn at turn {turns:,}, against turns {EARLY[0]}–{EARLY[1]}", 1.2, late / early),
            at_most("resume of that session", 1.0, resumed, " s"),
            at_most("largest request, against the window, with compaction", 1.0, long["largest"] / WINDOW),
        ),
    )


async def _talk(bench: Workbench, turns: int) -> tuple[float, float, float, int]:
    """Returns CPU per turn of a young and an old session, seconds to resume, and the size of the transcript."""
    lab = Lab(bench.folder / "turns")
    environment = lab.environment(HANDRAIL_SCRIPT=json.dumps(SCRIPT))
    command = Path(bench.ours).with_name("handrail-agent")
    async with (
        agent(command, environment, lab.project, ("--session-id", SESSION)) as old,
        agent(command, environment, lab.project) as young,
    ):
        count = EARLY[1] - EARLY[0]
        await _turns(bench, old, turns - count)
        await _turns(bench, young, EARLY[0])
        pairs = [(await _cpu_of_turn(young), await _cpu_of_turn(old)) for _ in range(count)]
        await old.end()
        await young.end()
    (file,) = lab.home.rglob(f"{SESSION}.jsonl")
    resumed: list[float] = []
    for _ in bench.rounds(RESUMES, "resuming"):
        async with agent(command, environment, lab.project, ("--resume", SESSION)) as running:
            resumed.append(await running.initialize())
            await running.turn()
            await running.end()
    early, late = (mean(used) for used in zip(*pairs, strict=True))
    return early, late, min(resumed), file.stat().st_size


async def _floor(bench: Workbench) -> float:
    command = bench.folder / "echo"
    command.write_text(f'#!/bin/sh\nexec "{bench.ours}" -I -S "{PROGRAMS / "echo_cli.py"}"\n')
    command.chmod(0o700)
    lab = Lab(bench.folder / "floor")
    async with agent(command, lab.environment(), lab.project) as running:
        await _turns(bench, running, EARLY[0])
        used = [await _cpu_of_turn(running) for _ in range(EARLY[1] - EARLY[0])]
        await running.end()
    return mean(used)


async def _turns(bench: Workbench, running: AgentProcess, turns: int) -> None:
    for number in range(turns):
        if number % 100 == 0:
            bench.say(f"turn {number} of {turns}")
        await running.turn()


async def _cpu_of_turn(running: AgentProcess) -> float:
    before = running.cpu()
    await running.turn()
    return running.cpu() - before


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"
