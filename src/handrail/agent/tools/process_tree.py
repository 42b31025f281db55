"""The end of a command and all it started. In: its process group and its mark. Out: none of them runs.

Children carry a variable in their environment that nobody else has, so that also those are found which have left the
process group (`setsid`, `nohup`, daemons). Where there is no /proc, only the group can be ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from handrail.transport.guardian import Guardian

__all__ = ["AGENT_MARK", "end_all", "end_tree", "guard", "has_started_any", "marks", "new_mark"]

_PROCESSES: Final = Path("/proc")
_GRACE: Final = 0.5
_ROUNDS: Final = 20

_AGENT: Final = "HANDRAIL_AGENT_CHILD"
_CALL: Final = "HANDRAIL_AGENT_CALL"
AGENT_MARK: Final = f"{_AGENT}={secrets.token_hex(8)}"
"""What the environment of every child of this process has."""
_guarded: Final[list[Guardian]] = []
"""Who ends what this process leaves behind; nobody before the first command."""


def new_mark() -> str:
    """A mark for one command."""
    return f"{_CALL}={secrets.token_hex(8)}"


def marks(mark: str) -> dict[str, str]:
    """The variables with which a command must be started."""
    return dict(part.split("=", 1) for part in (AGENT_MARK, mark))


async def end_tree(group: int, mark: str, ended: asyncio.Event) -> None:
    """End a process group and all that carry the mark: first asked, then, half a second later, not asked.

    In: `ended` is set when the first process of the group has ended.
    """
    _signal_group(group, signal.SIGTERM, unless=ended.is_set())
    for pid in _marked(mark):
        _signal(pid, mark, signal.SIGTERM)
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await ended.wait()
    finally:
        _signal_group(group, signal.SIGKILL, unless=ended.is_set())
        _kill_marked(mark)


def has_started_any() -> bool:
    """Has this process started a command?"""
    return bool(_guarded)


def guard() -> None:
    """From now on everything that carries the mark of this process ends with it, also when it is killed."""
    if _guarded:
        return
    _guarded.append(Guardian())
    _guarded[0].watch(AGENT_MARK, os.getpid())


def end_all() -> None:
    """End everything that any command of this process has left behind. For the end of the process: it does not wait."""
    _kill_marked(AGENT_MARK)


def _kill_marked(mark: str) -> None:
    # What forks while it is looked for is found in the next round.
    for _ in range(_ROUNDS):
        found = [_signal(pid, mark, signal.SIGKILL) for pid in _marked(mark)]
        if not any(found):
            return


def _signal_group(group: int, number: signal.Signals, *, unless: bool) -> None:
    # Once the leader is reaped its number may be another's; members that are left are found by their mark.
    if not unless:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def _marked(mark: str) -> Iterator[int]:
    if not _PROCESSES.is_dir():
        return
    own = os.getpid()
    for name in os.listdir(_PROCESSES):
        if name.isdigit() and int(name) != own and _has(int(name), mark):
            yield int(name)


def _has(pid: int, mark: str) -> bool:
    try:
        return os.fsencode(mark) in (_PROCESSES / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:  # it has ended since, or belongs to someone else
        return False


def _signal(pid: int, mark: str, number: signal.Signals) -> bool:
    """Signal exactly the process that has the mark, not one that got its number since."""
    if sys.platform != "linux":
        return False
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not _has(pid, mark):
            return False
        signal.pidfd_send_signal(handle, number)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
