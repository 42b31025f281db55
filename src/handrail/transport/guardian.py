"""Ends what a dead process leaves behind. In: its children, told over a pipe. Out: none of them survives it.

One guardian runs beside each process that starts children; it does nothing until the pipe closes, which the kernel
does however that process ends. Children carry a mark in their environment which their own children inherit, so even
those that left the process group are found. The file is run as a script: it imports the standard library only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator

__all__ = ["MARK", "Guardian", "end_marked"]

MARK = "HANDRAIL_CHILD"
"""The environment variable that a child and all its descendants carry."""
ROUNDS = 20


class Guardian:
    """This process's guardian, started with the first child."""

    def __init__(self) -> None:
        self._pipe: int | None = None
        self._owner = 0

    def watch(self, mark: str, pid: int, folder: str = "") -> None:
        """A child has started. In: its mark, its process id, and a folder that must not outlive it, or none."""
        if self._pipe is None or self._owner != os.getpid():
            self._start()
        self._tell(f"+{mark} {pid} {folder}\n")

    def forget(self, mark: str) -> None:
        """A child has ended and nothing of it is left. In: its mark."""
        if self._owner == os.getpid():
            self._tell(f"-{mark}\n")

    def _start(self) -> None:
        reading, writing = os.pipe()
        silent = os.open(os.devnull, os.O_RDWR)
        actions = [
            (os.POSIX_SPAWN_DUP2, reading, 0),
            (os.POSIX_SPAWN_DUP2, silent, 1),
            (os.POSIX_SPAWN_DUP2, silent, 2),
        ]
        command = [sys.executable, "-I", "-S", os.path.abspath(__file__)]
        try:
            os.posix_spawn(command[0], command, {}, file_actions=actions, setpgroup=0)
            self._pipe, self._owner = writing, os.getpid()
        except OSError:
            os.close(writing)
        finally:
            os.close(reading)
            os.close(silent)

    def _tell(self, line: str) -> None:
        if self._pipe is not None:
            with contextlib.suppress(OSError):
                os.write(self._pipe, line.encode())


def end_marked(mark: str) -> int:
    """Kill every process that carries a mark. In: the mark. Out: how many were found."""
    found = 0
    for _ in range(ROUNDS):
        pids = list(_marked(mark))
        if not pids:
            break
        found += len(pids)
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    return found


def _marked(mark: str) -> Iterator[int]:
    """Living processes with this mark; a zombie has no environment any more and is passed over."""
    wanted = f"{MARK}={mark}".encode()
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdecimal():
                with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                    if wanted in file.read().split(b"\0"):
                        yield int(name)


def _guard() -> None:
    children: dict[str, tuple[int, str]] = {}
    for line in sys.stdin:
        mark, _, rest = line[1:].rstrip("\n").partition(" ")
        if line.startswith("+"):
            pid, _, folder = rest.partition(" ")
            children[mark] = int(pid), folder
        else:
            children.pop(mark, None)
    for mark, (pid, folder) in children.items():
        if pid in list(_marked(mark)) or not os.path.isdir("/proc/self"):
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        end_marked(mark)
        if folder:
            import shutil

            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _guard()
