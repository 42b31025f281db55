"""A command in a box. In: the sandbox settings and the folders of the desk. Out: bubblewrap's argv, to put in front.

In the box the project and the additional folders can be written, all else can only be read, `/tmp` and `/run` are empty
and its own, nobody has a privilege, and there is no network unless the settings allow it. What would later run outside
of the box can neither be changed nor made: where it does not exist, something empty stands in its place meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct

from handrail.agent.tools.base import ToolFailed

if TYPE_CHECKING:
    from handrail.agent.desk import Desk

__all__ = ["Box", "is_boxed", "make_box", "network_allowed"]

_FOLDERS: Final = (".git/hooks", ".claude", ".vscode", ".idea")
_FILES: Final = (".git/config", ".mcp.json")
"""What would later run outside of the box, or says what does; it stays as it is."""
_ALONE: Final = ("--die-with-parent", "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL")
_OWN: Final = ("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run")  # noqa: S108 - the box's own
_NAMES: Final = "/run/systemd/resolve"
"""Where some systems keep the addresses of their name servers."""
_empty: Counter[str] = Counter()
"""Empty places that boxes of this process need now."""


class Box(Struct, frozen=True):
    """A box for one command: `argv` goes in front of it; `tidy` is called when it has ended."""

    argv: tuple[str, ...] = ()
    places: tuple[str, ...] = ()

    def tidy(self) -> None:
        """Take the empty places away that nobody needs any more."""
        for path in self.places:
            _empty[path] -= 1
            if _empty[path] <= 0:
                del _empty[path]
                _remove(path)


def _settings(desk: Desk) -> dict[str, Any]:
    found = desk.notes.get("sandbox")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def is_boxed(desk: Desk, *, unboxed_wanted: bool = False) -> bool:
    """Shall the command run in a box? The model may ask for none only where the settings say that it may."""
    settings = _settings(desk)
    if settings.get("enabled") is not True:
        return False
    return not (unboxed_wanted and settings.get("allowUnsandboxedCommands") is True)


def network_allowed(desk: Desk) -> bool:
    """Is the network open? Only all of it can be: single domains would need a proxy."""
    network = _settings(desk).get("network")
    if not isinstance(network, dict):
        return False
    domains = cast("dict[str, Any]", network).get("allowedDomains")
    return isinstance(domains, list) and "*" in cast("list[object]", domains)


def make_box(desk: Desk) -> Box:
    """The box for the next command. ToolFailed where there is no bubblewrap."""
    program = shutil.which("bwrap")
    if program is None:
        raise ToolFailed(
            "The setting sandbox.enabled is on, but bubblewrap (bwrap) is not installed, so the command was not run. "
            "Install bubblewrap, or switch the setting off."
        )
    argv = [program, *_ALONE, "--ro-bind", "/", "/", *_OWN]
    argv += ["--ro-bind-try", _NAMES, _NAMES] if network_allowed(desk) else ["--unshare-net"]
    folders = [os.path.realpath(folder) for folder in (desk.project, *desk.additional)]
    places: list[str] = []
    for folder in folders:
        argv += ["--bind-try", folder, folder]
    for folder in filter(os.path.isdir, folders):
        argv += _kept(folder, places)
    _empty.update(places)
    return Box((*argv, "--chdir", os.path.realpath(desk.cwd), "--"), tuple(places))


def _kept(folder: str, places: list[str]) -> list[str]:
    """What of a folder stays as it is, or stays away. `places` grows by those that are empty."""
    argv: list[str] = []
    repository = os.path.join(folder, ".git")
    if _is_folder(repository):
        argv += ["--bind", repository, repository]  # so that it cannot be moved away, and another put in its place
    for name in (*_FOLDERS, *_FILES):
        path = os.path.join(folder, name)
        if os.path.lexists(path) and path not in _empty:
            argv += ["--ro-bind-try", path, path]
        elif _is_folder(os.path.dirname(path)):
            places.append(path)
            is_folder = name in _FOLDERS
            argv += ["--tmpfs", path, "--remount-ro", path] if is_folder else ["--ro-bind", os.devnull, path]
    return argv


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _remove(path: str) -> None:
    """Only what is still empty: somebody outside may have put something there."""
    with contextlib.suppress(OSError):
        if _is_folder(path):
            os.rmdir(path)
        elif os.lstat(path).st_size == 0:
            os.unlink(path)
