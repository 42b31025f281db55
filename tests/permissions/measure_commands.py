"""Decides the collection of ordinary commands without any rule, and prints the commands that ask needlessly.

    python -m tests.permissions.measure_commands [--run]

With `--run`, reading commands of installed programs are run in the cage of this machine instead, in a small repository,
and those that the cage stops are printed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from handrail.cage.places import reading_limits
from handrail.cage.stops import what_was_stopped
from tests.cage.caged import Cage, witness_process
from tests.permissions.ordinary_commands import build_project, decide_in, ordinary_commands

SECONDS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.run:
            asyncio.run(_run(Path(folder)))
        else:
            _decide(Path(folder))


def _decide(folder: Path) -> None:
    commands = ordinary_commands()
    reading = [item.command for item in commands if item.unasked]
    build_project(folder)
    for name, cage in (("table alone", False), ("with the cage", True)):
        decided = {item: decide_in(folder, item.command, cage=cage) for item in commands}
        asked = {item.command: decision for item, decision in decided.items() if decision.behavior != "allow"}
        needless = [command for command in reading if command in asked]
        for command in needless:
            print(f"    {command}    # {asked[command].reason}")
        unasked = [item.command for item in commands if not item.unasked and item.command not in asked]
        print(f"{name}: {len(asked)} of {len(commands)} ask, {len(needless)} of {len(reading)} needlessly")
        print(f"allowed, but marked as a question: {unasked}\n")


async def _run(folder: Path) -> None:
    witness = witness_process()
    cage = Cage(folder, witness.pid)
    cage.home = Path.home()
    cage.environment = {"PATH": os.environ["PATH"], "HOME": str(cage.home)}
    _make_repository(cage.project)
    ran = stopped = 0
    for item in ordinary_commands():
        program = next(word for word in re.findall(r"[\w./-]+", item.command) if word)
        decision = decide_in(cage.project, item.command, cage=True)
        if not item.unasked or not decision.caged or (program.isalnum() and not shutil.which(program)):
            continue
        ran += 1
        try:
            code, output = await asyncio.wait_for(cage.run(item.command), SECONDS)
        except TimeoutError:
            code, output = 124, f"Permission denied: no end after {SECONDS} s"
        if complaint := what_was_stopped(code, output, _limits(cage), str(cage.project)):
            stopped += 1
            print(f"    {item.command}    # exit code {code}: {complaint}")
    print(f"{stopped} of {ran} commands were stopped by the cage")
    witness.terminate()


def _make_repository(folder: Path) -> None:
    build_project(folder)
    shutil.rmtree(folder / ".git")
    identity = ("-c", "user.name=Someone", "-c", "user.email=someone@example.com")
    for arguments in (("init", "-q", "-b", "main"), ("add", "-f", "."), ("commit", "-qm", "first")):
        subprocess.run(["git", *identity, *arguments], cwd=folder, check=True)


def _limits(cage: Cage):
    return reading_limits(
        [str(cage.project)], home=str(cage.home), environment=cage.environment, temporary=str(cage.temporary)
    )


if __name__ == "__main__":
    main()
