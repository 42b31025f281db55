"""Opens every path that a model, a browser or a repository names, below a folder.

Check and use are one step: whether a path stays below its folder is decided by the opening itself (`openat2`), and what
kind of file it is by what has been opened. Nothing here waits for a pipe, follows a link out, or writes in place.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Generator, Iterable
from types import TracebackType
from typing import BinaryIO, Final, Self

from msgspec import Struct
from msgspec.structs import replace

from handrail.files.errors import (
    FileError,
    FileNotThere,
    LinkInTheWay,
    OtherNames,
    OutsideRoot,
    TooLarge,
    WrongKind,
)
from handrail.files.kinds import KIND_WORDS, is_process_information, kind_of
from handrail.files.openat2 import Opener, opener
from handrail.files.resolve import real_path
from handrail.permissions.paths.matching import Resolved, is_refused
from handrail.permissions.paths.names import is_below

__all__ = [
    "LIST_LIMIT",
    "READ_LIMIT",
    "Entry",
    "Listing",
    "Root",
    "open_folder",
    "open_resolved",
    "read_resolved",
    "refreshed",
    "siblings",
    "stat_resolved",
    "write_resolved",
]

READ_LIMIT: Final = 32 * 1024 * 1024
LIST_LIMIT: Final = 10_000
_CHUNK: Final = 1024 * 1024
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Entry(Struct, frozen=True, order=True):
    """One name in a folder: `kind` is one of `PathKind`, or `link`, which is not followed."""

    name: str
    kind: str
    size: int
    modified: float


class Listing(Struct, frozen=True):
    """The names in a folder, sorted; not `complete` when there were more than the limit."""

    entries: list[Entry]
    complete: bool


class Root:
    """A folder held open: what is named below it is opened from it, and nothing outside can be reached through it."""

    def __init__(self, path: str, *, open_with: Opener | None = None, within: Iterable[str] | None = None) -> None:
        """Open the folder. `within`: folders in which it must be; raises OutsideRoot if a link has led it elsewhere."""
        if "\x00" in path:
            raise FileError(path, "it contains a NUL character")
        self.path = real_path(path)
        self._open = open_with or opener()
        with _explained(path, follow_links=True):
            self._folder = os.open(self.path, _FOLDER | os.O_CLOEXEC)
        if within is not None and not _is_within(self._folder, within):
            self.close()
            raise OutsideRoot(path, "it is outside, or no longer inside, the folders that may be used")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the folder."""
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1

    def open(self, path: str, *, follow_links: bool = True, most_names: int | None = None) -> BinaryIO:
        """A plain file, open for reading. `most_names`: how many hard links it may have; None for any number."""
        with _explained(path, follow_links=follow_links), contextlib.ExitStack() as undo:
            descriptor = self._open(self._folder, self._below(path), os.O_RDONLY, follow_links=follow_links)
            undo.callback(os.close, descriptor)
            _check_file(descriptor, path, most_names)
            undo.pop_all()
            return os.fdopen(descriptor, "rb")

    def read(
        self, path: str, *, limit: int = READ_LIMIT, follow_links: bool = True, most_names: int | None = None
    ) -> bytes:
        """All bytes of a plain file, if they are no more than the limit."""
        with self.open(path, follow_links=follow_links, most_names=most_names) as file:
            with _explained(path, follow_links=follow_links):
                size = os.fstat(file.fileno()).st_size
                # It may be larger than it says, or grow while it is read.
                data = file.read(limit + 1) if size <= limit else b""
            if max(size, len(data)) > limit:
                raise TooLarge(path, f"it has {max(size, len(data)):,} bytes, and at most {limit:,} are read")
            return data

    def write(
        self,
        path: str,
        data: bytes,
        *,
        follow_links: bool = True,
        make_folders: bool = False,
        mode: int | None = None,
    ) -> None:
        """Replace the content of a plain file, or create one, atomically.

        Folders on the way may be links; the file itself may not. Other names of the old file keep the old bytes.
        """
        below = self._below(path)
        folder, _, name = below.rpartition("/")
        if name in ("", ".", ".."):
            raise WrongKind(path, "it names a folder, and a file was to be written")
        with _explained(path, follow_links=follow_links):
            if make_folders:
                self._make_folders(folder, follow_links=follow_links)
            with self._folder_at(folder or ".", path, follow_links=follow_links) as descriptor:
                _replace(descriptor, name, data, path, mode)

    def stat(self, path: str, *, follow_links: bool = True) -> os.stat_result:
        """The state of a file or folder. A link as the last name is not followed. Raises FileNotThere."""
        folder, _, name = self._below(path).rpartition("/")
        with (
            _explained(path, follow_links=follow_links),
            self._folder_at(folder or ".", path, follow_links=follow_links) as descriptor,
        ):
            return os.stat(name or ".", dir_fd=descriptor, follow_symlinks=False)

    @contextlib.contextmanager
    def folder(self, path: str, *, follow_links: bool = True) -> Generator[int]:
        """The descriptor of a folder, open while the context lasts."""
        with (
            _explained(path, follow_links=follow_links),
            self._folder_at(self._below(path), path, follow_links=follow_links) as descriptor,
        ):
            yield descriptor

    def entries(self, path: str = ".", *, limit: int = LIST_LIMIT, follow_links: bool = True) -> Listing:
        """The entries of a folder. Links are listed as links."""
        with (
            _explained(path, follow_links=follow_links),
            self._folder_at(self._below(path), path, follow_links=follow_links) as descriptor,
            os.scandir(descriptor) as found,
        ):
            entries: list[Entry] = []
            for item in found:
                if len(entries) == limit:
                    return Listing(sorted(entries), complete=False)
                with contextlib.suppress(FileNotFoundError):
                    entries.append(_entry(item.name, item.stat(follow_symlinks=False)))
            return Listing(sorted(entries), complete=True)

    def _below(self, path: str) -> str:
        """The path from this folder. An absolute one must begin with this folder's own path."""
        if "\x00" in path:
            raise FileError(path, "it contains a NUL character")
        if not path.startswith("/"):
            return path or "."
        if not is_below(path, self.path):
            raise OutsideRoot(path, f"it is not below {self.path}")
        return path[len(self.path) :].lstrip("/") or "."

    @contextlib.contextmanager
    def _folder_at(self, below: str, path: str, *, follow_links: bool) -> Generator[int]:
        descriptor = self._open(self._folder, below, _FOLDER, follow_links=follow_links)
        try:
            if is_process_information(descriptor):
                raise WrongKind(path, f"it is {KIND_WORDS['proc']}")
            yield descriptor
        finally:
            os.close(descriptor)

    def _make_folders(self, below: str, *, follow_links: bool) -> None:
        """Make the folders that are missing, each from the one before it, held open."""
        done = "."
        for name in below.split("/"):
            parent, done = done, f"{done}/{name}"
            try:
                os.close(self._open(self._folder, done, _FOLDER, follow_links=follow_links))
            except FileNotFoundError:
                with (
                    self._folder_at(parent, done, follow_links=follow_links) as descriptor,
                    contextlib.suppress(FileExistsError),
                ):
                    os.mkdir(name, dir_fd=descriptor)


