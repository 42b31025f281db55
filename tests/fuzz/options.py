"""Judges command lines made of documented options, and runs the allowed ones. Prints JSON; exits with 1 on misses.

    python tests/fuzz/options.py --count 1000000 --seed 1

No rule is in force. A line that is allowed without the cage is run without it, one that is allowed in the cage is run
there; both in a sandbox without capabilities and with separate namespaces. It is a miss if a file outside is read,
any file is written, a listener is reached, a process is left, or a program starts that the judgement did not name.

With --with-faults some descriptions are too generous, as a check on the check: such a run must find every kind of miss
without the cage, and none in it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from msgspec.structs import replace

from handrail.cage.guards import guard_problem
from handrail.files.resolve import Disk, anchors_of
from handrail.permissions.bash.judge import BashJudge, Judged
from handrail.permissions.circumstances import Circumstances, strictest
from handrail.permissions.programs.awk import AWKS
from handrail.permissions.programs.description import program
from handrail.permissions.programs.read_only import READERS
from handrail.permissions.programs.tables.git_commands import GIT_COMMANDS
from tests.cage.attack_range import BOX, range_problem
from tests.fuzz.canaries import HELPERS, Canaries, Ran
from tests.fuzz.command_lines import CAGE_ONLY, Grammar, tools

PROGRAMS = "/usr/bin"
LARGEST_FILE = 1 << 22
REPORTED_EVERY = 25_000
BATCH = 20
COUNTS = ("lines", "allowed", "run", "run_in_cage", "too_long", "unrepeated")
_ENDLESS = frozenset({"tail", "sleep", "seq"})
"""Programs that may run until they are killed. Lines with them are run separately."""
FAULTS = ("sort", "date", "curl", *["git grep"] * 3, "setsid -f sleep")
"""What is run with faults. The last one stays in the background without a fault: only the cage ends it at once."""


def plant_faults() -> None:
    """Make some descriptions too generous: options that write a file, read one or run one; a program that connects."""
    READERS["sort"] = replace(READERS["sort"], options=READERS["sort"].options + " -o:path --output:path")
    READERS["date"] = program("-f:outside --file:outside")
    READERS["curl"] = program("-s -m:number", "text*")
    GIT_COMMANDS["grep"] = program("-i -O[:text] --open-files-in-pager[:text]", "pattern")


def main() -> int:
    """Run, print the report and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000, help="how many different command lines")
    parser.add_argument("--seed", type=int, default=1)
    # More than there are cores: a worker mostly waits for the programs that it runs.
    parser.add_argument("--workers", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--run-every", type=int, default=1, help="run one of so many allowed lines without the cage")
    parser.add_argument("--cage-every", type=int, default=1, help="run one of so many allowed lines in the cage")
    parser.add_argument("--with-faults", action="store_true", help="make some descriptions too generous")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        return asyncio.run(work(**json.loads(asked.worker)))
    if problem := range_problem() or guard_problem():
        print(f"fuzz: {problem}", file=sys.stderr)
        return 2
    started = time.monotonic()
    with ThreadPoolExecutor(asked.workers) as pool:
        parts = list(pool.map(lambda share: _part(asked, share), range(asked.workers)))
    report = _report(parts, asked, time.monotonic() - started)
    print(json.dumps(report))
    return 1 if report["misses"] else 0


def _report(parts: list[dict[str, Any]], asked: argparse.Namespace, seconds: float) -> dict[str, Any]:
    misses = [miss for part in parts for miss in part["misses"]]
    total = {name: sum(part[name] for part in parts) for name in COUNTS}
    kinds = Counter(f"{miss['where']}: {kind}" for miss in misses for kind in miss["effects"])
    return {
        **total,
        "programs": parts[0]["programs"],
        "options": parts[0]["options"],
        "undescribed_options": parts[0]["undescribed_options"],
        "misses": len(misses),
        "kinds": dict(kinds),
        "seed": asked.seed,
        "seconds": round(seconds, 1),
        "examples": misses[:40],
    }


def _part(asked: argparse.Namespace, share: int) -> dict[str, Any]:
    """Run one worker in a sandbox, with a copy of the programs that nothing else on the machine uses."""
    sources = Path(__file__).resolve().parents[2]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        copied = root / "bin"
        copied.mkdir()
        for name in program_names():
            if found := shutil.which(name, path=PROGRAMS):
                shutil.copy(found, copied / name)
        given = {
            "root": str(root),
            "share": share,
            "shares": asked.workers,
            "count": -(-asked.count // asked.workers),
            "seed": asked.seed * 1000 + share,
            "run_every": asked.run_every,
            "cage_every": asked.cage_every,
            "faults": asked.with_faults,
        }
        box = ["bwrap", *BOX, "--tmpfs", "/tmp", "--ro-bind", str(sources), str(sources), "--bind", folder, folder]
        box += ["--ro-bind", str(copied), PROGRAMS]
        command = [sys.executable, "-m", "tests.fuzz.options", "--worker", json.dumps(given)]
        environment = {"PATH": PROGRAMS, "HOME": str(root), "PYTHONPATH": str(sources)}
        ran = subprocess.run(
            [*box, "--chdir", str(sources), *command], stdout=subprocess.PIPE, env=environment, check=False
        )
    if ran.returncode:
        raise RuntimeError(f"a worker failed with code {ran.returncode}")
    return json.loads(ran.stdout)


def program_names() -> list[str]:
    """The programs of the tables, the programs they call, and programs that a faulty rule might start."""
    others = (
        "bash sh cat git sed find env timeout nice xargs touch tee rm man pager less vi editor ssh gpg setsid curl perl"
    ).split()
    helpers = [helper for names in HELPERS.values() for helper in names]
    return list(dict.fromkeys([*READERS, *AWKS, *CAGE_ONLY, *others, *helpers]))


class Batches:
    """Runs lines in batches, and those of a batch one by one if it had an effect or took too long.

    Lines of a batch start the same programs, so that a program that one of them starts by a fault is noticed. A miss
    is an effect that repeats: another process of the machine that walks through all folders is noticed once.
    """

    def __init__(self, run: Callable[[Sequence[str], frozenset[str]], Awaitable[Ran]], where: str) -> None:
        self._run, self._where = run, where
        self._waiting: dict[frozenset[str], list[str]] = {}
        self.ran = self.too_long = self.unrepeated = 0
        self.misses: list[dict[str, Any]] = []

    async def add(self, text: str, programs: frozenset[str]) -> None:
        """Run a line with the next batch of its kind."""
        waiting = self._waiting.setdefault(programs, [])
        waiting.append(text)
        if len(waiting) >= BATCH or _ENDLESS & programs:
            await self._flush(self._waiting.pop(programs), programs)

    async def finish(self) -> None:
        """Run all pending lines."""
        while self._waiting:
            programs, texts = self._waiting.popitem()
            await self._flush(texts, programs)

    async def _flush(self, texts: list[str], programs: frozenset[str]) -> None:
        self.ran += len(texts)
        whole = await self._run(texts, programs)
        if whole.ended and not whole.effects:
            return
        alone = [whole] if len(texts) == 1 else [await self._run([text], programs) for text in texts]
        self.too_long += sum(not ran.ended for ran in alone)
        noted = [await self._note([text], programs, ran) for text, ran in zip(texts, alone, strict=True)]
        if len(texts) > 1 and not any(noted):
            await self._note(texts, programs, whole)

    async def _note(self, texts: list[str], programs: frozenset[str], ran: Ran) -> bool:
        """Count a miss if lines that had an effect have one again."""
        if not ran.effects:
            return False
        ran = await self._run(texts, programs)
        if ran.effects:
            miss = {"text": "\n".join(texts), "where": self._where, "effects": ran.effects}
            print(f"fuzz: miss {json.dumps(miss)}", file=sys.stderr, flush=True)
            self.misses.append(miss)
        else:
            self.unrepeated += 1
        return bool(ran.effects)


async def work(
    root: str, share: int, shares: int, count: int, seed: int, run_every: int, cage_every: int, faults: bool
) -> int:
    """Run one worker, with different lines and a separate project."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if faults:
        plant_faults()
    known = tools(FAULTS if faults else ())
    canaries = Canaries(Path(root) / "work", PROGRAMS)
    grammar = Grammar(
        Random(seed), known, out=f"{root}/work/outside/secret", away=f"{root}/work/outside", port=canaries.port
    )
    anchors = anchors_of(str(canaries.project), home=f"{root}/work/home")
    circumstances = Circumstances(anchors=anchors)
    counts = Counter[str]()

    async def run_outside(texts: Sequence[str], programs: frozenset[str]) -> Ran:
        return canaries.run(texts, programs)

    async def run_in_cage(texts: Sequence[str], programs: frozenset[str]) -> Ran:
        return await canaries.run_caged(texts)

    outside, caged = Batches(run_outside, "outside"), Batches(run_in_cage, "cage")
    seen = set[int]()
    while counts["lines"] < count:
        text = grammar.line()
        mark = hash(text)
        if mark in seen or crc32(text.encode()) % shares != share:
            continue
        seen.add(mark)
        counts["lines"] += 1
        if counts["lines"] % REPORTED_EVERY == 0:
            print(f"fuzz: {dict(counts)} in part {share + 1} of {shares}", file=sys.stderr, flush=True)
        os.chdir(canaries.project)
        judged = BashJudge(circumstances, Disk(anchors), "Bash").judge(text)
        is_allowed, in_cage = _verdict(judged)
        counts["allowed"] += is_allowed or in_cage
        programs = _programs(judged)
        if is_allowed and counts["lines"] % run_every == 0:
            await outside.add(text, programs)
        if in_cage and counts["lines"] % cage_every == 0:
            await caged.add(text, programs & _ENDLESS)
    await outside.finish()
    await caged.finish()
    options = [option for tool in known for option in tool.documented]
    undescribed = [option for tool in known for option in tool.documented if option not in tool.described.kinds]
    canaries.witness.kill()
    report = {
        **{name: counts[name] for name in ("lines", "allowed")},
        "run": outside.ran,
        "run_in_cage": caged.ran,
        "too_long": outside.too_long + caged.too_long,
        "unrepeated": outside.unrepeated + caged.unrepeated,
        "programs": len(known),
        "options": len(options),
        "undescribed_options": len(undescribed),
        "misses": outside.misses + caged.misses,
    }
    print(json.dumps(report))
    return 0


def _programs(judged: list[Judged]) -> frozenset[str]:
    """The programs that a judgement names, with their subcommands."""
    texts = [[word.text for word in part.command.words[:2]] for part in judged if part.command.words]
    names = {words[0].rpartition("/")[2] for words in texts}
    return frozenset(names | {" ".join(words) for words in texts if words[0] == "git"})


def _verdict(judged: list[Judged]) -> tuple[bool, bool]:
    """Whether a line is allowed without the cage, and whether it may run in it."""
    steps = [part.step for part in judged]
    return strictest(steps).behavior == "allow", all(step.cage for step in steps)


if __name__ == "__main__":
    sys.exit(main())
