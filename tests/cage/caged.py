"""Runs commands in a cage of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from handrail.cage.base import Limits, Start
from handrail.cage.environment import caged_environment
from handrail.cage.guards import guard_problem
from handrail.cage.hidden import Hidden, hidden_files
from handrail.cage.kernel_guard import KernelCaged, KernelGuard
from handrail.cage.places import reading_limits
from handrail.files.resolve import anchors_of
from handrail.permissions.circumstances import Circumstances
from handrail.permissions.rules.rule import SourcedRule, parse_rule

__all__ = ["Cage", "Ran", "needs_guard"]

needs_guard = pytest.mark.skipif(bool(guard_problem()), reason=guard_problem() or "there is a guard")


class Ran(NamedTuple):
    """A command that has ended."""

    code: int
    output: str


class Cage:
    """A project, a home and a folder outside, and a process outside that no caged command may signal."""

    def __init__(self, root: Path, witness: int) -> None:
        self.root = root
        self.witness = witness
        self.project, self.home, self.outside = root / "project", root / "home", root / "outside"
        self.temporary = root / "temporary"
        for folder in (self.project, self.home, self.outside, self.temporary):
            folder.mkdir()
        (self.project / "inside.txt").write_text("INSIDE\n")
        (self.outside / "secret.txt").write_text("SECRET\n")
        self.environment: Mapping[str, str] = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        self.hidden: Hidden | None = None
        self.limits: Limits | None = None

    async def start(self, command: str, output: int) -> KernelCaged:
        limits = self.limits or reading_limits(
            [str(self.project), sys.prefix, sys.base_prefix],
            home=str(self.home),
            environment=self.environment,
            temporary=str(self.temporary),
            hidden=self.hidden,
        )
        start = Start(
            ["bash", "-c", command],
            str(self.project),
            caged_environment(self.environment, str(self.temporary)),
            output,
        )
        return await KernelGuard().start(start, limits, witness=self.witness)

    async def run(self, command: str) -> Ran:
        """Run a command and end everything that it left."""
        with tempfile.TemporaryFile(dir=self.root) as output:
            caged = await self.start(command, output.fileno())
            code = await caged.wait()
            assert caged.end_all()
            output.seek(0)
            return Ran(code, output.read().decode("utf-8", "replace"))

    def deny_reading(self, *contents: str) -> None:
        """Hide what rules with these contents deny reading."""
        rules = tuple(SourcedRule(parse_rule(f"Read({content})"), "deny", "session") for content in contents)
        anchors = anchors_of(str(self.project), home=str(self.home))
        self.hidden = hidden_files(Circumstances(anchors, rules=rules))


def witness_process() -> subprocess.Popen[bytes]:
    """A process that waits until its stdin is closed."""
    return subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