def open_resolved(resolved: Resolved) -> BinaryIO:
    """Open for reading exactly the file that was decided on: no link on the way, no more names than it had then."""
    with _filesystem(resolved) as (root, path):
        return root.open(path, follow_links=False, most_names=resolved.links)


def read_resolved(resolved: Resolved, *, limit: int = READ_LIMIT) -> bytes:
    """All bytes of exactly the file that was decided on."""
    with _filesystem(resolved) as (root, path):
        return root.read(path, limit=limit, follow_links=False, most_names=resolved.links)


def write_resolved(resolved: Resolved, data: bytes, *, make_folders: bool = False, mode: int | None = None) -> None:
    """Write exactly where it was decided to write: no link on the way."""
    with _filesystem(resolved) as (root, path):
        root.write(path, data, follow_links=False, make_folders=make_folders, mode=mode)


def stat_resolved(resolved: Resolved) -> os.stat_result:
    """The state of exactly the file that was decided on. Raises LinkInTheWay if a link took its place."""
    with _filesystem(resolved) as (root, path):
        found = root.stat(path, follow_links=False)
    if stat.S_ISLNK(found.st_mode):
        raise LinkInTheWay(resolved.asked, "it became a link after it was decided on")
    return found


def refreshed(resolved: Resolved) -> Resolved:
    """The same path as it is now: a file may appear, change or vanish after the decision, but not lead elsewhere.

    Raises LinkInTheWay for a link that was not there, WrongKind for a pipe or a folder in place of a file.
    """
    if resolved.real is None or is_refused(resolved):
        return resolved
    try:
        found = stat_resolved(resolved)
    except FileNotThere:
        return replace(resolved, kind="missing", links=1)
    except WrongKind:
        if resolved.kind == "missing":  # a plain file is in place of its folder
            return resolved
        raise
    kind = kind_of(found.st_mode)
    if kind != resolved.kind and {kind, resolved.kind} != {"file", "missing"}:
        raise WrongKind(resolved.asked, f"it was a {resolved.kind} when it was decided on, and is a {kind} now")
    # More names than were decided on are refused when the file is opened.
    return resolved if kind == resolved.kind else replace(resolved, kind=kind)


