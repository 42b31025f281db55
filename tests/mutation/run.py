"""Puts small faults into the permission engine, one at a time, and runs its tests.

    python tests/mutation/run.py --count 400 --seed 1

Each mutant is tried in a forked child that has everything imported but the engine; the child's import of the module
gives the mutant, and no file is changed. A mutant is killed when a test fails, does not end or takes all memory. Prints
a line of JSON, then the survivors, and exits with 1 if fewer than MOST_OF_THEM are killed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.abc
import importlib.util
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pytest
from hypothesis import Phase, settings

from tests.mutation.mutants import Mutant, mutants_of, mutated

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "handrail" / "permissions"
TESTS = ROOT / "tests" / "permissions"
MODULES = (
    "decide",
    "rules.rule",
    "shell.commands",
    "bash.judge",
    "programs.description",
    "programs.options",
    "programs.read_only",
)
MOST_OF_THEM = 0.95
CPU_OF_A_TEST = 10.0
SECONDS_OF_A_MUTANT = 600
MEMORY = 2 * 1024**3
WARM = ("_hypothesis_pytestplugin", "hypothesis.internal.conjecture.engine", "msgspec", "pytest_asyncio.plugin")
WARMER = ("tree_sitter", "tree_sitter_bash", "xdist.plugin", "handrail.schema.permission_types")
SURVIVED, KILLED, NOT_REACHED = 0, 1, 99


def _file_of(module: str) -> Path:
    return SOURCES / f"{module.replace('.', '/')}.py"


class Tried(NamedTuple):
    """A mutant with its outcome and duration."""

    mutant: Mutant
    survived: bool
    how: str
    seconds: float


def main() -> int:
    """Run, print the report and return the exit code."""
    asked = _asked()
    sources = {module: _file_of(module).read_text(encoding="utf-8") for module in asked.module or MODULES}
    all_of_them = [mutant for module, source in sources.items() for mutant in mutants_of(source, module)]
    if asked.only:
        found = [mutant for mutant in all_of_them if mutant.name == asked.only]
        return _show(found[0], sources) if found else _complain(f"unknown mutant {asked.only}")
    chosen = Random(asked.seed).sample(all_of_them, min(asked.count, len(all_of_them)))
    warm_up()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for module, source in sources.items():
            if _end_of(_start(module, ast.parse(source), folder)) != SURVIVED:
                return _complain(f"the tests of {module} fail without any mutant: run them first")
        tried = list(_progress(try_all(chosen, sources, asked.workers, folder), len(chosen)))
    return _report(tried, len(all_of_them), asked.seed, time.monotonic() - started, sources)


def _complain(problem: str) -> int:
    print(f"mutation: {problem}", file=sys.stderr)
    return 2


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=400, help="how many mutants, chosen by the seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--module", action="append", choices=MODULES, help="only this module; may be given again")
    parser.add_argument("--only", metavar="NAME", help="one mutant, with all that pytest says about it")
    return parser.parse_args()


def warm_up() -> None:
    """Import the modules that every child needs, but not the engine."""
    os.chdir(ROOT)
    os.environ["CI"] = "1"
    settings.register_profile(
        "mutation", deadline=None, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate]
    )
    for name in (*WARM, *WARMER):
        importlib.import_module(name)
    loaded = [name for name in sys.modules if name.startswith("handrail.permissions.")]
    assert not loaded, f"imported too early: {loaded}"


def try_all(chosen: Sequence[Mutant], sources: dict[str, str], workers: int, folder: str) -> Iterator[Tried]:
    """Run the tests with every mutant, several at a time. The tests write below the folder."""
    waiting, running = list(reversed(chosen)), dict[int, tuple[Mutant, float]]()
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                mutant = waiting.pop()
                pid = _start(mutant.module, mutated(sources[mutant.module], mutant), folder)
                running[pid] = (mutant, time.monotonic())
            pid, status = os.wait()
            mutant, begun = running.pop(pid)
            shutil.rmtree(Path(folder) / str(pid), ignore_errors=True)
            code = os.waitstatus_to_exitcode(status)
            yield Tried(mutant, code == SURVIVED, _meaning(code, mutant), time.monotonic() - begun)
    finally:
        for pid in running:
            os.kill(pid, signal.SIGKILL)


def _start(module: str, tree: ast.Module, folder: str, *, quiet: bool = True) -> int:
    """Fork a child that runs the tests with this tree as the module. Returns its process id."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = NOT_REACHED
    try:
        code = _run_tests(module, tree, f"{folder}/{os.getpid()}", quiet=quiet)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _end_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _meaning(code: int, mutant: Mutant) -> str:
    """The outcome of a child. Raises an error if the child failed for reasons other than the mutant."""
    ends = {SURVIVED: "survived", KILLED: "a test failed", 2: "the tests cannot be collected", 3: "pytest broke"}
    if code in ends:
        return ends[code]
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    raise RuntimeError(f"the tests with {mutant.name} ended with the unknown exit code {code}")


