"""Where git would look from a folder. In: a folder. Out: the folders of its repository, without asking git."""

from __future__ import annotations

import os
from pathlib import Path

from handrail.settings.plain_file import Unreadable, read_bytes

__all__ = ["git_directories", "inside_git", "main_top"]


def inside_git(folder: str) -> list[str]:
    """The folder and those above it up to the top of its git repository; outside of one, the folder alone."""
    above = [folder, *map(str, Path(folder).parents)]
    top = next((index for index, path in enumerate(above) if os.path.lexists(os.path.join(path, ".git"))), 0)
    return above[: top + 1]


def git_directories(folder: str) -> list[str]:
    """Where git would look for its configuration from here: the git directory, and the one it shares with others."""
    top = inside_git(folder)[-1]
    place = os.path.join(top, ".git")
    if not os.path.lexists(place):
        bare = all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))
        return [folder] if bare else []
    if not os.path.isdir(place):
        place = os.path.join(top, _words(place).removeprefix("gitdir:").strip())
    common = _words(os.path.join(place, "commondir"))
    return [*dict.fromkeys(map(os.path.normpath, (place, os.path.join(place, common))))]


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