@contextlib.contextmanager
def open_folder(resolved: Resolved) -> Generator[int]:
    """The descriptor of exactly the folder that was decided on, open while the context lasts."""
    with _filesystem(resolved) as (root, path), root.folder(path, follow_links=False) as descriptor:
        yield descriptor


def siblings(resolved: Resolved) -> list[str]:
    """The names in the folder of a file that was decided on."""
    with _filesystem(resolved) as (root, path):
        return [entry.name for entry in root.entries(os.path.dirname(path), follow_links=False).entries]


def _is_within(folder: int, roots: Iterable[str]) -> bool:
    """Whether an open folder is one of the roots or below one. Goes up from the descriptor, so no name can mislead."""
    wanted: set[tuple[int, int]] = set()
    for root in roots:
        with contextlib.suppress(OSError, ValueError):
            wanted.add(_identity(os.stat(root)))
    here = os.dup(folder)
    try:
        while (now := _identity(os.fstat(here))) not in wanted:
            above = os.open("..", _FOLDER | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = above
            if _identity(os.fstat(here)) == now:  # the top
                return False
        return True
    except OSError:
        return False
    finally:
        os.close(here)


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def _filesystem(resolved: Resolved) -> Generator[tuple[Root, str]]:
    if resolved.real is None or is_refused(resolved):
        raise WrongKind(resolved.asked, is_refused(resolved) or "it leads nowhere")
    with Root("/") as root:
        yield root, resolved.real


@contextlib.contextmanager
def _explained(path: str, *, follow_links: bool) -> Generator[None]:
    """Turn an OSError into a FileError with a readable message."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise FileError(path, "its name cannot be encoded") from error
    except OSError as error:
        if error.errno == errno.ELOOP and not follow_links:
            raise LinkInTheWay(path, "a symbolic link is in the way, and links are not followed here") from error
        kind, problem = _WORDS.get(error.errno or 0, (FileError, f"the system says: {error.strerror}"))
        raise kind(path, problem) from error


_WORDS: Final[dict[int, tuple[type[FileError], str]]] = {
    errno.ENOENT: (FileNotThere, "no such file or folder"),
    errno.EXDEV: (OutsideRoot, "it leads out of the folder it must stay in"),
    errno.ELOOP: (LinkInTheWay, "its links lead in a circle, or through /proc"),
    errno.ENOTDIR: (WrongKind, "a part of the path is not a folder"),
    errno.EISDIR: (WrongKind, "it is a folder"),
    errno.ENXIO: (WrongKind, "it is a socket or a device that is not there"),
    errno.EACCES: (FileError, "permission denied"),
}


def _check_file(descriptor: int, path: str, most_names: int | None) -> None:
    """Refuse anything but a plain file. Checked on the descriptor, because the name can be exchanged afterwards."""
    found = os.fstat(descriptor)
    kind = "proc" if is_process_information(descriptor) else kind_of(found.st_mode)
    if kind != "file":
        raise WrongKind(path, f"it is {KIND_WORDS.get(kind, 'no plain file')}, and only plain files are read")
    if most_names is not None and found.st_nlink > most_names:
        raise OtherNames(path, f"it has {found.st_nlink} names (hard links), and at most {most_names} may be")


def _entry(name: str, found: os.stat_result) -> Entry:
    kind = "link" if stat.S_ISLNK(found.st_mode) else kind_of(found.st_mode)
    return Entry(name, kind, found.st_size, found.st_mtime)


def _replace(folder: int, name: str, data: bytes, path: str, mode: int | None) -> None:
    """Write under another name, then replace the old file by renaming."""
    old = _old_file(folder, name, path)
    unfinished = f".{os.urandom(8).hex()}.unfinished"
    try:
        # A new file gets what the umask leaves of 0666; one that replaces another is closed until it looks like it.
        with os.fdopen(os.open(unfinished, _NEW, 0o600 if old else 0o666, dir_fd=folder), "wb") as file:
            if old:
                _take_after(old, file.fileno())
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished, dir_fd=folder)
        raise


def _take_after(old: os.stat_result, new: int) -> None:
    """Copy owner and permissions of the old file as far as possible, without its set-user-id bit."""
    with contextlib.suppress(PermissionError):
        os.fchown(new, old.st_uid, old.st_gid)
    os.fchmod(new, stat.S_IMODE(old.st_mode) & 0o777)


def _old_file(folder: int, name: str, path: str) -> os.stat_result | None:
    """The state of the file to be replaced, if it exists. Raises an error for anything but a plain file."""
    try:
        old = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(old.st_mode):
        raise LinkInTheWay(path, "it is a link; name the file that it leads to")
    if not stat.S_ISREG(old.st_mode):
        raise WrongKind(path, f"it is {KIND_WORDS.get(kind_of(old.st_mode), 'no plain file')}, and stays as it is")
    return old