class Only(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from a tree instead of its file."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self.name, self.path, self.tree = name, path, tree
        self.asked_for = False

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """A spec for this module; None for all others."""
        return (
            importlib.util.spec_from_file_location(fullname, self.path, loader=self) if fullname == self.name else None
        )

    def exec_module(self, module: ModuleType) -> None:
        """Execute the tree."""
        self.asked_for = True
        exec(compile(self.tree, str(self.path), "exec"), module.__dict__)


class Limits:
    """A pytest plugin that ends the process if a test takes too long or uses too much memory."""

    def __init__(self) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(SECONDS_OF_A_MUTANT)
        self.pytest_runtest_logstart()

    def pytest_runtest_logstart(self) -> None:
        """Restart the time limit for the collection and for each test."""
        signal.setitimer(signal.ITIMER_PROF, CPU_OF_A_TEST)


def _run_tests(module: str, tree: ast.Module, folder: str, *, quiet: bool) -> int:
    only = Only(f"handrail.permissions.{module}", _file_of(module), tree)
    sys.meta_path.insert(0, only)
    if quiet:
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
    code = int(pytest.main(_arguments(module, folder, quiet=quiet), [Limits()]))
    return code if only.asked_for else NOT_REACHED


def _arguments(module: str, folder: str, *, quiet: bool) -> list[str]:
    """Arguments for pytest. Tests of the module run first, since they detect most faults."""
    own = f"test_{module.rpartition('.')[2]}"
    files = sorted(TESTS.rglob("test_*.py"), key=lambda path: (not path.stem.startswith(own), path.name))
    options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutation"]
    warm = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    short = ["--tb=no", "--show-capture=no", "--assert=plain"] if quiet else []
    return [*options, *warm, *short, f"--basetemp={folder}", *(str(path) for path in files)]


def _progress(tried: Iterator[Tried], count: int) -> Iterator[Tried]:
    survivors = 0
    for number, one in enumerate(tried, 1):
        survivors += one.survived
        mark = "SURVIVED" if one.survived else one.how
        print(f"{number}/{count} {one.mutant.name} {one.seconds:.1f} s {mark}; {survivors} so far", file=sys.stderr)
        yield one


def _report(tried: list[Tried], existing: int, seed: int, seconds: float, sources: dict[str, str]) -> int:
    survivors = sorted((one.mutant for one in tried if one.survived), key=lambda mutant: (mutant.module, mutant.line))
    killed = len(tried) - len(survivors)
    report: dict[str, Any] = {
        "mutants": len(tried),
        "of": existing,
        "killed": killed,
        "share": round(killed / len(tried), 4),
        "killed_by_a_limit": sum(one.how.startswith("ended by") for one in tried),
        "seed": seed,
        "seconds": round(seconds, 1),
        "survivors": len(survivors),
        "modules": {module: _share_of(module, tried) for module in sources},
    }
    print(json.dumps(report))
    for mutant in survivors:
        print(f"{mutant.name}  {mutant.before}  →  {mutant.after}")
        print(f"    {sources[mutant.module].splitlines()[mutant.line - 1].strip()}")
    return 0 if killed >= MOST_OF_THEM * len(tried) else 1


def _share_of(module: str, tried: list[Tried]) -> str:
    own = [one for one in tried if one.mutant.module == module]
    return f"{sum(not one.survived for one in own)}/{len(own)}"


def _show(mutant: Mutant, sources: dict[str, str]) -> int:
    """Try one mutant and show the output of pytest. Returns 1 if it survived."""
    print(f"{mutant.name}  {mutant.before}  →  {mutant.after}")
    warm_up()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        code = _end_of(_start(mutant.module, mutated(sources[mutant.module], mutant), folder, quiet=False))
    print(_meaning(code, mutant))
    return 1 if code == SURVIVED else 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
    sys.exit(130)
