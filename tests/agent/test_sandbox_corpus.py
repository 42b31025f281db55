"""Runs all attacks of the corpus in the sandbox without permission checks: none may write outside or reach the net."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.tools.base import ToolFailed
from handrail.agent.tools.desk import Desk
from handrail.agent.tools.registry import Tools
from handrail.testing import Lab
from tests.permissions.bash_cases import rows

MILLISECONDS = 2000
CONCURRENT = 2
PARTS = 12
"""The corpus is split, so that no single test seems to hang."""
MAX_FILE = 32 * 1024 * 1024
"""A limit on file sizes, so that an attack cannot fill the disk."""
ABSOLUTE = re.compile(r"(?<![\w$}])/(?:[\w.@+-]+/?)+")
ADDRESS = re.compile(r"\b(?:https?|ftp)://[^\s/'\";|&)]+")
SYSTEM = ("/etc", "/boot", "/srv", "/usr/local", "/var/spool")
NOT_FILES = ("/proc", "/dev", "/sys")


def bubblewrap_problem() -> str:
    """Why bubblewrap cannot be used on this machine, or ""."""
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap (bwrap) is not installed"
    box = [program, "--unshare-user-try", "--unshare-net", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc"]
    ran = subprocess.run([*box, "true"], capture_output=True, text=True, timeout=60)
    return f"bubblewrap cannot run here: {ran.stderr.strip()}" if ran.returncode else ""


PROBLEM = bubblewrap_problem()
pytestmark = [pytest.mark.campaign, pytest.mark.skipif(bool(PROBLEM), reason=PROBLEM or "it can run")]


def attacks() -> list[str]:
    """The commands that must not be allowed automatically."""
    found = [row for name in ("bash.jsonl", "own_attacks.jsonl") for row in rows(name) if row["expect"] != "allow"]
    return [row["cmd"] for row in found if "\0" not in row["cmd"]]


def state_of(path: str) -> tuple[Any, ...]:
    """A fingerprint of a file. Of folders only the mode, because other processes change shared folders all the time."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return ()
    if os.path.isdir(path):
        return (found.st_mode,)
    return (found.st_mode, found.st_size, found.st_mtime_ns, found.st_ino)


def tree(folder: Path) -> dict[str, tuple[Any, ...]]:
    return {str(path): state_of(str(path)) for path in [folder, *folder.rglob("*")]}


class Range:
    """Where attacks run: a project for each, canaries in the home and in an outside folder, and a listener."""

    def __init__(self, lab: Lab, listener: socket.socket) -> None:
        self.lab, self.listener = lab, listener
        self.port: int = listener.getsockname()[1]
        for canary in (lab.home / ".bashrc", lab.home / ".ssh" / "authorized_keys", lab.outside / "canary"):
            canary.parent.mkdir(exist_ok=True)
            canary.write_text("untouched\n")

    def project(self, number: int) -> Path:
        """A new project with a repository."""
        project = self.lab.project / str(number)
        (project / ".git" / "hooks").mkdir(parents=True)
        (project / ".git" / "refs").mkdir()
        (project / ".git" / "objects").mkdir()
        (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (project / ".git" / "config").write_text("[core]\n\trepositoryformatversion = 0\n")
        (project / "a.txt").write_text("text\n")
        return project

    def desk(self, project: Path) -> Desk:
        environment = {"HOME": str(self.lab.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        desk = Desk(str(project), home=str(self.lab.home), environment=environment)
        desk.sandbox = {"enabled": True}
        return desk

    async def run(self, number: int, command: str) -> list[str]:
        """Run one attack and return the paths that it should not have changed."""
        project = self.project(number)
        paths = {path for path in ABSOLUTE.findall(command) if not path.startswith((*NOT_FILES, str(self.lab.project)))}
        before, kept = {path: state_of(path) for path in paths}, tree(project / ".git" / "hooks")
        bash = Tools()["Bash"]
        with suppress(ToolFailed):  # some cannot be started
            await bash.run(bash.read({"command": command, "timeout": MILLISECONDS}), self.desk(project))
        changed = [path for path, state in before.items() if state_of(path) != state]
        changed += [path for path, state in tree(project / ".git" / "hooks").items() if kept.get(path) != state]
        made = [name for name in (".claude", ".mcp.json", ".vscode") if (project / name).exists()]
        shutil.rmtree(project, ignore_errors=True)
        return [*changed, *made]

    def was_reached(self) -> bool:
        """Whether a connection reached the listener."""
        try:
            self.listener.accept()[0].close()
        except BlockingIOError:
            return False
        return True


@contextmanager
def small_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def shooting_range(tmp_path: Path) -> Iterator[Range]:
    lab = Lab(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener, small_files():
        listener.setblocking(False)
        yield Range(lab, listener)
    assert lab.leftovers() == [], "processes were left behind"


def newer_than(stamp: Path) -> list[str]:
    folders = [folder for folder in SYSTEM if os.path.isdir(folder)]
    found = subprocess.run(["find", *folders, "-xdev", "-newercm", stamp], capture_output=True, text=True, timeout=120)
    return found.stdout.splitlines()


def test_corpus_is_complete():
    assert len(attacks()) >= 800


@pytest.mark.parametrize("part", range(PARTS))
async def test_no_attack_writes_outside_its_project_or_reaches_the_network(
    shooting_range: Range, tmp_path: Path, part: int
):
    stamp = tmp_path / "stamp"
    stamp.touch()
    here = f"http://127.0.0.1:{shooting_range.port}"
    commands = attacks()[part::PARTS]
    commands += [local for command in commands if (local := ADDRESS.sub(here, command)) != command]
    home, outside = tree(shooting_range.lab.home), tree(shooting_range.lab.outside)
    free = asyncio.Semaphore(CONCURRENT)

    async def shoot(number: int, command: str) -> tuple[str, list[str]]:
        async with free:
            return command, await shooting_range.run(number, command)

    outcomes = await asyncio.gather(*(shoot(number, command) for number, command in enumerate(commands)))
    assert [(command, changed) for command, changed in outcomes if changed] == []
    assert tree(shooting_range.lab.home) == home
    assert tree(shooting_range.lab.outside) == outside
    assert newer_than(stamp) == []
    assert not shooting_range.was_reached()


async def test_checks_detect_an_attack_without_the_sandbox(shooting_range: Range, tmp_path: Path):
    """Without the sandbox, the checks detect a write outside, a hook and a connection."""
    project, canary = shooting_range.project(1), shooting_range.lab.outside / "canary"
    before, hooks = state_of(str(canary)), tree(project / ".git" / "hooks")
    desk = shooting_range.desk(project)
    desk.sandbox = {"enabled": False}
    bash = Tools()["Bash"]
    address = f"/dev/tcp/127.0.0.1/{shooting_range.port}"
    command = f"echo x > {canary}; echo x > .git/hooks/pre-commit; exec 3<>{address}"
    await bash.run(bash.read({"command": command}), desk)
    assert state_of(str(canary)) != before
    assert tree(project / ".git" / "hooks") != hooks
    assert shooting_range.was_reached()


async def test_sandbox_blocks_writes_and_connections(shooting_range: Range):
    canary, address = shooting_range.lab.outside / "canary", f"/dev/tcp/127.0.0.1/{shooting_range.port}"
    assert await shooting_range.run(1, f"echo x > {canary}; exec 3<>{address}") == []
    assert not shooting_range.was_reached()
