"""Running a command in a bubblewrap sandbox. Without bubblewrap the cage is used, see `command_cage.writing_cage`.

Only the project and the additional folders are writable. `/tmp` and `/run` are empty and private, all capabilities are
dropped, and the network is off unless the settings allow it. Files that would later run outside the sandbox (git hooks,
editor and agent settings) can be neither changed nor created: missing ones are masked by an empty mount, for which
bubblewrap creates a mount point that has to be removed afterwards.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct

from handrail.agent.tools.protected_files import protected_files, protected_folders
from handrail.files.resolve import real_path

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk

__all__ = ["NOT_INSTALLED", "Sandbox", "is_sandboxed", "make_sandbox", "network_allowed"]

_ISOLATION: Final = ("--die-with-parent", "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL")
_PRIVATE: Final = ("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run")  # noqa: S108 - private
_RESOLVERS: Final = "/run/systemd/resolve"
"""systemd-resolved keeps the name servers here, and `/run` is hidden in the sandbox."""
NOT_INSTALLED: Final = (
    "The setting sandbox.enabled is on, but bubblewrap (bwrap) is not installed and the kernel has no Landlock, so the "
    "command was not run. Install bubblewrap, or switch the setting off."
)
_mount_points: Counter[str] = Counter()
"""Mount points for missing files, with the number of running sandboxes of this process that use them."""


class Sandbox(Struct, frozen=True):
    """The sandbox of one command: put `argv` in front of it and call `clean_up` when it has exited."""

    argv: tuple[str, ...] = ()
    mount_points: tuple[str, ...] = ()

    def clean_up(self) -> None:
        """Remove the mount points that no other sandbox uses."""
        for path in self.mount_points:
            _mount_points[path] -= 1
            if _mount_points[path] <= 0:
                del _mount_points[path]
                _remove_if_empty(path)


def _settings(desk: Desk) -> dict[str, Any]:
    found = desk.sandbox
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def is_sandboxed(desk: Desk, *, opt_out: bool = False) -> bool:
    """Whether a command runs in the sandbox. The model can opt out only if the settings allow it."""
    settings = _settings(desk)
    if settings.get("enabled") is not True:
        return False
    return not (opt_out and settings.get("allowUnsandboxedCommands") is True)


def network_allowed(desk: Desk) -> bool:
    """Whether the network is open. It is all or nothing: filtering single domains would need a proxy."""
    network = _settings(desk).get("network")
    if not isinstance(network, dict):
        return False
    domains = cast("dict[str, Any]", network).get("allowedDomains")
    return isinstance(domains, list) and "*" in cast("list[object]", domains)


def make_sandbox(desk: Desk) -> Sandbox:
    """Make the sandbox for one command; an empty one if bubblewrap is not installed."""
    program = shutil.which("bwrap")
    if program is None:
        return Sandbox()
    argv = [program, *_ISOLATION, "--ro-bind", "/", "/", *_PRIVATE]
    argv += ["--ro-bind-try", _RESOLVERS, _RESOLVERS] if network_allowed(desk) else ["--unshare-net"]
    folders = [real_path(folder) for folder in (desk.project, *desk.additional)]
    mount_points: list[str] = []
    for folder in filter(None, (*folders, desk.git_folder)):
        argv += ["--bind-try", folder, folder]
    there = [folder for folder in folders if os.path.isdir(folder)]
    for folder in there:
        repository = os.path.join(folder, ".git")
        if _is_folder(repository):
            argv += ["--bind", repository, repository]  # a mount point cannot be renamed and replaced
    argv += _protect(protected_folders(there, desk.git_folder), mount_points, folders=True)
    argv += _protect(protected_files(there, desk.git_folder), mount_points)
    _mount_points.update(mount_points)
    return Sandbox((*argv, "--chdir", real_path(desk.cwd), "--"), tuple(mount_points))


def _protect(paths: Iterable[str], mount_points: list[str], *, folders: bool = False) -> list[str]:
    """The arguments that protect files or folders; appends to `mount_points` those that do not exist yet."""
    argv: list[str] = []
    for path in paths:
        if os.path.lexists(path) and path not in _mount_points:
            argv += ["--ro-bind-try", path, path]
        elif _is_folder(os.path.dirname(path)):
            mount_points.append(path)
            argv += ["--tmpfs", path, "--remount-ro", path] if folders else ["--ro-bind", os.devnull, path]
    return argv


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _remove_if_empty(path: str) -> None:
    """Another process may have created the real file in the meantime, so only remove what is still empty."""
    with contextlib.suppress(OSError):
        if _is_folder(path):
            os.rmdir(path)
        elif os.lstat(path).st_size == 0:
            os.unlink(path)
