"""What the cage costs: the same commands alternating inside and outside it.

python -m benchmarks.cage          (or --quick, with fewer rounds)
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any, NamedTuple

from benchmarks.figures import Section, at_most
from handrail.agent.tools.desk import Desk
from handrail.agent.tools.registry import Tools
from handrail.cage.guards import guard_problem
from handrail.cage.hidden import hidden_files
from handrail.permissions.circumstances import Circumstances
from handrail.permissions.rules.rule import SourcedRule, parse_rule

__all__ = ["measure", "measure_cage"]

COMMANDS = {"true": "true", "cat of a file": "cat a.txt", "git status": "git status --short"}
FILES = 2000
MS = 1000.0


class Run(NamedTuple):
    """The seconds that one call took."""

    wall: float
    cpu: float


def measure(bench: Any) -> Section:
    """The entry point for `python -m benchmarks`."""
    return measure_cage(quick=getattr(bench, "quick", False))


def measure_cage(*, quick: bool = False) -> Section:
    """Measure the Bash tool with and without the cage."""
    if problem := guard_problem():
        raise RuntimeError(f"the cage cannot be measured here: {problem}")
    with tempfile.TemporaryDirectory() as folder:
        _fill(Path(folder, "project"))
        figures = asyncio.run(_measure(Path(folder), 20 if quick else 300))
    costs = {
        name: _cost([run.cpu for run in free], [run.cpu for run in caged]) for name, (free, caged) in figures.items()
    }
    return Section(
        "The cage",
        "One call of the Bash tool, from its input to its result, alternating outside and inside the cage. With a rule "
        f"that denies reading a name, the {FILES:,} files of the project are compared with it before every command. "
        "Times are those of the fastest tenth; the cost is the median difference in CPU time of the agent and the "
        "command between two calls that follow each other.",
        ("command", "outside", "inside", "difference", "cost"),
        tuple(_row(name, free, caged, costs[name]) for name, (free, caged) in figures.items()),
        tuple(at_most(f"cost of the cage: {name}", 2, costs[name], " ms") for name in COMMANDS),
    )


def _row(name: str, free: list[Run], caged: list[Run], cost: float) -> tuple[str, ...]:
    outside, inside = (quantiles([run.wall for run in runs], n=10)[0] * MS for runs in (free, caged))
    return (name, f"{outside:.2f} ms", f"{inside:.2f} ms", f"{inside - outside:.2f} ms", f"{cost:.2f} ms")


def _cost(free: list[float], caged: list[float]) -> float:
    return median(inside - outside for outside, inside in zip(free, caged, strict=True)) * MS


def _fill(project: Path) -> None:
    for number in range(FILES):
        file = project / f"folder{number // 50}" / f"{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (project / "a.txt").write_text("text\n")
    subprocess.run(["git", "init", "-q", project], check=True)


async def _measure(folder: Path, rounds: int) -> dict[str, tuple[list[Run], list[Run]]]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    desk = Desk(str(folder / "project"), home=str(folder), environment=environment)
    found = {name: await _compare(desk, command, rounds) for name, command in COMMANDS.items()}
    rule = SourcedRule(parse_rule("Read(.env)"), "deny", "session")
    desk.hidden_files = lambda: hidden_files(Circumstances(desk.anchors(), rules=(rule,)))
    found["true, with a rule to compare"] = await _compare(desk, "true", max(2, rounds // 10))
    return found


async def _compare(desk: Desk, command: str, rounds: int) -> tuple[list[Run], list[Run]]:
    bash = Tools()["Bash"]
    given = bash.read({"command": command})
    runs: dict[bool, list[Run]] = {False: [], True: []}
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds + 3):
            for desk.caged in (False, True):
                wall, cpu = perf_counter(), _cpu()
                await bash.run(given, desk)
                if turn >= 3:
                    runs[desk.caged].append(Run(perf_counter() - wall, _cpu() - cpu))
    finally:
        gc.enable()
    return runs[False], runs[True]


def _cpu() -> float:
    """CPU time of this process and of the children that have exited."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    section = measure_cage(quick="--quick" in sys.argv)
    for row in section.rows:
        print("  ".join(f"{cell:>14}" for cell in row))
    for promise in section.promises:
        print(f"{'kept' if promise.kept else 'BROKEN':7} {promise.text}: {promise.limit}, measured {promise.measured}")
    sys.exit(0 if all(promise.kept for promise in section.promises) else 1)
