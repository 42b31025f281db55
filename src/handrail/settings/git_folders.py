"""The folders of the git repository around a folder, found as git finds them and without running git.

Git ignores a `.git` that is not a repository, and accepts a folder that looks like the inside of one. So does this
module: an archive could otherwise hide a configuration above an empty `.git`, or beside one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from handrail.settings.plain_file import Unreadable, read_bytes

__all__ = ["confirmed_top", "git_directories", "inside_git", "looks_like_git", "main_top"]

_PARTS = frozenset({"HEAD", "commondir", "objects", "refs"})
_HEAD = re.compile(r"ref:\s*refs/|[0-9a-f]{40}")


def inside_git(folder: str) -> list[str]:
    """The folder and those above it up to the top of its git repository; outside of one, the folder alone."""
    above = [folder, *map(str, Path(folder).parents)]
    marked = [index for index, path in enumerate(above) if os.path.lexists(os.path.join(path, ".git"))]
    top = next((index for index in marked if _ends_the_search(above[index])), marked[0] if marked else 0)
    return above[: top + 1]


def git_directories(folder: str) -> list[str]:
    """The folders that may hold git's configuration: git directories, and those that they share with others."""
    within = inside_git(folder)
    in_git = os.path.lexists(os.path.join(within[-1], ".git"))
    found: list[str] = []
    for path in within if in_git else (folder, *map(str, Path(folder).parents)):
        if os.path.lexists(os.path.join(path, ".git")):
            found += _directories_of(path)
        elif looks_like_git(name for name in _PARTS if os.path.lexists(os.path.join(path, name))):
            found += _shared(path)
    return [*dict.fromkeys(found)]


def looks_like_git(names: Iterable[str]) -> bool:
    """Whether a folder with these names in it may be a git directory: its objects and refs may be in another one."""
    there = _PARTS.intersection(names)
    return "HEAD" in there and ("commondir" in there or len(there) == len(_PARTS) - 1)


def _directories_of(top: str) -> tuple[str, str]:
    place = os.path.join(top, ".git")
    if not os.path.isdir(place):
        place = os.path.join(top, _words(place).removeprefix("gitdir:").strip())
    return _shared(place)


def _shared(place: str) -> tuple[str, str]:
    """A git directory, and the one that it shares with others; usually the same."""
    common = _words(os.path.join(place, "commondir"))
    return os.path.normpath(place), os.path.normpath(os.path.join(place, common))


def _ends_the_search(top: str) -> bool:
    """Whether git looks no higher: at a repository, and at a file that should lead to one."""
    place = os.path.join(top, ".git")
    return os.path.isfile(place) or _is_repository(place)


def _is_repository(place: str) -> bool:
    """Whether git takes this folder for a repository: by its HEAD, and by the objects and refs it has or shares."""
    head = os.path.join(place, "HEAD")
    if os.path.islink(head):
        known = os.readlink(head).startswith("refs/")
    else:
        known = _HEAD.match(_words(head)) is not None
    shared = os.path.join(place, _words(os.path.join(place, "commondir")))
    return known and all(os.access(os.path.join(shared, name), os.X_OK) for name in ("objects", "refs"))


def _words(path: str) -> str:
    try:
        return (read_bytes(path, 4096) or b"").decode("utf-8", "replace").strip()
    except Unreadable:
        return ""


def main_top(folder: str) -> str:
    """The top of the repository that a folder belongs to; for a further worktree, the top that all of them share."""
    shared = git_directories(folder)[-1:]
    top = inside_git(folder)[-1]
    return os.path.dirname(shared[0]) if shared and os.path.basename(shared[0]) == ".git" else top


def confirmed_top(folder: str) -> str:
    """The real path of the main top, if that repository lists this worktree; else of the folder's own top.

    A `.git` file can name any repository, so an unpacked archive could pass for a worktree of one that is trusted. Only
    git itself writes the way back, into the repository.
    """
    top, main = inside_git(folder)[-1], main_top(folder)
    if main != top:
        place = git_directories(folder)[0]
        back = _words(os.path.join(place, "gitdir"))
        if not back or os.path.realpath(os.path.join(place, back)) != os.path.realpath(os.path.join(top, ".git")):
            main = top
    return os.path.realpath(main)
