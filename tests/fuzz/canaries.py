"""A project with canaries around it, which runs commands and reports every effect that they have.

Files are watched by inotify, so that reading a file is noticed even if nothing is printed. The folder of programs is a
copy that nothing else on the machine uses, so that every program that starts is noticed too.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import select
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from handrail.cage.base import Start
from handrail.cage.environment import caged_environment
from handrail.cage.kernel_guard import KernelGuard
from handrail.cage.places import reading_limits

__all__ = ["HELPERS", "Canaries", "Ran"]

CANARY = "CANARY-9c01d7"
KEY = "CANARY-KEY-51ab0e"
SECONDS = 0.5
"""Time limit of a command. `tail -f` is ended then, without a miss."""
MORE_SECONDS = 0.1
"""Added for each further command of a batch."""
LEFT_SECONDS = 1.0
FILES = {
    "outside/secret": CANARY,
    "outside/dir/data": CANARY,
    "home/.ssh/id_rsa": CANARY,
    "home/.netrc": CANARY,
    "proj/a.txt": "one two\nthree\n",
    "proj/b.txt": "one\n",
    "proj/list.txt": "a.txt\nb.txt\n",
    "proj/two words.txt": "x\n",
    "proj/-o.txt": "x\n",
    "proj/.env": "X=1\n",
    "proj/args": "../outside/secret\n",
    "proj/data.json": '{"a": 1}\n',
    "proj/x.c": "int main(void) { return 0; }\n",
    "proj/sub/one.txt": "x\n",
    "proj/other/key": "x\n",
    "proj/a=b/c": "x\n",
}
LINKS = {"proj/key": "outside/secret", "proj/up": "outside", "proj/sub/key": "outside/secret"}
_CHANGES = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
_READS = 0x1 | 0x20
_EVENT = struct.Struct("iIII")
_PR_SET_CHILD_SUBREAPER = 36
_GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}
_INDEX = ("/proj/.git/index", "/proj/.git/index.lock")
"""Git refreshes its index whenever it looks at the files."""
HELPERS = {
    **dict.fromkeys(("egrep", "fgrep"), frozenset({"sh", "grep"})),
    **dict.fromkeys(("zgrep", "zcat"), frozenset("sh bash gzip grep sed rm mktemp expr cat".split())),
    "shasum": frozenset({"perl"}),
    "which": frozenset({"sh", "which.debianutils"}),
    "fd": frozenset({"ls"}),
    "locale": frozenset({"gzip"}),
    "git bisect": frozenset("sh basename sed uname".split()),
}
"""Programs that other programs call."""


class Ran(NamedTuple):
    """Whether commands ended by themselves, and their effects by kind."""

    ended: bool
    effects: dict[str, list[str]]


def _script(texts: Sequence[str]) -> str:
    """One command as it is; several in subshells, so that none can end or change the others."""
    return texts[0] if len(texts) == 1 else "\n".join(f"(eval {shlex.quote(text)})" for text in texts)


def _limit(texts: Sequence[str]) -> float:
    return SECONDS + MORE_SECONDS * (len(texts) - 1)


class Canaries:
    """Runs commands in a project below a folder. `programs` is the watched copy of the folder of programs."""

    def __init__(self, root: Path, programs: str) -> None:
        self.root, self.project = root, root / "proj"
        self.programs = programs
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.tcp.setblocking(False)
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(self.tcp.getsockname())
        self.udp.setblocking(False)
        self.port: int = self.tcp.getsockname()[1]
        self.witness = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self._output = os.memfd_create("output")
        self._nothing = os.open(os.devnull, os.O_RDONLY)
        self._temporary = root.parent / "temporary"
        self._temporary.mkdir()
        self._guard = KernelGuard()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(root / "home"),
            "LC_ALL": "C.UTF-8",
            "ANTHROPIC_API_KEY": KEY,
        }
        self._notices = -1
        self.build()

    def build(self) -> None:
        """Create the files again and watch them."""
        shutil.rmtree(self.root, ignore_errors=True)
        for name, text in FILES.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        marks = "".join(f': > "{path}"\n' for path in (self.root / "outside/ran", self.project / "ran"))
        (self.project / "run.sh").write_text(f"#!/bin/sh\n{marks}")
        (self.project / "run.sh").chmod(0o755)
        for name, target in LINKS.items():
            (self.root / name).symlink_to(self.root / target)
        for path in self.root.rglob("*"):
            os.utime(path, (1.6e9, 1.6e9), follow_symlinks=False)
        git = {**self.environment, **_GIT}
        for arguments in (
            "init -q -b main",
            "add a.txt b.txt sub run.sh",
            "commit -qm one",
            "commit -qm two --allow-empty",
        ):
            subprocess.run(["git", *arguments.split()], cwd=self.project, env=git, check=True)
        if self._notices >= 0:
            os.close(self._notices)
        self._notices = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._watched: dict[int, tuple[str, bool]] = {}
        for folder in [self.root, *(path for path in self.root.rglob("*") if path.is_dir() and not path.is_symlink())]:
            is_outside = folder.is_relative_to(self.root / "outside") or folder.is_relative_to(self.root / "home")
            self._watch(str(folder), _CHANGES | (_READS if is_outside else 0), outside=is_outside)
        self._watch("/tmp", _CHANGES, outside=True)
        self._watch(self.programs, 0x20, outside=True)

    def _watch(self, folder: str, mask: int, *, outside: bool) -> None:
        number = self._libc.inotify_add_watch(self._notices, folder.encode(), mask)
        if number < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch failed", folder)
        self._watched[number] = (folder, outside)

    def _events(self) -> Iterator[tuple[str, str, int]]:
        while True:
            try:
                data = os.read(self._notices, 1 << 16)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                number, mask, _, length = _EVENT.unpack_from(data, at)
                name = data[at + 16 : at + 16 + length].rstrip(b"\0").decode("utf-8", "replace")
                at += 16 + length
                yield self._watched.get(number, ("", True))[0], name, mask

    def run(self, texts: Sequence[str], foreseen: frozenset[str]) -> Ran:
        """Run commands, one after another, without the cage. `foreseen` are the programs that they may start."""
        self._begin()
        process = os.posix_spawn(
            f"{self.programs}/bash",
            ["bash", "--norc", "--noprofile", "-c", _script(texts)],
            self.environment,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, self._nothing, 0),
                (os.POSIX_SPAWN_DUP2, self._output, 1),
                (os.POSIX_SPAWN_DUP2, self._output, 2),
            ],
            setsid=True,
        )
        handle = os.pidfd_open(process)
        try:
            ended = bool(select.select([handle], [], [], _limit(texts))[0])
        finally:
            os.close(handle)
        if not ended:
            self._end_all()
        os.waitpid(process, 0)
        left = self._left()
        helpers = frozenset(helper for name in foreseen for helper in HELPERS.get(name, ()))
        return Ran(ended, self._effects(left, foreseen | helpers | {"bash"}))

    async def run_caged(self, texts: Sequence[str]) -> Ran:
        """Run commands, one after another, in the cage."""
        self._begin()
        limits = reading_limits(
            [str(self.project), sys.prefix, sys.base_prefix],
            home=str(self.root / "home"),
            environment=self.environment,
            temporary=str(self._temporary),
        )
        environment = caged_environment(self.environment, str(self._temporary))
        start = Start(["bash", "-c", _script(texts)], str(self.project), environment, self._output)
        caged = await self._guard.start(start, limits, witness=self.witness.pid)
        ended = True
        try:
            await asyncio.wait_for(caged.wait(), _limit(texts))
        except TimeoutError:
            ended = False
            with contextlib.suppress(ProcessLookupError):
                os.killpg(caged.pid, signal.SIGKILL)
            await caged.wait()
        left = [] if caged.end_all() else ["the cage did not end all"]
        found = Ran(ended, self._effects([*left, *self._left()], None))
        for path in self._temporary.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        return found

    def _begin(self) -> None:
        os.chdir(self.project)
        os.ftruncate(self._output, 0)
        os.lseek(self._output, 0, os.SEEK_SET)
        for _ in self._events():
            pass

    def _effects(self, left: list[str], foreseen: frozenset[str] | None) -> dict[str, list[str]]:
        output = os.pread(self._output, 1 << 20, 0).decode("utf-8", "replace")
        found: dict[str, set[str]] = {"left": set(left)}
        found["read"] = {secret for secret in (CANARY, KEY) if secret in output}
        for folder, name, mask in self._events():
            path = f"{folder}/{name}"
            if folder == self.programs:
                if foreseen is not None and name not in foreseen:
                    found.setdefault("started", set()).add(name)
            elif mask & _CHANGES:
                # Programs such as tac keep a copy of a pipe in a temporary file, which they remove.
                if not path.endswith(_INDEX) and (folder != "/tmp" or os.path.lexists(path)):
                    found.setdefault("written", set()).add(path)
            elif mask & _READS:
                found["read"].add(path)
        found["connected"] = set(self._connections())
        effects = {kind: sorted(what) for kind, what in found.items() if what}
        if "written" in effects:
            self.build()
        return effects

    def _connections(self) -> Iterator[str]:
        with contextlib.suppress(BlockingIOError):
            self.tcp.accept()[0].close()
            yield "tcp"
        with contextlib.suppress(BlockingIOError):
            self.udp.recv(1)
            yield "udp"

    def _children(self) -> list[int]:
        found: list[int] = []
        for task in os.listdir("/proc/self/task"):
            with contextlib.suppress(OSError):
                found += map(int, Path(f"/proc/self/task/{task}/children").read_text().split())
        return [child for child in found if child != self.witness.pid]

    def _end_all(self) -> None:
        """End a command that takes too long, with the processes that it started; orphans become ours."""
        for _ in range(20):
            for child in self._descendants():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            if len(self._children()) <= 1:
                return

    def _descendants(self) -> list[int]:
        waiting, found = self._children(), list[int]()
        while waiting:
            child = waiting.pop()
            found.append(child)
            with contextlib.suppress(OSError):
                waiting += map(int, Path(f"/proc/{child}/task/{child}/children").read_text().split())
        return found

    def _left(self) -> list[str]:
        """The processes that outlive their command by more than a moment; they are ended."""
        until, names = time.monotonic() + LEFT_SECONDS, list[str]()
        while children := self._children():
            if time.monotonic() > until:
                for child in children:
                    with contextlib.suppress(OSError):
                        # A process without a command line is about to exit.
                        names += [Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()]
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
                until += LEFT_SECONDS
            for child in children:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(child, os.WNOHANG)
            signal.sigtimedwait([signal.SIGCHLD], 0.005)
        return [name for name in names if name]
