"""Times of permission decisions, and how they grow with the length of the command.

The cases are those of tests/permissions/corpus and strings of the fuzzer.
"""

from __future__ import annotations

import gc
import heapq
import json
from collections.abc import Callable, Iterable
from itertools import cycle, pairwise
from pathlib import Path
from random import Random
from statistics import median, quantiles
from time import thread_time
from typing import Any

from benchmarks.figures import Section, at_most
from benchmarks.workbench import Workbench
from handrail.permissions.decide import Circumstances, decide
from handrail.permissions.paths.matching import Anchors, Resolved, absolute
from handrail.permissions.rules.rule import read_rules
from tests.fuzz.shell_strings import shell_string

__all__ = ["measure"]

CORPUS = Path(__file__).resolve().parents[1] / "tests/permissions/corpus"
FILES = ("bash.jsonl", "own_attacks.jsonl", "own_benign.jsonl")
ANCHORS = Anchors(cwd="/w/proj", project="/w/proj", home="/w/home")
LENGTHS = (1_000, 10_000, 100_000)
CASES, SLOWEST = 3, 25
"""Cases of each class, and strings of the fuzzer, that are made longer."""
STRINGS = 10_000
ROUNDS, MOST_ROUNDS = 2, 11
CLEARLY_IN_LIMIT = 11.5
MS = 1000.0

Growth = dict[str, tuple[float, float]]
"""By name: the worst ratio of the times for a command ten times as long, and the longest time."""


class World:
    """An empty disk, so that only the engine is measured."""

    def resolve(self, path: str) -> Resolved:
        """Resolve to a missing path."""
        lexical = absolute(path, ANCHORS.cwd, ANCHORS.home)
        return Resolved(asked=path, lexical=lexical, real=lexical)

    def names(self, folder: str) -> tuple[str, ...]:
        """Every folder is empty."""
        return ()

    def is_plain(self, folder: str) -> bool:
        """Empty folders hold no links."""
        return True


