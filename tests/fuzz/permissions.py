"""Judges random shell strings and runs the harmless ones in a real bash. Prints JSON; exits with 1 on misses.

    python tests/fuzz/permissions.py --count 1000000 --seed 1

A miss is an allowed string with which bash called a program that the judgement did not name, called a program with
other arguments, or created a file. With --without-prefilter the parser reads the raw text. Such a run must find misses,
which shows that the fuzzer works.
"""

from __future__ import annotations

import argparse
import contextlib
import heapq
import json
import multiprocessing
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from zlib import crc32

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from handrail.permissions.bash.judge import BashJudge
from handrail.permissions.circumstances import Circumstances, strictest
from handrail.permissions.paths.matching import Anchors, Resolved, absolute
from handrail.permissions.rules.rule import read_rules
from handrail.permissions.shell import commands
from handrail.permissions.shell.words import HERE, HOLE, HOME, NUMBER, Word
from tests.fuzz.bash_sandbox import Sandbox, sandbox
from tests.fuzz.raw_parser import read_raw
from tests.fuzz.shell_strings import shell_string

RULES = ("Bash(ok:*)", "Bash(fine:*)", "Bash(nice:*)")
ANCHORS = Anchors(cwd="/w", project="/w", home="/h")
SLOWEST = 100
REPORTED_EVERY = 25_000


class World:
    """An empty disk; the working folder is /w."""

    def resolve(self, path: str) -> Resolved:
        """A path that does not exist."""
        lexical = absolute(path, ANCHORS.cwd, ANCHORS.home)
        return Resolved(asked=path, lexical=lexical, real=lexical)

    def names(self, folder: str) -> tuple[str, ...]:
        """An empty list of names."""
        return ()

    def is_plain(self, folder: str) -> bool:
        """Whether a folder has only plain names: true, since it is empty."""
        return True


class Round(NamedTuple):
    """The counts and misses of one worker."""

    strings: int
    allowed: int
    calls: int
    misses: list[dict[str, Any]]
    slowest: list[tuple[float, str]]


def main() -> int:
    """Run, print the report and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000, help="how many different strings")
    parser.add_argument("--seed", type=int, default=1)
    # More than there are cores: a worker mostly waits for bash.
    parser.add_argument("--workers", type=int, default=2 * multiprocessing.cpu_count())
    parser.add_argument("--without-prefilter", action="store_true", help="let the parser read the raw text")
    parser.add_argument("--slowest", type=Path, help="write the slowest strings here, one JSON text a line")
    asked = parser.parse_args()
    started = time.monotonic()
    rounds = _rounds(asked)
    report = _report(rounds, asked, time.monotonic() - started)
    print(json.dumps(report, ensure_ascii=True))
    if asked.slowest:
        slowest = heapq.nlargest(SLOWEST, (item for part in rounds for item in part.slowest))
        asked.slowest.write_text("".join(json.dumps(text) + "\n" for _, text in slowest))
    return 1 if report["misses"] else 0


def _rounds(asked: argparse.Namespace) -> list[Round]:
    each, shares = -(-asked.count // asked.workers), asked.workers
    jobs = [(asked.seed * 1000 + share, share, shares, each, asked.without_prefilter) for share in range(shares)]
    with multiprocessing.get_context("spawn").Pool(asked.workers) as pool:
        return pool.starmap(work, jobs)


def _report(rounds: list[Round], asked: argparse.Namespace, seconds: float) -> dict[str, Any]:
    strings, allowed = sum(part.strings for part in rounds), sum(part.allowed for part in rounds)
    misses = [miss for part in rounds for miss in part.misses]
    return {
        "strings": strings,
        "allowed": allowed,
        "share": round(allowed / strings, 3),
        "calls": sum(part.calls for part in rounds),
        "misses": len(misses),
        "seed": asked.seed,
        "prefilter": not asked.without_prefilter,
        "seconds": round(seconds, 1),
        "examples": misses[:10],
    }


def work(seed: int, share: int, shares: int, count: int, without_prefilter: bool) -> Round:
    """Run one worker, with different strings and a separate sandbox."""
    random, seen = Random(seed), set[str]()
    allowed = calls = 0
    misses: list[dict[str, Any]] = []
    slowest: list[tuple[float, str]] = []
    rules = tuple(read_rules(RULES, "allow", "session"))
    circumstances = Circumstances(anchors=ANCHORS, rules=rules)
    with _reading_raw(without_prefilter), sandbox() as box:
        while len(seen) < count:
            text = shell_string(random)
            if text in seen or crc32(text.encode(errors="surrogatepass")) % shares != share:
                continue
            seen.add(text)
            if len(seen) % REPORTED_EVERY == 0:
                print(f"fuzz: {len(seen):,} of {count:,} in part {share + 1} of {shares}", file=sys.stderr, flush=True)
            begun = time.perf_counter()
            judged = BashJudge(circumstances, World(), "Bash").judge(text)
            heapq.heappush(slowest, (time.perf_counter() - begun, text))
            if len(slowest) > SLOWEST:
                heapq.heappop(slowest)
            if strictest([part.step for part in judged]).behavior == "allow":
                allowed += 1
                made = _run(box, text, [part.command.words for part in judged])
                calls += made[0]
                for miss in made[1]:
                    misses.append({"text": text, **miss})
                    print(f"fuzz: miss {json.dumps(misses[-1])}", file=sys.stderr, flush=True)
    return Round(len(seen), allowed, calls, misses, slowest)


def _run(box: Sandbox, text: str, predicted: list[tuple[Word, ...]]) -> tuple[int, list[dict[str, Any]]]:
    calls, files = box.run(text)
    expected = [words for words in predicted if words]
    misses = [{"called": call} for call in calls if not any(_fits(words, call) for words in expected)]
    return len(calls), misses + ([{"made": files}] if files else [])


def _fits(words: tuple[Word, ...], call: list[str]) -> bool:
    """Whether a call matches the prediction. A word that may expand to several ends the comparison."""
    for index, word in enumerate(words):
        if word.splits or (word.names and NUMBER in word.text) or (word.globs and index):
            return True
        if index >= len(call) or not re.fullmatch(_expression(word), call[index], re.DOTALL):
            return False
    return len(call) == len(words)


def _expression(word: Word) -> str:
    return re.sub(f"[{HOLE}{HERE}{NUMBER}]|\\\\?{HOME}", ".*", re.escape(word.text))


@contextlib.contextmanager
def _reading_raw(without_prefilter: bool) -> Iterator[None]:
    kept = commands.prefilter
    commands.prefilter = read_raw if without_prefilter else kept
    try:
        yield
    finally:
        commands.prefilter = kept


if __name__ == "__main__":
    sys.exit(main())
