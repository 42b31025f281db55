"""Terminating a command and all its descendants.

Children carry a unique environment variable, the mark, so that those which left the process group (`setsid`, `nohup`,
daemons) are found too. The agent adopts orphans, so that a process which also emptied its environment (`env -i`) is
still a descendant of the agent and ends with it. On systems without /proc only the process group can be terminated.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Final

from handrail.platform import has, libc, process_folder, signal_process
from handrail.transport.guardian import Followed, Guardian, children_of, descendants

__all__ = [
    "AGENT_MARK",
    "MOST_PROCESSES",
    "end_all",
    "guard",
    "has_started_any",
    "kill_marked",
    "marks",
    "new_mark",
    "process_count",
    "process_limit",
    "reap_orphans",
    "remove_at_exit",
    "terminate_tree",
]

_PROCESSES: Final = Path(process_folder() or os.devnull)
"""Below the null device nothing exists, as on systems without /proc."""
_GRACE: Final = 0.5
_MAX_ROUNDS: Final = 20
_SET_CHILD_SUBREAPER: Final = 36
_ORPHAN_GRACE: Final = 30.0
"""Seconds after which an exited child counts as an orphan. Its owner would have waited for it by then."""

MOST_PROCESSES = 1024
"""Processes that commands may run at the same time; more is a fork bomb."""
_LARGE_GROUP: Final = 16
"""A process group counts as part of a fork bomb if it holds more than this fraction of MOST_PROCESSES."""
_COUNT_EVERY: Final = 0.25
_COUNT_FOR: Final = 60.0
"""Seconds between two counts, and for which they go on after the last command has started."""

_AGENT: Final = "HANDRAIL_AGENT_CHILD"
_CALL: Final = "HANDRAIL_AGENT_CALL"
AGENT_MARK: Final = f"{_AGENT}={secrets.token_hex(8)}"
"""In the environment of every child of this process."""
_guardians: Final[list[Guardian]] = []
"""The guardian that kills the children if this process dies; empty before the first command."""
_folders: Final[list[str]] = []
_exited: Final[dict[int, float]] = {}
"""Children that have exited and were not waited for, with the time when that was noticed."""


def new_mark() -> str:
    """A unique mark for one command."""
    return f"{_CALL}={secrets.token_hex(8)}"


def marks(mark: str) -> dict[str, str]:
    """The environment variables to start a command with."""
    return dict(part.split("=", 1) for part in (AGENT_MARK, mark))


async def terminate_tree(group: int, mark: str, ended: asyncio.Event) -> None:
    """Terminate a process group, the descendants of its leader and all processes with the mark.

    The group and the marked processes get SIGTERM, and all get SIGKILL half a second later. `ended` is set once the
    leader has exited.
    """
    below = Followed(group)
    if not ended.is_set():
        below.look()  # descendants that hide can be found only while the leader is alive
    _signal_group(group, signal.SIGTERM, unless=ended.is_set())
    for pid in _marked(mark):
        _signal(pid, mark, signal.SIGTERM)
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await ended.wait()
    finally:
        if not ended.is_set():
            below.look()
        # The kernel stops a group as a whole: none of its processes can fork in between.
        _signal_group(group, signal.SIGKILL, unless=ended.is_set())
        below.end()
        kill_marked(mark)


def has_started_any() -> bool:
    """Whether this process has started a command."""
    return bool(_guardians)


def guard() -> int:
    """Make sure that all descendants of this process are killed when it exits, even by SIGKILL.

    Returns the process id of the guardian that does so; 0 if it could not be started.
    """
    if not _guardians:
        _guardians.append(Guardian())
        _guardians[0].watch(AGENT_MARK, os.getpid())
        if has("subreaper"):
            libc().prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            _guardians[0].follow()
    return _guardians[0].pid


def remove_at_exit(folder: str) -> None:
    """Remove a folder when this process exits, even by SIGKILL."""
    guard()
    _guardians[0].watch(new_mark(), os.getpid(), folder)
    _folders.append(folder)


def end_all() -> None:
    """Kill all descendants of this process and remove its folders. For use at exit: it does not wait."""
    _kill_all()
    for folder in _folders:
        shutil.rmtree(folder, ignore_errors=True)


def _kill_all() -> None:
    kill_marked(AGENT_MARK)
    guardians = {guardian.pid for guardian in _guardians}
    for _ in range(_MAX_ROUNDS):
        if not _kill(pid for pid in descendants(os.getpid()) if pid not in guardians):
            return


def reap_orphans() -> None:
    """Collect adopted orphans that have exited. Children of other parts of the agent are left to their owners."""
    exited = {pid for pid in children_of(os.getpid()) if _is_exited(pid)}
    for pid in exited:
        if monotonic() - _exited.setdefault(pid, monotonic()) > _ORPHAN_GRACE:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
    for pid in set(_exited) - exited:
        del _exited[pid]


class _Limit:
    """Ends fork bombs. The kernel limits the processes of ordinary users, but not those of user 0."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._before = 0
        self._until = 0.0
        self.ended: set[int] = set()
        """The process groups that were ended."""

    def start(self) -> None:
        """Count from now on. Must be called in the event loop."""
        self._until = monotonic() + _COUNT_FOR
        if self._loop is not (loop := asyncio.get_running_loop()):
            self._loop, self._before = loop, process_count()
            loop.call_later(_COUNT_EVERY, self._count)

    def _count(self) -> None:
        # One small file tells when it is worth looking at the processes themselves.
        if process_count() > self._before + MOST_PROCESSES:
            self._end_bomb()
        if self._loop is not None and monotonic() < self._until:
            self._loop.call_later(_COUNT_EVERY, self._count)
        else:
            self._loop = None

    def _end_bomb(self) -> None:
        found = descendants(os.getpid())
        if len(found) <= MOST_PROCESSES:
            return
        groups = Counter(map(_group_of, found))
        groups.pop(os.getpgid(0), None)
        for group, size in groups.items():
            if group and size > MOST_PROCESSES // _LARGE_GROUP:
                # The kernel signals a group as a whole: none of its processes can fork in between.
                _signal_group(group, signal.SIGKILL, unless=False)
                self.ended.add(group)
        if len(descendants(os.getpid())) > MOST_PROCESSES:  # each of them made a new group
            kill_marked(AGENT_MARK)


