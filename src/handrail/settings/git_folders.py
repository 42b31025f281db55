"""Where git would look from a folder. In: a folder. Out: the folders of its repository, without asking git.

Git passes by a `.git` that is no repository, and takes a folder that looks like the inside of one for one. So does
this: whoever sends an archive could otherwise hide a configuration above an empty `.git`, or beside one.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from handrail.settings.plain_file import Unreadable, read_bytes

__all__ = ["git_directories", "inside_git", "main_top"]

_HEAD = re.compile(r"ref:\s*refs/|[0-9a-f]{40}")


def inside_git(folder: str) -> list[str]:
    """The folder and those above it up to the top of its git repository; outside of one, the folder alone."""
    above = [folder, *map(str, Path(folder).parents)]
    marked = [index for index, path in enumerate(above) if os.path.lexists(os.path.join(path, ".git"))]
    top = next((index for index in marked if _ends_the_search(above[index])), marked[0] if marked else 0)
    return above[: top + 1]


def git_directories(folder: str) -> list[str]:
    """Where git may look for its configuration from here: git directories, and those that they share with others."""
    within = inside_git(folder)
    in_git = os.path.lexists(os.path.join(within[-1], ".git"))
    found: list[str] = []
    for path in within if in_git else (folder, *map(str, Path(folder).parents)):
        if os.path.lexists(os.path.join(path, ".git")):
            found += _directories_of(path)
        elif all(os.path.lexists(os.path.join(path, name)) for name in ("HEAD", "objects", "refs")):
            found.append(path)
    return [*dict.fromkeys(found)]


def _directories_of(top: str) -> tuple[str, str]:
    """The git directory of a top, and the one it shares; mostly they are the same."""
    place = os.path.join(top, ".git")
    if not os.path.isdir(place):
        place = os.path.join(top, _words(place).removeprefix("gitdir:").strip())
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
    """The top of the repository that a folder belongs to: of a further worktree, the one that all of them share."""
    shared = git_directories(folder)[-1:]
    top = inside_git(folder)[-1]
    return os.path.dirname(shared[0]) if shared and os.path.basename(shared[0]) == ".git" else top
