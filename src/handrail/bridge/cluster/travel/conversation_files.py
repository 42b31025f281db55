"""The files that a CLI keeps of a conversation, on this machine. In: where it works. Out: bytes to send, and back.

Everything is opened below the CLI's `projects` folder without following a link: what names the files comes from
another machine, and what lies there may have been put there by a repository.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from handrail.bridge.cluster.travel.manifest import FOLDERS, MOST_FILES, TRANSCRIPT, Piece, StoredFile, stays, usable
from handrail.bridge.cluster.travel.pieces import PIECE
from handrail.transcripts import SessionFile, SessionNotFound, TranscriptError, locate, project_name, projects_folder
from handrail.transcripts.layout import folder_below, open_below

__all__ = ["Here", "Reading", "Stamp", "Writing", "find", "look", "place_for", "stamps"]

Stamp = tuple[int, ...]
"""How long a file is, which one, and when it was changed: where all this is the same, so is the file."""
_BLOCK: Final = 64 * 1024
_ASIDE: Final = ".aside"
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def find(conversation: str, cwd: str, homes: Iterable[Path | None]) -> SessionFile | None:
    """Where it is: in the project of its folder, else in any; the first of the homes that has it counts."""
    homes = list(homes)
    for home in homes:
        file = SessionFile(projects_folder(home), project_name(cwd), conversation)
        with suppress(OSError):
            if stat.S_ISREG(file.path.lstat().st_mode):
                return file
    for home in homes:
        with suppress(TranscriptError):
            return locate(conversation, home)
    return None


def place_for(conversation: str, cwd: str, home: Path | None) -> SessionFile:
    """Where a CLI with this home looks for it. `projects` is made where it is missing."""
    root = projects_folder(home)
    root.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    root.mkdir(mode=0o700, exist_ok=True)
    return SessionFile(root, project_name(cwd), conversation)


def stamps(file: SessionFile) -> dict[str, Stamp]:
    """All that there is of it, the transcript last. Links and what has no proper name are passed over."""
    below = (one for folder, depth in FOLDERS.items() for one in _below(file.folder / folder, folder, depth - 1))
    return {**dict(islice(below, MOST_FILES - 1)), TRANSCRIPT: _stamp(file.path.lstat())}


def _stamp(status: os.stat_result) -> Stamp:
    return (status.st_size, status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


def _below(folder: Path, name: str, depth: int) -> Iterator[tuple[str, Stamp]]:
    try:
        with os.scandir(folder) as inside:
            entries = sorted(inside, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = f"{name}/{entry.name}"
        with suppress(OSError):  # gone since
            if entry.is_dir(follow_symlinks=False) and depth > 1:
                yield from _below(Path(entry.path), path, depth - 1)
            elif entry.is_file(follow_symlinks=False) and usable(path) and not path.endswith(_ASIDE):
                yield path, _stamp(entry.stat(follow_symlinks=False))


def _place(file: SessionFile, path: str) -> Path:
    return file.path if path == TRANSCRIPT else file.folder / path


def _grows_by_lines(path: str) -> bool:
    return path == TRANSCRIPT or path.endswith(".jsonl")


class Reading:
    """A file as it is now, to be sent; what is added to it meanwhile is for the next time."""

    def __init__(self, file: SessionFile, path: str) -> None:
        self.path = path
        self._descriptor = open_below(file.root, _place(file, path))
        self.stamp = _stamp(os.fstat(self._descriptor))
        self._size, self._at, self._hash = self.stamp[0], 0, hashlib.sha256()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def _whole_lines(self, size: int) -> int:
        """Without the line that is being written."""
        while size:
            start = max(0, size - _BLOCK)
            newline = os.pread(self._descriptor, size - start, start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            size = start
        return 0

    def begin(self, stored: StoredFile | None) -> tuple[Piece, ...]:
        """The pieces that are still right; none where it was written anew. The rest is what `next` gives."""
        if _grows_by_lines(self.path):
            self._size = self._whole_lines(self._size)
        if stored is None or stored.size > self._size:
            return ()
        kept = (
            stored.pieces[: stays(stored.pieces, self._size - stored.size)]
            if self._size > stored.size
            else stored.pieces
        )
        start = sum(piece.size for piece in kept)
        known = _hash(self._descriptor, hashlib.sha256(), 0, start)
        if _hash(self._descriptor, known.copy(), start, stored.size).hexdigest() != stored.digest:
            return ()
        self._at, self._hash = start, known
        return kept

    def next(self) -> bytes:
        """The next bytes to send; b"" at the end."""
        data = os.pread(self._descriptor, min(PIECE, self._size - self._at), self._at)
        self._at += len(data)
        self._hash.update(data)
        return data

    def done(self, pieces: Iterable[Piece]) -> StoredFile:
        """What was sent, as it is kept: the digest is that of these pieces, whatever became of the file meanwhile."""
        return StoredFile(self.path, self._at, self._hash.hexdigest(), tuple(pieces))


def _hash(descriptor: int, known: hashlib._Hash, start: int, end: int) -> hashlib._Hash:  # pyright: ignore[reportPrivateUsage]
    while start < end and (data := os.pread(descriptor, min(PIECE, end - start), start)):
        known.update(data)
        start += len(data)
    return known


class Here(Struct, frozen=True):
    """What this machine has of a stored file. `enough`: all of it, and perhaps more; else the digest of what it has."""

    size: int
    enough: bool
    digest: str


def look(file: SessionFile, stored: StoredFile) -> Here | None:
    """Compare; None where there is nothing. TranscriptError where something stands there that is no plain file."""
    try:
        descriptor = open_below(file.root, _place(file, stored.path))
    except SessionNotFound:
        return None
    try:
        size = os.fstat(descriptor).st_size
        digest = _hash(descriptor, hashlib.sha256(), 0, min(size, stored.size)).hexdigest()
    finally:
        os.close(descriptor)
    return Here(size, size >= stored.size and digest == stored.digest, digest)


class Writing:
    """A file that comes from the store: written under another name first, so that it is never seen in part."""

    def __init__(self, file: SessionFile, stored: StoredFile, here: Here | None) -> None:
        self._stored, self._here, self._hash = stored, here, hashlib.sha256()
        self._size, self._begins_alike = 0, here is None or here.size == 0
        place = _place(file, stored.path)
        self._name, self._unfinished = place.name, f".{os.urandom(8).hex()}.unfinished"
        with ExitStack() as undo:
            _make_folders(file.root, place.parent)
            self._folder = undo.enter_context(folder_below(file.root, place.parent))
            descriptor = os.open(self._unfinished, _NEW, 0o600, dir_fd=self._folder)
            undo.callback(self._remove)
            self._stream = undo.enter_context(os.fdopen(descriptor, "wb"))
            self._open = undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _remove(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._unfinished, dir_fd=self._folder)

    def add(self, data: bytes) -> None:
        """The next bytes."""
        edge = self._here.size - self._size if self._here else -1
        if 0 < edge <= len(data) and self._here:
            known = self._hash.copy()
            known.update(data[:edge])
            self._begins_alike = known.hexdigest() == self._here.digest
        self._hash.update(data)
        self._size += len(data)
        self._stream.write(data)

    @property
    def whole(self) -> bool:
        """Is it what was kept?"""
        return (self._size, self._hash.hexdigest()) == (self._stored.size, self._stored.digest)

    @property
    def diverged(self) -> bool:
        """Does the file that is here say something that the stored one does not?"""
        return not self._begins_alike

    def finish(self) -> str:
        """It takes its place. Out: the name under which the lines that only this machine had are kept; "" for none."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        aside = ""
        if self.diverged and _grows_by_lines(self._stored.path):
            aside = f"{self._name}.{os.urandom(4).hex()}{_ASIDE}"
            os.rename(self._name, aside, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        os.rename(self._unfinished, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        return aside


def _make_folders(root: Path, folder: Path) -> None:
    """Make what is missing on the way, each from the one before it, and through no link."""
    done = root
    for step in folder.relative_to(root).parts:
        with folder_below(root, done) as parent, suppress(FileExistsError):
            os.mkdir(step, 0o700, dir_fd=parent)
        done /= step
