"""A helper process that kills the children of a process that died.

One guardian runs for each process that starts children. It learns of them over a pipe and acts when the pipe closes,
which the kernel does however the process ends. Children carry a mark in their environment, which their descendants
inherit, so even those that left the process group are found. A process that adopts its orphans can have its descendants
followed too: the guardian looks at them once a second, so that those which emptied their environment are known when the
process dies. This file is run as a script, which imports only the standard library. It does not run on Windows.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

__all__ = ["MARK", "Followed", "Guardian", "children_of", "descendants", "end_marked"]

MARK = "HANDRAIL_CHILD"
"""The environment variable that marks a child and its descendants."""
ROUNDS = 20
PAUSE = 0.005
"""Seconds between rounds while a process is in the middle of exec: its environment is visible a moment later."""


def _process_folder() -> str:
    from handrail.platform import process_folder

    return process_folder()


PROCESSES = sys.argv[1] if __name__ == "__main__" else _process_folder()
"""The folder that lists processes; "" on systems without one, where only process groups are ended."""
LOOK_EVERY = 1.0
"""Seconds between two looks at the descendants of a followed process."""


class Guardian:
    """The guardian of this process, started with the first child."""

    def __init__(self) -> None:
        self._pipe: int | None = None
        self._owner = 0
        self.pid = 0
        """The process id of the guardian; 0 before the first child, or if it could not be started."""

    def watch(self, mark: str, pid: int, folder: str = "") -> None:
        """Register a child, and optionally a folder to remove if this process dies.

        A mark is a value of MARK, or a whole `NAME=value`.
        """
        from handrail.platform import has

        if has("guardian") and (self._pipe is None or self._owner != os.getpid()):
            self._start()
        self._send(f"+{mark} {pid} {folder}\n")

    def forget(self, mark: str) -> None:
        """Unregister a child that has exited with all its descendants."""
        if self._owner == os.getpid():
            self._send(f"-{mark}\n")

    def follow(self) -> None:
        """Have the descendants of this process killed if it dies, marked or not. It must be a subreaper."""
        self._send(f"*{os.getpid()}\n")

    def _start(self) -> None:
        if sys.platform == "win32":
            return
        reading, writing = os.pipe()
        silent = os.open(os.devnull, os.O_RDWR)
        actions = [
            (os.POSIX_SPAWN_DUP2, reading, 0),
            (os.POSIX_SPAWN_DUP2, silent, 1),
            (os.POSIX_SPAWN_DUP2, silent, 2),
        ]
        command = [sys.executable, "-I", "-S", os.path.abspath(__file__), PROCESSES]
        try:
            self.pid = os.posix_spawn(command[0], command, {}, file_actions=actions, setpgroup=0)
            self._pipe, self._owner = writing, os.getpid()
        except OSError:
            os.close(writing)
        finally:
            os.close(reading)
            os.close(silent)

    def _send(self, line: str) -> None:
        if self._pipe is not None:
            with contextlib.suppress(OSError):
                os.write(self._pipe, line.encode())


def end_marked(mark: str) -> int:
    """Kill every process with a mark. Returns how many were found."""
    found = 0
    if sys.platform == "win32":
        return found
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
    """The running processes with a mark, and whether some process could not be classified yet."""
    wanted = (mark if "=" in mark else f"{MARK}={mark}").encode()
    found, unsure = list[int](), False
    with contextlib.suppress(OSError):
        for name in filter(str.isdecimal, os.listdir(PROCESSES)):
            with contextlib.suppress(OSError):
                environment = _read(f"{PROCESSES}/{name}/environ")
                if wanted in environment.split(b"\0"):
                    found.append(int(name))
                elif not environment and not _read(f"{PROCESSES}/{name}/cmdline"):
                    os.readlink(f"{PROCESSES}/{name}/exe")  # fails for zombies and kernel threads
                    unsure = True  # in the middle of exec: its new environment is not visible yet
    return found, unsure


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


class Followed:
    """The descendants of a process, as they were at the last look."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._seen: dict[int, bytes] = {}

    def look(self) -> None:
        """Remember the descendants of now, by the time of their start: process ids are reused."""
        self._seen = {pid: start for pid, start in self._seen.items() if _started(pid) == start}
        waiting = [self._pid]
        while waiting:
            for pid in children_of(waiting.pop()):
                if pid != os.getpid() and (start := _started(pid)):
                    self._seen[pid] = start
                    waiting.append(pid)

    def end(self) -> None:
        """Kill those that are left, and what they have started since."""
        if sys.platform == "win32":
            return
        for _ in range(ROUNDS):
            roots = [pid for pid, start in self._seen.items() if _started(pid) == start]
            for pid in roots:
                for each in (*descendants(pid), pid):
                    with contextlib.suppress(OSError):
                        os.kill(each, signal.SIGKILL)
            if not roots:
                return
            time.sleep(PAUSE)


def descendants(pid: int) -> list[int]:
    """The children of a process, their children and so on."""
    below: dict[int, list[int]] = {}
    with contextlib.suppress(FileNotFoundError):  # without a folder of processes there is nothing to list
        for name in filter(str.isdecimal, os.listdir(PROCESSES)):
            fields = _fields(int(name))
            if fields:
                below.setdefault(int(fields[1]), []).append(int(name))
    found, waiting = list[int](), [pid]
    while waiting:
        more = below.pop(waiting.pop(), [])
        found += more
        waiting += more
    return found


def children_of(pid: int) -> list[int]:
    """The children of a process. Faster than a look at all processes, and may miss one while another exits."""
    found = list[int]()
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"{PROCESSES}/{pid}/task"):
            try:
                found += map(int, _read(f"{PROCESSES}/{pid}/task/{thread}/children").split())
            except FileNotFoundError:  # the thread has ended, or the kernel lacks this file
                continue
    return found


def _fields(pid: int) -> list[bytes]:
    """The fields of PID/stat from the state on; none for a process that has exited."""
    try:
        fields = _read(f"{PROCESSES}/{pid}/stat").rpartition(b") ")[2].split()
    except OSError:
        return []
    return [] if fields[0] in (b"Z", b"X") else fields


def _started(pid: int) -> bytes:
    fields = _fields(pid)
    return fields[19] if fields else b""


def _guard() -> None:
    if sys.platform == "win32":
        return
    children: dict[str, tuple[int, str]] = {}
    followed: Followed | None = None
    rest = b""
    while True:
        ready, _, _ = select.select([0], [], [], LOOK_EVERY if followed else None)
        if followed:
            followed.look()
        if not ready:
            continue
        data = os.read(0, 65536)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            sign, text = line[:1], line[1:].decode("utf-8", "surrogateescape")
            mark, _, about = text.partition(" ")
            if sign == b"+":
                pid, _, folder = about.partition(" ")
                children[mark] = int(pid), folder
            elif sign == b"*":
                followed = Followed(int(text))
                followed.look()
            else:
                children.pop(mark, None)
    if followed:
        followed.end()
    for mark, (pid, folder) in children.items():
        if pid in _marked(mark)[0] or not PROCESSES:
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        end_marked(mark)
        if folder:
            import shutil

            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _guard()
