"""Runs shell strings in a real bash and reports the programs they called and the files they created.

PATH is empty, and bash passes every unknown command to a function that logs it, so that nothing but bash itself runs.
Names with a slash do not exist either, because bash runs in an empty folder. It has no network and no input, and its
time and memory are limited.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["Sandbox", "sandbox"]

LOG = 9
ALIVE = 8
LONGEST = 10.0
MOST_CALLS = 15
START = f"""
ulimit -t 1 -f 64
unset BASH_ENV
command_not_found_handle() {{
  mapfile -t -n 100 calls <"/proc/self/fd/{LOG}"
  printf -v call '%s\\x1f' "${{@//$'\\n'/$'\\x1e'}}"
  printf '%s\\n' "$call" >&{LOG}
  (( ${{#calls[@]}} > {MOST_CALLS} )) && kill -9 -- -$$
  return $(( ${{#calls[@]}} % 3 == 1 ))
}}
"""
"""Logs each call with one write. Some calls fail, so that loops end and both branches of conditions run."""


class Sandbox:
    """A folder and a log, reused for all strings."""

    def __init__(self, folder: Path, bash: str) -> None:
        self.folder, self.bash = folder, bash
        self.log = os.open(folder.parent / "log", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self.nothing = os.open("/dev/null", os.O_RDWR)
        start = folder.parent / "start"
        start.write_text(START)
        self.environment = {"PATH": "/nowhere", "HOME": "/h", "LC_ALL": "C.UTF-8", "BASH_ENV": str(start)}

    def run(self, text: str) -> tuple[list[list[str]], list[str]]:
        """Run one string. Returns the calls of programs and the names of the files it left."""
        reading, writing = os.pipe()
        child = os.posix_spawn(
            self.bash,
            ["bash", "--norc", "--noprofile", "-c", text],
            self.environment,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, self.nothing, 0),
                (os.POSIX_SPAWN_DUP2, self.nothing, 1),
                (os.POSIX_SPAWN_DUP2, self.nothing, 2),
                (os.POSIX_SPAWN_DUP2, self.log, LOG),
                (os.POSIX_SPAWN_DUP2, writing, ALIVE),
            ],
            setpgroup=0,
        )
        os.close(writing)
        self._wait(child, reading)
        calls = _calls(os.pread(self.log, 1 << 20, 0))
        os.ftruncate(self.log, 0)
        files = os.listdir(".")
        for name in files:
            shutil.rmtree(name) if os.path.isdir(name) else os.unlink(name)
        return calls, files

    def _wait(self, child: int, alive: int) -> None:
        """Wait until the shell and its background processes have exited; kill them after the time limit."""
        ended, _, _ = select.select([alive], [], [], LONGEST)
        if not ended:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
            select.select([alive], [], [], LONGEST)
        os.close(alive)
        os.waitpid(child, 0)


def _calls(log: bytes) -> list[list[str]]:
    lines = log.decode("utf-8", "surrogateescape").split("\n")[:-1]
    return [line.replace("\x1e", "\n").split("\x1f")[:-1] for line in lines]


@contextlib.contextmanager
def sandbox() -> Iterator[Sandbox]:
    """Turn this process into a sandbox. Changes its working folder and its resource limits."""
    bash = shutil.which("bash")
    if bash is None:
        raise RuntimeError("bash not found; install it")
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "empty"
        folder.mkdir()
        before = os.getcwd()
        os.chdir(folder)
        try:
            yield Sandbox(folder, bash)
        finally:
            os.chdir(before)