def measure(bench: Workbench) -> Section:
    """Measure single decisions and their growth."""
    quick = bench.quick
    rows = [json.loads(line) for name in FILES for line in (CORPUS / name).read_text().splitlines()]
    gc.collect()
    gc.disable()
    try:
        bench.say(f"decisions about {len(rows):,} commands")
        times = _times(rows, 2 if quick else 7)
        growth = _growth_by_class(bench, rows, 1 if quick else CASES)
        bench.say("the slowest strings of the fuzzer, made longer")
        slowest = _slowest(STRINGS // 5 if quick else STRINGS, SLOWEST // 5 if quick else SLOWEST)
        growth["the fuzzer's slowest"] = _growth_of(slowest)
    finally:
        gc.enable()
    cuts = quantiles(times, n=1000)
    p50, p90, p99, p999 = (cuts[at] * MS for at in (499, 899, 989, 998))
    return Section(
        "Permission decisions",
        f"Every case of the corpus ({len(rows)}), decided by its own rules, without disk access. Then commands made "
        f"ten times longer, from {LENGTHS[0]:,} to {LENGTHS[-1]:,} characters: some of each class of cases, and the "
        f"{SLOWEST} slowest strings of the fuzzer. Each row shows the worst ratio. All times are CPU times.",
        ("what", "time"),
        (
            *((name, f"{value:.3f} ms") for name, value in (("p50", p50), ("p90", p90), ("p99", p99), ("p99.9", p999))),
            *((f"10× longer: {name}", f"{ratio:.1f}× ({most * MS:.0f} ms)") for name, (ratio, most) in growth.items()),
        ),
        (
            at_most("permission decision, p50", 1, p50, " ms"),
            at_most("permission decision, p99", 5, p99, " ms"),
            at_most("time to decide a command of ten times the length", 13, max(ratio for ratio, _ in growth.values())),
        ),
    )


def _circumstances(row: dict[str, Any]) -> Circumstances:
    rules = tuple(rule for kind in ("deny", "ask", "allow") for rule in read_rules(row.get(kind, ()), kind, "session"))
    bypass = row.get("mode") == "bypassPermissions"
    return Circumstances(anchors=ANCHORS, rules=rules, mode=row.get("mode", "default"), bypass_available=bypass)


def _times(rows: list[dict[str, Any]], rounds: int) -> list[float]:
    cases = [(row["cmd"], _circumstances(row)) for row in rows]
    for command, circumstances in cases:
        _time(command, circumstances)
    return [_time(command, circumstances) for _ in range(rounds) for command, circumstances in cases]


def _time(command: str, circumstances: Circumstances) -> float:
    """CPU time, which is not affected by other programs."""
    begun = thread_time()
    decide("Bash", {"command": command}, circumstances, World())
    return thread_time() - begun


def _growth_by_class(bench: Workbench, rows: list[dict[str, Any]], most: int) -> Growth:
    """The worst growth among some cases of each class, each lengthened in one of several ways."""
    found: Growth = {}
    classes = sorted({row["cls"] for row in rows})
    for number, name in enumerate(classes, 1):
        bench.say(f"longer commands, class {number} of {len(classes)}")
        members = [row for row in rows if row["cls"] == name and row["cmd"].isprintable()]
        chosen = members[:: max(1, len(members) // most)]
        found[name] = _growth_of((row["cmd"], _circumstances(row)) for row in chosen)
    return found


def _growth_of(cases: Iterable[tuple[str, Circumstances]]) -> tuple[float, float]:
    worst, longest = 0.0, 0.0
    for (command, circumstances), repeat in zip(cases, cycle(_REPEATS), strict=False):
        count = max(1, round(LENGTHS[0] / (len(command) + 2)))
        commands = [repeat(command, count * length // LENGTHS[0]) for length in LENGTHS]
        rounds = _rounds(commands, circumstances)
        longest = max(longest, min(times[-1] for times in rounds))
        worst = max(worst, _steepest(rounds))
    return worst, longest


def _steepest(rounds: list[list[float]]) -> float:
    """The worst step from one length to the next, each the median ratio over all rounds.

    Only times of the same round are compared, because the speed of the processor varies over time.
    """
    steps = zip(*([long / short for short, long in pairwise(times)] for times in rounds), strict=True)
    return max(median(ratios) for ratios in steps)


def _rounds(commands: list[str], circumstances: Circumstances) -> list[list[float]]:
    """The times of all commands, alternating; with more rounds if the growth is not clearly within the limit."""
    rounds: list[list[float]] = []
    while len(rounds) < ROUNDS or (len(rounds) < MOST_ROUNDS and _steepest(rounds) > CLEARLY_IN_LIMIT):
        rounds.append([_effort(command, circumstances) for command in commands])
    return rounds


def _effort(command: str, circumstances: Circumstances) -> float:
    """The best of several runs within 20 ms."""
    times: list[float] = []
    while not times or (sum(times) < 0.02 and len(times) < 50):
        times.append(_time(command, circumstances))
    return min(times)


_REPEATS: tuple[Callable[[str, int], str], ...] = (
    lambda command, count: command * count,
    lambda command, count: "; ".join([command] * count),
    lambda command, count: command + " " + "x" * (len(command) * count),
)
"""Ways to lengthen a command by an exact factor."""


def _slowest(count: int, most: int) -> list[tuple[str, Circumstances]]:
    random, slowest = Random(1), list[tuple[float, str]]()
    circumstances = _circumstances({"allow": ["Bash(ok:*)", "Bash(fine:*)"]})
    for _ in range(count):
        text = shell_string(random)
        heapq.heappush(slowest, (min(_time(text, circumstances) for _ in range(3)), text))
        if len(slowest) > most:
            heapq.heappop(slowest)
    return [(text, circumstances) for _, text in slowest if text]
