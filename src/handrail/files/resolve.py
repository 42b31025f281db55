"""Resolves paths on disk, for decisions of the permission engine.

Nothing is opened, so nothing waits: a pipe, a device or a circle of links is only named. Links are followed as the
kernel follows them, one by one, so that `link/../x` is what it would really open.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from msgspec import Struct

from handrail.files.kinds import is_process_information, kind_of
from handrail.permissions.paths.matching import Anchors, PathKind, Resolved, absolute
from handrail.permissions.paths.names import is_below

__all__ = ["CallPaths", "Disk", "OneFile", "anchors_of", "real_path", "resolve"]

LONGEST_PATH: Final = 4096
MOST_LINKS: Final = 40
MOST_NAMES: Final = 2000
"""A larger folder is not looked at while a command is judged: 2,000 names take about 2 ms."""
_ODD_NAME: Final = re.compile(r"""^-|[\s"'\\*?\[]""")
_HARMLESS: Final = frozenset({"file", "directory", "missing"})


def anchors_of(cwd: str, *, project: str = "", home: str = "", additional: Sequence[str] = ()) -> Anchors:
    """The folders that rules are relative to, in both spellings. All are absolute; `project` defaults to `cwd`."""
    home = home or os.path.expanduser("~")
    project = project or cwd
    folders = [absolute(folder, cwd, home) for folder in additional if folder and "\x00" not in folder]
    return Anchors(
        cwd=cwd,
        project=project,
        home=home,
        additional=tuple(dict.fromkeys([*folders, *map(real_path, folders)])),
        real_cwd=real_path(cwd),
        real_project=real_path(project),
        real_home=real_path(home),
    )


class Disk:
    """The real disk, seen from a working folder."""

    def __init__(self, anchors: Anchors) -> None:
        self._anchors = anchors

    def resolve(self, path: str) -> Resolved:
        """One path, as it is now."""
        return resolve(path, self._anchors)

    def names(self, folder: str) -> tuple[str, ...] | None:
        """The names in a folder; None if there are more than `MOST_NAMES`."""
        try:
            with os.scandir(_unworked(folder, self._anchors)) as entries:
                found = tuple(entry.name for entry in islice(entries, MOST_NAMES + 1))
        except (OSError, ValueError):
            return ()
        return found if len(found) <= MOST_NAMES else None

    def is_plain(self, folder: str) -> bool:
        """Whether a folder holds no links at any depth, and no names that a shell would split or read as options."""
        waiting, seen = [_unworked(folder, self._anchors)], 0
        while waiting:
            try:
                with os.scandir(waiting.pop()) as entries:
                    for entry in entries:
                        seen += 1
                        if seen > MOST_NAMES or entry.is_symlink() or _ODD_NAME.search(entry.name):
                            return False
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
            except (OSError, ValueError):
                return False
        return True


class CallPaths:
    """The paths of one tool call, each resolved once, so that the decision and the tool mean the same file.

    A tool that resolved its path again could be led elsewhere by a link that appeared after the decision.
    """

    def __init__(self, anchors: Anchors) -> None:
        self._disk = Disk(anchors)
        self._found: dict[str, Resolved] = {}

    def resolve(self, path: str) -> Resolved:
        """The path as it was when it was first asked for."""
        if path not in self._found:
            self._found[path] = self._disk.resolve(path)
        return self._found[path]

    def names(self, folder: str) -> tuple[str, ...] | None:
        """The names in a folder, as they are now."""
        return self._disk.names(folder)

    def is_plain(self, folder: str) -> bool:
        """As `Disk.is_plain`, as it is now."""
        return self._disk.is_plain(folder)


class OneFile:
    """A disk with one file, for a decision about a file that is already resolved."""

    def __init__(self, resolved: Resolved) -> None:
        self._resolved = resolved

    def resolve(self, path: str) -> Resolved:
        """That file, for every path."""
        return self._resolved

    def names(self, folder: str) -> tuple[str, ...]:
        """None: there are no folders."""
        return ()

    def is_plain(self, folder: str) -> bool:
        """False: there are no folders."""
        return False


def resolve(path: str, anchors: Anchors) -> Resolved:
    """One path, seen from the cwd of these anchors, as it is now."""
    # Every kernel refuses a longer path, so the rest of it does not matter.
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


def real_path(path: str | os.PathLike[str]) -> str:
    """The path without links, as far as it exists.

    As `os.path.realpath`, which may raise an error (EINVAL, before Python 3.13) if a link on the way becomes a folder
    between its two system calls for one name. This looks at each name with one call.
    """
    path = os.fspath(path)
    path = path if path.startswith("/") else os.path.join(os.getcwd(), path)
    try:
        return _Walk().follow(path)
    except OSError:
        return os.path.normpath(path)  # a circle of links, or a folder that may not be searched


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
        """The resolved path, or the part of it that exists followed by the rest."""
        return os.path.dirname(self._missing) if self._missing and is_below(end, self._missing) else end

    def _note(self, folder: str, target: str) -> None:
        if len(self.via) >= MOST_LINKS:
            raise OSError(errno.ELOOP, "too many links")
        self.through_proc = self.through_proc or is_process_information(folder or "/")
        self.via.append(absolute(target, folder, ""))


def _target(path: str) -> str | None:
    """The target of a link; "" if the path is not a link; None if it does not exist."""
    try:
        return os.readlink(path)
    except OSError as error:
        if error.errno == errno.EINVAL:
            return ""
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        raise


class _End(Struct, frozen=True):
    """The end of a path: its kind, its number of hard links, and the links on the way."""

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
    """The kind of a path without links, and its number of hard links."""
    try:
        found = os.lstat(real)
    except (FileNotFoundError, NotADirectoryError):
        return "missing", 1
    return kind_of(found.st_mode), found.st_nlink
