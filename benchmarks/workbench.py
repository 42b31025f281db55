"""Runs measured programs in a uniform environment.

Ours run in this interpreter, those of the peer in the one of `.bench`, which `make bench` installs. Both get an empty
home, a minimal environment and compiled bytecode, as an installed package has.
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

__all__ = ["PEER", "PEER_MODULE", "Workbench", "peer_version", "workbench"]

PEER = "claude-agent-sdk"
PEER_MODULE = "claude_agent_sdk"
HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
PEER_HOME = HERE.parent / ".bench"
PATIENCE = 300.0


@dataclass(frozen=True)
class Workbench:
    """One run of the benchmarks. `say` shows the progress; with `quick` there are fewer and shorter rounds."""

    folder: Path
    say: Callable[[str], None]
    quick: bool = False

    @property
    def ours(self) -> str:
        """The interpreter with Handrail."""
        return sys.executable

    @property
    def peer(self) -> str:
        """The interpreter with the official SDK."""
        return str(PEER_HOME / "bin" / "python")

    @property
    def flood(self) -> str:
        """The executable of flood_cli.py; both peers use the same interpreter for it."""
        path = self.folder / "flood"
        if not path.exists():
            path.write_text(f'#!/bin/sh\nexec "{self.ours}" -I -S "{PROGRAMS / "flood_cli.py"}"\n')
            path.chmod(0o700)
        return str(path)

    @property
    def instant(self) -> str:
        """The executable of instant_cli.sh."""
        path = self.folder / "instant"
        if not path.exists():
            path.write_bytes((PROGRAMS / "instant_cli.sh").read_bytes())
            path.chmod(0o700)
        return str(path)

    def rounds(self, many: int, what: str) -> Iterator[int]:
        """Iterate over `many` rounds (fewer if quick), numbered from 1, and show the progress."""
        count = max(3, many // 4) if self.quick else many
        for number in range(1, count + 1):
            self.say(f"{what}, round {number} of {count}")
            yield number

    def figures(self, python: str, program: str, *arguments: str) -> dict[str, Any]:
        """Run one of the programs and return the JSON that it prints."""
        return json.loads(self.run([python, str(PROGRAMS / program), *arguments]))

    def seconds(self, python: str, code: str) -> tuple[float, float]:
        """Run code in a new interpreter. Returns its wall time and CPU time."""
        wall, cpu = time.perf_counter(), _children_cpu()
        self.run([python, "-c", code])
        return time.perf_counter() - wall, _children_cpu() - cpu

    def seconds_until_said(self, python: str, code: str, *arguments: str) -> float:
        """Seconds until the code prints the monotonic time, which is the same in all processes."""
        start = time.clock_gettime(time.CLOCK_MONOTONIC)
        return float(self.run([python, "-c", code, *arguments])) - start

    def run(self, command: Sequence[str]) -> str:
        """Run a command and return its output. Raises RuntimeError with the end of stderr if it fails."""
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
    """The version of the official SDK in `.bench`. Raises RuntimeError if it is missing."""
    code = f"from importlib.metadata import version; print(version({PEER!r}))"
    try:
        done = subprocess.run([PEER_HOME / "bin" / "python", "-c", code], capture_output=True, text=True, timeout=60)
    except OSError:
        done = None
    if done is None or done.returncode != 0:
        raise RuntimeError(f"{PEER} is not installed in .bench; run `make bench`")
    return done.stdout.strip()


@contextmanager
def workbench(say: Callable[[str], None], *, quick: bool = False) -> Generator[Workbench]:
    """A workbench with a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="handrail-bench-") as folder:
        yield Workbench(Path(folder), say, quick)
