"""The branch that is checked out, read from `.git/HEAD` without running git."""

from __future__ import annotations

import os
from typing import Final

__all__ = ["git_branch"]

_LONGEST: Final = 4096
_REF: Final = "ref: refs/heads/"
_ELSEWHERE: Final = "gitdir: "


def git_branch(folder: str) -> str:
    """The branch of the repository around a folder; empty without a repository, `HEAD` if detached."""
    while True:
        place = os.path.join(folder, ".git")
        if os.path.isdir(place):
            return _branch(os.path.join(place, "HEAD"))
        if (text := _first_line(place)).startswith(_ELSEWHERE):
            return _branch(os.path.join(folder, text.removeprefix(_ELSEWHERE), "HEAD"))
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above


def _branch(path: str) -> str:
    text = _first_line(path)
    return text.removeprefix(_REF) if text.startswith(_REF) else "HEAD" if text else ""


def _first_line(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, _LONGEST).decode("utf-8", "replace").partition("\n")[0].strip()
    except OSError:
        return ""
    finally:
        os.close(descriptor)
