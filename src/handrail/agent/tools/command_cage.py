"""The cage for one command of a desk."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from handrail.agent.tools.process_tree import remove_at_exit
from handrail.agent.tools.protected_files import Snapshot, take_snapshot
from handrail.cage.base import CageError, Guard, Limits
from handrail.cage.environment import caged_environment
from handrail.cage.guards import find_guard
from handrail.cage.places import reading_limits, writing_limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handrail.agent.tools.desk import Desk

__all__ = ["CommandCage", "reading_cage", "writing_cage"]

_folders: Final[list[str]] = []
"""The folder of all temporary folders of this process; empty before the first cage."""
_numbers: Final = count(1)
_free: Final[list[str]] = []
"""Temporary folders that are empty and not in use."""


class CommandCage(Struct, frozen=True):
    """The cage of one command: start it with `environment`, and call `clean_up` when it has exited."""

    guard: Guard
    limits: Limits
    environment: Mapping[str, str]
    temporary: str
    protected: Snapshot | None = None

    def clean_up(self) -> None:
        """Empty the temporary folder, and put back protected files that the command changed."""
        _give_back(self.temporary)
        if self.protected is not None:
            self.protected.restore()


def reading_cage(command: str, desk: Desk, environment: Mapping[str, str]) -> CommandCage | None:
    """The cage for a command that only reads; None if this machine has no guard. Raises CageError."""
    guard = find_guard()
    if guard is None:
        return None
    temporary = _temporary_folder()
    try:
        limits = reading_limits(
            [desk.project, *desk.additional, *filter(os.path.isdir, [desk.git_folder, *desk.output_folders()])],
            home=desk.home or os.path.expanduser("~"),
            environment=environment,
            temporary=temporary,
            hidden=desk.hidden_files(),
        )
    except CageError:
        _give_back(temporary)
        raise
    return CommandCage(guard, limits, caged_environment(environment, temporary, _git_keys(command, desk)), temporary)


def writing_cage(desk: Desk, environment: Mapping[str, str], *, network: bool) -> CommandCage | None:
    """The cage for a command that may change the desk's folders; None if this machine has no guard.

    Raises ToolFailed if its protected files cannot be protected.
    """
    guard = find_guard()
    if guard is None:
        return None
    folders = [desk.project, *desk.additional]
    protected = take_snapshot(folders, desk.git_folder)
    temporary = _temporary_folder()
    limits = writing_limits([*folders, *filter(None, [desk.git_folder])], temporary=temporary, network=network)
    return CommandCage(guard, limits, {**environment, "TMPDIR": temporary}, temporary, protected)


def _git_keys(command: str, desk: Desk) -> tuple[str, ...]:
    """The keys by which the repository of the working folder names programs."""
    return _entries(desk.cwd, _last_change(desk.cwd)) if "git" in command else ()


def _temporary_folder() -> str:
    if not _folders or not os.path.isdir(_folders[0]):
        _free.clear()
        _folders[:] = [tempfile.mkdtemp(prefix="handrail-cage-")]
        remove_at_exit(_folders[0])
    if _free:
        return _free.pop()
    folder = os.path.join(_folders[0], str(next(_numbers)))
    os.mkdir(folder, 0o700)
    return folder


def _give_back(folder: str) -> None:
    """Keep an empty folder for the next command, whose cage is then the same; remove any other."""
    with contextlib.suppress(OSError):
        if not os.listdir(folder):
            _free.append(folder)
            return
    shutil.rmtree(folder, ignore_errors=True)


@lru_cache(maxsize=16)
def _entries(folder: str, changed: int) -> tuple[str, ...]:
    from handrail.settings.git_config import git_entries

    return tuple(entry.name for entry in git_entries(folder)[0])


def _last_change(folder: str) -> int:
    """When the configuration of the repository around a folder was changed."""
    for above in (folder, *map(str, Path(folder).parents)):
        with contextlib.suppress(OSError):
            return os.stat(f"{above}/.git/config").st_mtime_ns
    return 0
