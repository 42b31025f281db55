"""Writes a permission update into its settings file, and leaves the rest of the file unchanged.

localSettings, projectSettings and userSettings can be written; policySettings and flagSettings cannot. A file is
replaced in one step, by one writer at a time. A folder that the user accepted stays accepted after such a write.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Callable, Generator, Sequence

from handrail.errors import CallerError
from handrail.permissions.paths.names import oddity, shown
from handrail.permissions.rules.rule import Rule, RuleError, parse_rule
from handrail.permissions.updates.apply import MODES, UpdateRefused, rules_of
from handrail.schema.permission_types import PermissionUpdate
from handrail.settings.files import Place, read_data
from handrail.settings.json_edit import change_list, set_value
from handrail.settings.json_tree import parse
from handrail.settings.load import look
from handrail.settings.plain_file import LIMIT, Unreadable
from handrail.settings.sha256 import sha256_of
from handrail.settings.trust import Standing, TrustError, accept_own_write

__all__ = ["WriteRefused", "write_update", "write_value"]


class WriteRefused(CallerError):
    """An update was not written; the text says why and what to do."""


def write_update(update: PermissionUpdate, *, folder: str, home: str) -> str:
    """Write one update and return the path of its file. Raises WriteRefused, and then nothing has changed.

    `home` is the config home.
    """
    _destination(update.destination, folder, home)
    return _write(update.destination, _change(update), folder, home)


def write_value(destination: str, keys: Sequence[str], value: str, *, folder: str, home: str) -> str:
    """Write one text at a path of keys and return the path of the file. Raises WriteRefused; then nothing changed."""
    return _write(destination, lambda text: set_value(text, keys, value), folder, home)


def _write(destination: str, change: Callable[[str], str], folder: str, home: str) -> str:
    folder = os.path.realpath(folder)
    path = _destination(destination, folder, home)
    inside = None if destination == "userSettings" else folder
    try:
        with _folder_of(path, inside) as directory:
            # Other writers wait until this write is accepted too, since they could not tell it from a foreign one.
            fcntl.flock(directory, fcntl.LOCK_EX)
            before = None if inside is None else look(folder, home)
            written = _changed(_current(path, directory), path, change)
            _replace(os.path.basename(path), written, directory)
            if before is not None:
                _accept(before, path, written, home)
    except (OSError, Unreadable) as error:
        raise WriteRefused(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from None
    return path


def _accept(before: Standing, path: str, written: bytes, home: str) -> None:
    """Keep an accepted folder accepted. If that cannot be stored, the file is written anyway and the user is asked."""
    folder, digest = before.contents.folder, sha256_of(written)
    with contextlib.suppress(TrustError):
        accept_own_write(before, look(folder, home).contents, os.path.relpath(path, folder), digest, home)


def _destination(destination: str, folder: str, home: str) -> str:
    paths = {
        "localSettings": os.path.join(folder, ".claude", "settings.local.json"),
        "projectSettings": os.path.join(folder, ".claude", "settings.json"),
        # A person may keep this one elsewhere and link to it: then the file itself is written, and the link stays.
        "userSettings": os.path.realpath(os.path.join(home, "settings.json")),
    }
    if destination in ("policySettings", "flagSettings"):
        raise WriteRefused(f"{destination} are read-only: only their owner can change them")
    if destination not in paths:
        raise WriteRefused(f"{destination[:60]!r} is not kept in a file")
    return paths[destination]


def _change(update: PermissionUpdate) -> Callable[[str], str]:
    """The change of an update to the text of a file."""
    if update.type == "setMode":
        return _set_mode(update)
    if update.type in ("addDirectories", "removeDirectories"):
        keys = ("permissions", "additionalDirectories")
        for path in update.directories:
            if not path or oddity(path):
                raise WriteRefused(f"{shown(path)!r} cannot be worked in: {oddity(path) or 'it is empty'}")
        add = update.directories if update.type == "addDirectories" else []
        gone = update.directories if update.type == "removeDirectories" else []
        return lambda text: change_list(text, keys, add, set(gone))
    if update.type not in ("addRules", "removeRules", "replaceRules"):
        raise WriteRefused(f"{update.type[:60]!r} is not a known update")
    try:
        rules = [str(rule.rule) for rule in rules_of(update)]
    except UpdateRefused as error:
        raise WriteRefused(str(error)) from None
    keys = ("permissions", update.behavior)
    changes: dict[str, Callable[[str], str]] = {
        "addRules": lambda text: change_list(text, keys, rules),
        "removeRules": lambda text: change_list(text, keys, [], _spellings(text, keys, rules)),
        "replaceRules": lambda text: set_value(text, keys, rules),
    }
    return changes[update.type]


def _set_mode(update: PermissionUpdate) -> Callable[[str], str]:
    if update.mode == "bypassPermissions":
        raise WriteRefused("a mode that asks for nothing is never kept by an update; choose it when you start")
    if update.mode not in MODES:
        raise WriteRefused(f"{update.mode[:60]!r} is not a mode; it must be one of {', '.join(sorted(MODES))}")
    return lambda text: set_value(text, ("permissions", "defaultMode"), update.mode)


def _spellings(text: str, keys: tuple[str, ...], rules: list[str]) -> set[str]:
    """Every text in the file that is one of these rules in any spelling."""
    wanted = {parse_rule(rule) for rule in rules}
    node = parse(text).at(*keys)
    found = {str(item.value) for item in (node.items if node is not None else None) or ()}
    return {item for item in found if item in rules or _parsed(item) in wanted}


def _parsed(text: str) -> Rule | None:
    try:
        return parse_rule(text)
    except RuleError:
        return None


@contextlib.contextmanager
def _folder_of(path: str, inside: str | None) -> Generator[int]:
    """A descriptor of the folder that holds `path`; a missing folder is made.

    Below a project no link is followed: it could lead to the settings of another project, or of the user.
    """
    parent = os.path.dirname(path)
    if inside is None:
        os.makedirs(parent, mode=0o700, exist_ok=True)
        descriptor = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    else:
        root = os.open(inside, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            name = os.path.basename(parent)
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=root)
            descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root)
        finally:
            os.close(root)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _current(path: str, directory: int) -> bytes | None:
    """The content of the file; None for a missing one."""
    name = os.path.basename(path)
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable("it is not a plain file")
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(LIMIT + 1)


def _changed(current: bytes | None, path: str, change: Callable[[str], str]) -> bytes:
    if current is None:
        return change("{}\n").encode()
    file = read_data(Place("userSettings", path), current)
    if file.broken:
        raise Unreadable(f"it is broken and was left as it is: {file.problems[0]}")
    mark = "\ufeff" if current.startswith(b"\xef\xbb\xbf") else ""
    return f"{mark}{change(file.text)}".encode()


def _replace(name: str, data: bytes, directory: int) -> None:
    """Replace a file in one step, and keep its permissions."""
    unfinished = f".{name}.{os.getpid()}.{os.urandom(6).hex()}"
    try:
        mode = stat.S_IMODE(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        mode = 0o600
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(unfinished, flags, 0o600, dir_fd=directory)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        os.rename(unfinished, name, src_dir_fd=directory, dst_dir_fd=directory)
        os.fsync(directory)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished, dir_fd=directory)
        raise