process_limit: Final = _Limit()


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return 0


def process_count() -> int:
    """The number of processes and threads of this machine; 0 if it is unknown."""
    try:
        return int((_PROCESSES / "loadavg").read_text().split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return 0


def _kill(pids: Iterator[int]) -> bool:
    """Kill processes. Returns whether there were any."""
    found = False
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
            found = True
    return found


def kill_marked(mark: str) -> None:
    """Kill all processes with a mark."""
    # A process may fork during the scan; the next round finds its child.
    for _ in range(_MAX_ROUNDS):
        found = [_signal(pid, mark, signal.SIGKILL) for pid in _marked(mark)]
        if not any(found):
            return


def _signal_group(group: int, number: signal.Signals, *, unless: bool) -> None:
    # Once the leader is reaped its pid may be reused. Remaining members are found by their mark.
    if not unless:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def _listed() -> list[int]:
    return [int(name) for name in os.listdir(_PROCESSES) if name.isdigit()] if _PROCESSES.is_dir() else []


def _is_exited(pid: int) -> bool:
    try:
        return (_PROCESSES / str(pid) / "stat").read_bytes().rpartition(b") ")[2].startswith(b"Z")
    except OSError:
        return False


def _marked(mark: str) -> Iterator[int]:
    own = os.getpid()
    return (pid for pid in _listed() if pid != own and _has(pid, mark))


def _has(pid: int, mark: str) -> bool:
    try:
        return os.fsencode(mark) in (_PROCESSES / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:  # it has exited, or belongs to another user
        return False


def _signal(pid: int, mark: str, number: signal.Signals) -> bool:
    """Signal a marked process. Returns whether it was there."""
    return signal_process(pid, number, lambda: _has(pid, mark))
