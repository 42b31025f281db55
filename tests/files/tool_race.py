"""Runs file tools in a complete agent while another process swaps folders and links.

Every call passes the input check, the permission decision and the tool. The agent works in a project whose `folder` and
`file` are swapped, in one system call, with links to a folder and a file outside. Outside nothing may be read or
written, and no user can be asked. A run is good if no call leaked or wrote anything outside, and if enough calls of
each kind succeeded and were refused to show that the race was real.

    python -m tests.files.tool_race --calls 10000
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from handrail.agent.conversation.calls import run_quietly
from handrail.agent.models.script import Script, text
from tests.agent.stage import stage
from tests.files.race import PATHS, adversary, build

JsonObject = dict[str, Any]
SECRET = "s3cr3t"
NAME_OUTSIDE = "n4me"


def _calls(project: str) -> dict[str, Callable[[int], JsonObject]]:
    """The input of the n-th call of each tool."""

    def path(turn: int) -> str:
        return f"{project}/{PATHS[turn % 2]}"

    return {
        "Read": lambda turn: {"file_path": path(turn)},
        "Write": lambda turn: {"file_path": f"{project}/folder/written-{turn}", "content": "x"},
        "Edit": lambda turn: {"file_path": f"{project}/folder/file", "old_string": "text", "new_string": "text!"},
        "Grep": lambda turn: {"pattern": "text", "path": (project, path(turn))[turn % 2], "output_mode": "content"},
        "Glob": lambda turn: {"pattern": "**/*", "path": (project, f"{project}/folder")[turn % 2]},
    }


async def race(calls: dict[str, int], base: Path) -> dict[str, dict[str, int]]:
    """Call each tool this many times, in turn. Returns the numbers of calls done, refused, leaked and outside."""
    project = build(base, "project")
    outside = base / "outside"
    (outside / "folder" / NAME_OUTSIDE).touch()
    for folder, content in ((Path(project), "a text"), (outside, f"text {SECRET}")):
        for path in PATHS:
            (folder / path).write_text(content)
    before = _state(outside)
    inputs = _calls(project)
    found = {name: {"calls": 0, "done": 0, "refused": 0, "leaked": 0, "outside": 0} for name in calls}
    async with stage(base, Script.of(text("ok")), "--permission-mode", "acceptEdits", asks=False) as host:
        thread = host.engine.thread()
        with adversary(project):
            for turn in itertools.takewhile(lambda turn: turn < max(calls.values()), itertools.count()):
                for name in (name for name, count in calls.items() if turn < count):
                    outcome = await run_quietly(thread, name, inputs[name](turn))
                    tally = found[name]
                    tally["calls"] += 1
                    tally["refused" if outcome.is_error else "done"] += 1
                    shown = f"{outcome.content} {outcome.detail}"
                    tally["leaked"] += SECRET in shown or NAME_OUTSIDE in shown
                    thread.desk.seen.clear()
                    after = _state(outside)
                    tally["outside"] += after != before
                    before = after
    return found


def _state(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def is_good(found: dict[str, dict[str, int]], *, enough: int = 1) -> bool:
    """Whether no call leaked or wrote outside, and each tool had both successful and refused calls."""
    return all(
        tally["leaked"] == tally["outside"] == 0 and min(tally["done"], tally["refused"]) >= enough
        for tally in found.values()
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=10_000, help="number of calls of Read, of Write and of Edit")
    parser.add_argument("--searches", type=int, default=1_000, help="number of calls of Grep and of Glob")
    arguments = parser.parse_args()
    calls = dict.fromkeys(("Read", "Write", "Edit"), arguments.calls)
    calls |= dict.fromkeys(("Grep", "Glob"), arguments.searches)
    with tempfile.TemporaryDirectory() as base:
        found = asyncio.run(race(calls, Path(os.path.realpath(base))))
    print(json.dumps(found, indent=2))
    return 0 if is_good(found, enough=10) else 1


if __name__ == "__main__":
    sys.exit(main())
