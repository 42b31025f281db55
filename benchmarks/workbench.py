"""Where programs are measured. In: a program and its arguments. Out: what it printed; the same surroundings for each.

Ours runs in this interpreter, the peer's in that of `.bench`, which `make bench` fills. Both get an empty home, no
variable of the person who measures, and compiled bytecode, as an installed package has.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["PEER", "Workbench", "peer_version", "workbench"]

PEER = "claude-agent-sdk"
HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
PEER_HOME = HERE.parent / ".bench"
PATIENCE = 300.0


@dataclass(frozen=True)
class Workbench:
    """One run of the benchmarks. `say` is told what is being done; `quick` asks for fewer and shorter rounds."""

    folder: Path
    say: Callable[[str], None]
    quick: bool = False

    @property
    def ours(self) -> str:
        """The interpreter that has Handrail."""
        return sys.executable

    @property
    def peer(self) -> str:
        """The interpreter that has the official SDK."""
        return str(PEER_HOME / "bin" / "python")

    @property
    def flood(self) -> str:
        """The CLI that floods its reader, as an executable; the same interpreter runs it for everybody."""
        path = self.folder / "flood"
        if not path.exists():
            path.write_text(f'#!/bin/sh\nexec "{self.ours}" -I -S "{PROGRAMS / "flood_cli.py"}"\n')
            path.chmod(0o700)
        return str(path)

    @property
    def instant(self) -> str:
        """The CLI that starts at once, as an executable."""
        path = self.folder / "instant"
        if not path.exists():
            path.write_bytes((PROGRAMS / "instant_cli.sh").read_bytes())
            path.chmod(0o700)
        return str(path)

    def rounds(self, many: int, what: str) -> Iterator[int]:
        """Count, and say so. In: how many in a full run. Out: the number of each round."""
        count = max(3, many // 4) if self.quick else many
        for number in range(1, count + 1):
            self.say(f"{what}, round {number} of {count}")
            yield number

    def figures(self, python: str, program: str, *arguments: str) -> dict[str, Any]:
        """Run one of the programs. Out: the JSON it prints."""
        return json.loads(self.run([python, str(PROGRAMS / program), *arguments]))

    def seconds(self, python: str, code: str) -> tuple[float, float]:
        """A whole interpreter that runs one piece of code. Out: its wall time and its CPU time."""
        wall, cpu = time.perf_counter(), _children_cpu()
        self.run([python, "-c", code])
        return time.perf_counter() - wall, _children_cpu() - cpu

    def seconds_until_said(self, python: str, code: str, *arguments: str) -> float:
        """How long until the code prints the time on the clock that all processes share."""
        start = time.clock_gettime(time.CLOCK_MONOTONIC)
        return float(self.run([python, "-c", code, *arguments])) - start

    def run(self, command: Sequence[str]) -> str:
        """Run a command. Out: what it printed; RuntimeError with its last words where it failed."""
        done = subprocess.run(command, env=self._environment(), cwd=self.folder, capture_output=True, timeout=PATIENCE)
        if done.returncode != 0:
            words = done.stderr.decode("utf-8", "replace").strip().splitlines()[-15:]
            raise RuntimeError("\n".join([f"{Path(command[1]).name}: exit code {done.returncode}", *words]))
        return done.stdout.decode()

    def _environment(self) -> Mapping[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "PYTHONPYCACHEPREFIX": str(PEER_HOME / "bytecode"),
        }


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peer_version() -> str:
    """The version of the official SDK in `.bench`; RuntimeError where there is none."""
    code = f"from importlib.metadata import version; print(version({PEER!r}))"
    try:
        done = subprocess.run([PEER_HOME / "bin" / "python", "-c", code], capture_output=True, text=True, timeout=60)
    except OSError:
        done = None
    if done is None or done.returncode != 0:
        raise RuntimeError(f"{PEER} is not installed in .bench; `make bench` does that")
    return done.stdout.strip()


@contextmanager
def workbench(say: Callable[[str], None], *, quick: bool = False) -> Generator[Workbench]:
    """A workbench with a folder of its own, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="handrail-bench-") as folder:
        yield Workbench(Path(folder), say, quick)
