"""CPU of late turns with the Messages API: turns 195–205 of a session against turns 15–25 of another.

Each turn reads a file and runs a command, so the history grows by some kilobytes, and every request contains all of it.
Turns of the old and the young session alternate, so that other load on the machine affects both.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from statistics import median

from benchmarks.agent_process import AgentProcess, agent
from benchmarks.figures import Section, at_most
from benchmarks.workbench import Workbench
from handrail.testing import Lab, Script, ScriptedMessagesApi, When, reply, text, tool_use

__all__ = ["measure"]

YOUNG, OLD, COUNT = 15, 195, 11
ROUNDS = 5
FREE = ("--dangerously-skip-permissions",)
PROMPT = "Look at the next part and say what you found. " * 5
SOURCE = "".join(f"value_{number} = compute(first={number}, second={number * 7})\n" for number in range(60))
COMMAND = (
    'for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "$n: tests/test_part_$n.py passed, nothing else to report"; done'
)


def measure(bench: Workbench) -> Section:
    """Every round has a new pair of sessions."""
    rounds = asyncio.run(_measure(bench))
    young, old = (median(used) for used in zip(*(figures[:2] for figures in rounds), strict=True))
    ratio = median(figures[1] / figures[0] for figures in rounds)
    size = rounds[-1][2]
    first, last = YOUNG + COUNT - 1, OLD + COUNT - 1
    return Section(
        "Late turns of the agent with the Messages API",
        "Turns that read a file and run a command, with a scripted Messages API on loopback: CPU time of the agent's "
        f"process per turn of two requests, mean of {COUNT} turns, old and young sessions in alternation; median of "
        f"{len(rounds)} rounds.",
        ("", "CPU per turn"),
        (
            (f"turns {YOUNG}–{first}", f"{young * 1000:.1f} ms"),
            (f"turns {OLD}–{last}", f"{old * 1000:.1f} ms"),
            (f"request of turn {last}", f"{size / 1024:,.0f} KB"),
        ),
        (at_most(f"CPU of turns {OLD}–{last}, against turns {YOUNG}–{first}", 1.2, ratio),),
    )


async def _measure(bench: Workbench) -> list[tuple[float, float, int]]:
    found: list[tuple[float, float, int]] = []
    async with ScriptedMessagesApi() as api:
        for number in bench.rounds(ROUNDS, "late turns"):
            lab = Lab(bench.folder / f"late-{number}")
            found.append(await _round(Path(bench.ours).with_name("handrail-agent"), lab, api))
            shutil.rmtree(lab.root)
    return found


async def _round(command: Path, lab: Lab, api: ScriptedMessagesApi) -> tuple[float, float, int]:
    """Returns the mean CPU of a turn of the young and of the old session, and the bytes of the last request."""
    source = lab.project / "part.py"
    source.write_text(SOURCE)
    calls = reply(
        text("I'll look at it."),
        tool_use("Read", file_path=str(source)),
        tool_use("Bash", command=COMMAND),
        when=When(prompt="Look at the next part"),
    )
    script = Script(replies=(calls,), afterwards=reply(text("All parts of it are as they should be. " * 10)))
    ends = [api.session(script), api.session(script)]
    async with (
        agent(command, lab.environment(ends[0]), lab.project, FREE) as young,
        agent(command, lab.environment(ends[1]), lab.project, FREE) as old,
    ):
        await _turns(young, YOUNG - 1)
        await _turns(old, OLD - 1)
        pairs = [(await _cpu_of_turn(young), await _cpu_of_turn(old)) for _ in range(COUNT)]
        await young.end()
        await old.end()
    size = int(ends[1].requests[-1].headers["content-length"])
    early, late = (sum(used) / COUNT for used in zip(*pairs, strict=True))
    return early, late, size


async def _turns(running: AgentProcess, count: int) -> None:
    for _ in range(count):
        await running.turn(PROMPT)


async def _cpu_of_turn(running: AgentProcess) -> float:
    before = running.cpu()
    await running.turn(PROMPT)
    return running.cpu() - before
