"""The files in which a CLI keeps a conversation on this machine: finding, reading and replacing them.

Every file is opened below the CLI's `projects` folder, or checkpoints below the folder around it, without following
symbolic links. File names come from another machine, and the folders may contain links planted by a repository.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from handrail.bridge.cluster.transfer.manifest import (
    CHECKPOINTS,
    FOLDERS,
    MAX_FILES,
    TRANSCRIPT,
    Chunk,
    StoredFile,
    is_valid_path,
    reusable_chunks,
)
from handrail.bridge.cluster.transfer.object_store import CHUNK_SIZE
from handrail.transcripts import SessionFile, SessionNotFound, TranscriptError, locate, project_name, projects_folder
from handrail.transcripts.layout import folder_below, open_below

__all__ = [
    "FileReader",
    "FileWriter",
    "LocalCopy",
    "Stamp",
    "compare",
    "find",
    "is_checkpoint",
    "new_location",
    "newest_checkpoints",
    "stamps",
]

Stamp = tuple[int, ...]
"""Size, identity and timestamps of a file. An equal stamp means that the file is unchanged."""
MAX_CHECKPOINTS: Final = 2000
"""Files; of more, the newest are transferred."""
_BLOCK: Final = 64 * 1024
_MODIFIED: Final = 3
"""Index of the modification time in a stamp."""
_ASIDE: Final = ".aside"
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def find(conversation: str, cwd: str, homes: Iterable[Path | None]) -> SessionFile | None:
    """Find a conversation: first in the project of `cwd`, then in any project. Earlier homes take precedence."""
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


def new_location(conversation: str, cwd: str, home: Path | None) -> SessionFile:
    """Where a CLI with this home looks for the conversation. Creates the `projects` folder if it is missing."""
    root = projects_folder(home)
    root.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    root.mkdir(mode=0o700, exist_ok=True)
    return SessionFile(root, project_name(cwd), conversation)


def stamps(file: SessionFile) -> dict[str, Stamp]:
    """The stamps of all files of a conversation: checkpoints, other files, the transcript last.

    Skips links and files with invalid names.
    """
    checkpoints = dict(islice(_scan_folder(file, CHECKPOINTS), MAX_FILES * 10))
    below = (found for folder in FOLDERS if folder != CHECKPOINTS for found in _scan_folder(file, folder))
    others = dict(islice(below, MAX_FILES - MAX_CHECKPOINTS - 1))
    return {**checkpoints, **others, TRANSCRIPT: _stamp(file.path.lstat())}


def is_checkpoint(path: str) -> bool:
    """Whether this is the path of a checkpoint."""
    return path.startswith(f"{CHECKPOINTS}/")


def newest_checkpoints(found: Mapping[str, Stamp], most_bytes: int) -> dict[str, Stamp]:
    """The newest checkpoints that fit into a size, and into MAX_CHECKPOINTS."""
    kept: dict[str, Stamp] = {}
    checkpoints = [(path, stamp) for path, stamp in found.items() if is_checkpoint(path)]
    for path, stamp in sorted(checkpoints, key=lambda one: one[1][_MODIFIED], reverse=True)[:MAX_CHECKPOINTS]:
        most_bytes -= stamp[0]
        if most_bytes < 0:
            break
        kept[path] = stamp
    return kept


def _scan_folder(file: SessionFile, folder: str) -> Iterator[tuple[str, Stamp]]:
    return _scan(_local_path(file, folder), folder, FOLDERS[folder] - 1)


def _stamp(status: os.stat_result) -> Stamp:
    return (status.st_size, status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


def _scan(folder: Path, name: str, depth: int) -> Iterator[tuple[str, Stamp]]:
    try:
        with os.scandir(folder) as inside:
            entries = sorted(inside, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = f"{name}/{entry.name}"
        with suppress(OSError):  # deleted since the scan
            if entry.is_dir(follow_symlinks=False) and depth > 1:
                yield from _scan(Path(entry.path), path, depth - 1)
            elif entry.is_file(follow_symlinks=False) and is_valid_path(path) and not path.endswith(_ASIDE):
                yield path, _stamp(entry.stat(follow_symlinks=False))


def _root(file: SessionFile, path: str) -> Path:
    """The folder below which a file is opened."""
    return file.root.parent if path.split("/")[0] == CHECKPOINTS else file.root


def _local_path(file: SessionFile, path: str) -> Path:
    if path == TRANSCRIPT:
        return file.path
    first, _, rest = path.partition("/")
    return _root(file, path) / CHECKPOINTS / file.session_id / rest if first == CHECKPOINTS else file.folder / path


def _is_appended_by_line(path: str) -> bool:
    return path == TRANSCRIPT or path.endswith(".jsonl")


# Reading


class FileReader:
    """Reads a file up to its size at opening; lines appended later are left for the next upload."""

    def __init__(self, file: SessionFile, path: str) -> None:
        self.path = path
        self._descriptor = open_below(_root(file, path), _local_path(file, path))
        status = os.fstat(self._descriptor)
        self.stamp, self._mode = _stamp(status), stat.S_IMODE(status.st_mode) & 0o777 if is_checkpoint(path) else 0o600
        self._size, self._at, self._hash = self.stamp[0], 0, hashlib.sha256()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def _size_of_whole_lines(self, size: int) -> int:
        """The size without the last line if the CLI is still writing it."""
        while size:
            start = max(0, size - _BLOCK)
            newline = os.pread(self._descriptor, size - start, start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            size = start
        return 0

    def skip_stored(self, stored: StoredFile | None) -> tuple[Chunk, ...]:
        """Skip the part that is stored already and return its chunks; () if the file was rewritten."""
        if _is_appended_by_line(self.path):
            self._size = self._size_of_whole_lines(self._size)
        if stored is None or stored.size > self._size:
            return ()
        added = self._size - stored.size
        kept = stored.chunks[: reusable_chunks(stored.chunks, added)] if added else stored.chunks
        start = sum(chunk.size for chunk in kept)
        known = _update_hash(self._descriptor, hashlib.sha256(), 0, start)
        if _update_hash(self._descriptor, known.copy(), start, stored.size).hexdigest() != stored.digest:
            return ()
        self._at, self._hash = start, known
        return kept

    def next_chunk(self) -> bytes:
        """The next bytes to send; b"" at the end."""
        data = os.pread(self._descriptor, min(CHUNK_SIZE, self._size - self._at), self._at)
        self._at += len(data)
        self._hash.update(data)
        return data

    def stored_as(self, chunks: Iterable[Chunk]) -> StoredFile:
        """Describe what was read. The digest is that of the sent bytes, even if the file has changed meanwhile."""
        return StoredFile(self.path, self._at, self._hash.hexdigest(), tuple(chunks), self._mode)


def _update_hash(descriptor: int, known: hashlib._Hash, start: int, end: int) -> hashlib._Hash:  # pyright: ignore[reportPrivateUsage]
    while start < end and (data := os.pread(descriptor, min(CHUNK_SIZE, end - start), start)):
        known.update(data)
        start += len(data)
    return known


# Writing


class LocalCopy(Struct, frozen=True):
    """The local copy of a stored file. `complete`: it begins with the whole stored file.

    `digest` covers the local bytes, up to the size of the stored file.
    """

    size: int
    complete: bool
    digest: str


def compare(file: SessionFile, stored: StoredFile) -> LocalCopy | None:
    """Compare the local copy with the stored file; None if it is missing.

    Raises TranscriptError if the path is not a regular file.
    """
    try:
        descriptor = open_below(_root(file, stored.path), _local_path(file, stored.path))
    except SessionNotFound:
        return None
    try:
        size = os.fstat(descriptor).st_size
        digest = _update_hash(descriptor, hashlib.sha256(), 0, min(size, stored.size)).hexdigest()
    finally:
        os.close(descriptor)
    return LocalCopy(size, size >= stored.size and digest == stored.digest, digest)


class FileWriter:
    """Writes a stored file under a temporary name and renames it when complete, so it is never seen in part."""

    def __init__(self, file: SessionFile, stored: StoredFile, local: LocalCopy | None) -> None:
        self._stored, self._local, self._hash = stored, local, hashlib.sha256()
        self._size, self._same_beginning = 0, local is None or local.size == 0
        root, place = _root(file, stored.path), _local_path(file, stored.path)
        self._name, self._unfinished = place.name, f".{os.urandom(8).hex()}.unfinished"
        with ExitStack() as undo:
            _make_folders(root, place.parent)
            self._folder = undo.enter_context(folder_below(root, place.parent))
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

    def write(self, data: bytes) -> None:
        """Append the next bytes."""
        # When the write passes the end of the local copy, the digest so far shows whether both begin alike.
        edge = self._local.size - self._size if self._local else -1
        if 0 < edge <= len(data) and self._local:
            known = self._hash.copy()
            known.update(data[:edge])
            self._same_beginning = known.hexdigest() == self._local.digest
        self._hash.update(data)
        self._size += len(data)
        self._stream.write(data)

    @property
    def complete(self) -> bool:
        """Whether the written bytes match the size and digest in the manifest."""
        return (self._size, self._hash.hexdigest()) == (self._stored.size, self._stored.digest)

    @property
    def diverged(self) -> bool:
        """Whether the local copy contains data that the stored file lacks."""
        return not self._same_beginning

    def finish(self) -> str:
        """Replace the local copy. Returns the name under which diverged local lines were saved, or ""."""
        self._stream.flush()
        # The CLI restores a file with the mode of its checkpoint, and has to be able to read it.
        os.fchmod(self._stream.fileno(), self._stored.mode | stat.S_IRUSR)
        os.fsync(self._stream.fileno())
        aside = ""
        if self.diverged and _is_appended_by_line(self._stored.path):
            aside = f"{self._name}.{os.urandom(4).hex()}{_ASIDE}"
            os.rename(self._name, aside, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        os.rename(self._unfinished, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        return aside


def _make_folders(root: Path, folder: Path) -> None:
    """Create missing folders one level at a time, never through a symbolic link."""
    done = root
    for step in folder.relative_to(root).parts:
        with folder_below(root, done) as parent, suppress(FileExistsError):
            os.mkdir(step, 0o700, dir_fd=parent)
        done /= step
