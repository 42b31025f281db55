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
import time

__all__ = ["MARK", "Guardian", "end_marked"]

MARK = "HANDRAIL_CHILD"
"""The environment variable that a child and all its descendants carry."""
ROUNDS = 20
PAUSE = 0.005
"""Seconds between two rounds while some process is just being started: it shows its mark a moment later."""


class Guardian:
    """This process's guardian, started with the first child."""

    def __init__(self) -> None:
        self._pipe: int | None = None
        self._owner = 0

    def watch(self, mark: str, pid: int, folder: str = "") -> None:
        """A child has started. In: its mark, its process id, and a folder that must not outlive it, or none.

        A mark is a value of MARK, or a variable with its value.
        """
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
        pids, unsure = _marked(mark)
        if not pids and not unsure:
            break
        found += len(pids)
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if unsure:
            time.sleep(PAUSE)
    return found


def _marked(mark: str) -> tuple[list[int], bool]:
    """Living processes with this mark, and whether some process cannot be told yet."""
    wanted = (mark if "=" in mark else f"{MARK}={mark}").encode()
    found, unsure = list[int](), False
    with contextlib.suppress(OSError):
        for name in filter(str.isdecimal, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                environment = _read(f"/proc/{name}/environ")
                if wanted in environment.split(b"\0"):
                    found.append(int(name))
                elif not environment and not _read(f"/proc/{name}/cmdline"):
                    os.readlink(f"/proc/{name}/exe")  # a zombie and a kernel thread have none
                    unsure = True  # in the middle of exec: its new environment is not there yet
    return found, unsure


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


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
        if pid in _marked(mark)[0] or not os.path.isdir("/proc/self"):
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        end_marked(mark)
        if folder:
            import shutil

            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _guard()
