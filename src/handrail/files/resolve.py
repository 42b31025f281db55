"""What the disk says about a path. In: a path as somebody wrote it. Out: `Resolved`, for the permissions to judge.

Nothing is opened, so nothing waits: a pipe, a device or a circle of links is only named. Links are followed as the
kernel follows them, one by one, so that `link/../x` is what it would really open.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Final, NamedTuple

from handrail.files.kinds import is_process_information, kind_of
from handrail.permissions.path_names import is_below
from handrail.permissions.paths import Anchors, PathKind, Resolved, absolute

__all__ = ["Disk", "anchors_of", "resolve"]

LONGEST_PATH: Final = 4096
MOST_LINKS: Final = 40
_HARMLESS: Final = frozenset({"file", "directory", "missing"})


def anchors_of(cwd: str, *, project: str = "", home: str = "", additional: Sequence[str] = ()) -> Anchors:
    """Where contents begin, in both spellings. In: folders, absolute; the project is the cwd unless it is given."""
    home = home or os.path.expanduser("~")
    project = project or cwd
    folders = [absolute(folder, cwd, home) for folder in additional if folder and "\x00" not in folder]
    return Anchors(
        cwd=cwd,
        project=project,
        home=home,
        additional=tuple(dict.fromkeys([*folders, *map(os.path.realpath, folders)])),
        real_cwd=os.path.realpath(cwd),
        real_project=os.path.realpath(project),
        real_home=os.path.realpath(home),
    )


class Disk:
    """The world that decisions ask: the real disk, seen from a working folder."""

    def __init__(self, anchors: Anchors) -> None:
        self._anchors = anchors

    def resolve(self, path: str) -> Resolved:
        """One path, as it is now."""
        return resolve(path, self._anchors)


def resolve(path: str, anchors: Anchors) -> Resolved:
    """One path, seen from the cwd of these anchors, as it is now."""
    # What is too long for any kernel is refused; the rest of it need not be looked at.
    lexical = absolute(path[:LONGEST_PATH], anchors.cwd, anchors.home)
    if len(path) > LONGEST_PATH or "\x00" in path or not _is_encodable(path):
        return Resolved(asked=path, lexical=lexical, real=None, kind="other")
    as_kernel = _follow(_unworked(path, anchors))
    as_text = _follow(lexical) if ".." in path else as_kernel
    ambiguous = as_kernel.end != as_text.end
    return Resolved(
        asked=path,
        lexical=lexical,
        real=as_kernel.end,
        kind=as_text.kind if ambiguous and as_text.kind not in _HARMLESS else as_kernel.kind,
        links=max(as_kernel.links, as_text.links),
        via=tuple(dict.fromkeys((*as_kernel.via, *as_text.via, *([as_text.end] if ambiguous and as_text.end else [])))),
        ambiguous=ambiguous,
    )


def _is_encodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def _unworked(path: str, anchors: Anchors) -> str:
    """The absolute path with its `..` still in it: after a link they mean something else than in the text."""
    if path == "~" or path.startswith("~/"):
        return anchors.home + path[1:]
    return path if path.startswith("/") else f"{anchors.cwd}/{path}"


class _Walk:
    """Follows one path link by link, and remembers where the links led."""

    def __init__(self) -> None:
        self.via: list[str] = []
        self.through_proc = False
        self._missing = ""

    def follow(self, path: str) -> str:
        """The path without links, as far as it exists. What does not exist is kept as it was written."""
        names, done = path.split("/")[::-1], ""
        while names:
            name = names.pop()
            if name in ("", "."):
                continue
            if name == "..":
                done = done.rpartition("/")[0]
                continue
            here, done = done, f"{done}/{name}"
            if self._missing and is_below(done, self._missing):
                continue
            target = _target(done)
            if target is None:
                self._missing = done
            elif target:
                self._note(here, target)
                names += target.split("/")[::-1]
                done = "" if target.startswith("/") else here
        return done or "/"

    def last_existing(self, end: str) -> str:
        """The end of the way, or where it was left when the rest was not there."""
        return os.path.dirname(self._missing) if self._missing and is_below(end, self._missing) else end

    def _note(self, folder: str, target: str) -> None:
        if len(self.via) >= MOST_LINKS:
            raise OSError(errno.ELOOP, "too many links")
        self.through_proc = self.through_proc or is_process_information(folder or "/")
        self.via.append(absolute(target, folder, ""))


def _target(path: str) -> str | None:
    """Where a link leads; nothing for what is no link; None for what is not there."""
    try:
        return os.readlink(path)
    except OSError as error:
        if error.errno == errno.EINVAL:
            return ""
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        raise


class _End(NamedTuple):
    """Where a path ends, what is there, how many names that has, and the links on the way."""

    end: str | None
    kind: PathKind
    links: int
    via: list[str]


def _follow(path: str) -> _End:
    walk = _Walk()
    try:
        end = walk.follow(path)
        kind, links = _kind(end)
    except OSError as error:
        return _End(None, "loop" if error.errno == errno.ELOOP else "other", 1, walk.via)
    if walk.through_proc or is_process_information(walk.last_existing(end)):
        kind = "proc"
    return _End(end, kind, links, walk.via)


def _kind(real: str) -> tuple[PathKind, int]:
    """The kind of what has no links in its path any more, and how many names it has."""
    try:
        found = os.lstat(real)
    except (FileNotFoundError, NotADirectoryError):
        return "missing", 1
    return kind_of(found.st_mode), found.st_nlink
