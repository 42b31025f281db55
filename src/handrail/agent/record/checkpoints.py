"""Checkpoints: saves files before tools change them, and restores them to the state before a prompt.

Enabled by the host with `CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING`. The layout is that of the CLI, so that either
program can rewind what the other saved:

    <home>/file-history/<session>/<digest of the path>@v<version>      the content of a file, with its mode
    file-history-snapshot    line in the transcript: at this prompt, the saved version of each file known so far
    file-history-delta       line in the transcript: a file became known after that prompt, in this version

A file is known from its first change by a tool on; changes by a command in Bash are not covered. At every prompt known
files are saved again if they changed. A path that is now a link, or lies behind one, is skipped and counted.

The oldest points are dropped above MOST_POINTS points or MOST_BYTES of contents. A file above LARGEST is not saved, and
rewinding past its change is refused.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from handrail.agent.patch import structured_patch
from handrail.agent.record.checkpoint_store import Store
from handrail.agent.speaker import now
from handrail.files.resolve import real_path
from handrail.schema.agent_answers import RewindFilesAnswer
from handrail.transcripts.layout import folder_below

__all__ = ["Checkpoints", "snapshot_id"]

JsonObject = dict[str, Any]
LARGEST: Final = 32 * 1024 * 1024
MOST_BYTES: Final = 256 * 1024 * 1024
MOST_POINTS: Final = 1000
_NAME: Final = re.compile(r"[0-9a-f]{16}@v[0-9]{1,9}")


class Backup(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A saved version of a file. Without a name the file did not exist."""

    backup_file_name: str | None
    version: int
    backup_time: str = ""
    real_parent_dir: str = ""
    sha256: str = ""
    """Digest of the content. Only handrail-agent writes it."""
    problem: str = ""
    """Why the file could not be saved. Only handrail-agent writes it."""


class _Snapshot(Struct, rename="camel"):
    message_id: str = ""
    tracked_file_backups: dict[str, Backup] = field(default_factory=dict[str, Backup])
    unsaved: dict[str, Backup] = field(default_factory=dict[str, Backup])
    """Files with a problem. They are kept apart, because the CLI would take a backup without a name for a new file."""


class _Line(Struct, rename="camel"):
    """A line about checkpoints."""

    type: str = ""
    snapshot: _Snapshot = field(default_factory=_Snapshot)
    snapshot_message_id: str = ""
    tracking_path: str = ""
    backup: Backup | None = None


class _Point(Struct):
    """The state before a prompt: the version of each file known then, or changed since."""

    id: str
    files: dict[str, Backup] = field(default_factory=dict[str, Backup])


def snapshot_id(line: bytes) -> str:
    """The prompt that a line about checkpoints belongs to; "" if it cannot be decoded."""
    found = _decode(line)
    return "" if found is None else found.snapshot_message_id or found.snapshot.message_id


def _decode(line: bytes) -> _Line | None:
    try:
        return msgspec.json.decode(line, type=_Line)
    except ValueError:
        return None


class Checkpoints:
    """The points of a session, oldest first.

    folder  the folder of the contents; None keeps them in memory
    cwd     paths below it are written relative to it
    record  writes a line to the transcript
    """

    def __init__(
        self, folder: Path | None = None, *, cwd: str, record: Callable[[JsonObject], None], enabled: bool
    ) -> None:
        self.enabled = enabled
        self._store, self._cwd, self._record = Store(folder), real_path(cwd), record
        self._points: list[_Point] = []
        self._latest: dict[str, Backup] = {}
        """The newest version of each known file."""
        self._signatures: dict[str, tuple[int, ...]] = {}
        """The state of each file when its newest version was saved, to skip reading unchanged files."""
        self._sizes: dict[str, int] = {}

    def begin(self, prompt_id: str) -> None:
        """Add a point before a prompt."""
        if self.enabled:
            self._points.append(_Point(prompt_id, {path: self._save(path) for path in self._latest}))
            self._write_point(self._points[-1])
            self._make_room()

    def before_change(self, path: str) -> None:
        """Save a file that is about to be changed, unless the newest point has it. The path contains no links."""
        if not self.enabled or not self._points:
            return
        point = self._points[-1]
        if path not in point.files:
            point.files[path] = backup = self._save(path)
            if backup.problem:
                self._write_point(point, update=True)
                return
            self._record(
                {
                    "type": "file-history-delta",
                    "messageId": point.id,
                    "snapshotMessageId": point.id,
                    "trackingPath": self._shortened(path),
                    "backup": _encoded(backup),
                    "timestamp": now(),
                }
            )

    def _write_point(self, point: _Point, *, update: bool = False) -> None:
        saved = {path: backup for path, backup in point.files.items() if not backup.problem}
        unsaved = {path: backup for path, backup in point.files.items() if backup.problem}
        snapshot: JsonObject = {
            "messageId": point.id,
            "trackedFileBackups": {self._shortened(path): _encoded(backup) for path, backup in saved.items()},
            "timestamp": now(),
        }
        if unsaved:
            snapshot["unsaved"] = {self._shortened(path): _encoded(backup) for path, backup in unsaved.items()}
        self._record(
            {
                "type": "file-history-snapshot",
                "messageId": point.id,
                "snapshot": snapshot,
                "isSnapshotUpdate": update,
            }
        )

    def _save(self, path: str) -> Backup:
        """The newest version of a file, which is a new one if the file changed."""
        import hashlib

        last, signature = self._latest.get(path), _signature(path)
        if last is not None and signature and self._signatures.get(path) == signature:
            return last
        backup = Backup(None, last.version + 1 if last else 1, now(), os.path.dirname(path))
        try:
            if (found := _read(path)) is not None:
                content, mode = found
                name = f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}@v{backup.version}"
                self._store.put(name, content, mode)
                self._sizes[name] = len(content)
                backup = replace(backup, backup_file_name=name, sha256=hashlib.sha256(content).hexdigest())
        except (OSError, ValueError) as error:
            backup = replace(backup, problem=str(error))
        self._latest[path], self._signatures[path] = backup, signature
        return backup

    def _shortened(self, path: str) -> str:
        return os.path.relpath(path, self._cwd) if path.startswith(f"{self._cwd}/") else path

    def _make_room(self) -> None:
        """Drop the oldest points beyond the limits, and the contents that only they use."""
        dropped: list[_Point] = []
        while len(self._points) > 1 and (
            len(self._points) > MOST_POINTS or sum(self._sizes[name] for name in self._names(self._points)) > MOST_BYTES
        ):
            dropped.append(self._points.pop(0))
        if dropped:
            unused = self._names(dropped) - self._names(self._points)
            self._store.forget(unused)
            for name in unused:
                del self._sizes[name]

    def _names(self, points: Sequence[_Point]) -> set[str]:
        found = {backup.backup_file_name for point in points for backup in point.files.values()}
        return {name for name in found if name in self._sizes}

    def resume(self, lines: Sequence[bytes], folder: Path) -> None:
        """Continue with the points of an earlier process, or of the session that this one is a fork of."""
        if not self.enabled:
            return
        for line in lines:
            self._read_line(line)
        self._points = self._points[-MOST_POINTS:]
        names = {
            backup.backup_file_name
            for point in self._points
            for backup in point.files.values()
            if backup.backup_file_name
        }
        if not self._store.is_at(folder):
            self._store.copy_from(folder, names)
            for point in self._points:
                self._write_point(point)
        self._sizes = {name: self._store.size(name) for name in names}

    def _read_line(self, line: bytes) -> None:
        found = _decode(line)
        if found is None:
            return  # written in part when its process was killed
        if found.backup is not None:
            files = {found.tracking_path: found.backup}
        else:
            files = {**found.snapshot.tracked_file_backups, **found.snapshot.unsaved}
        id = found.snapshot_message_id or found.snapshot.message_id
        point = next((point for point in reversed(self._points) if point.id == id), None)
        if point is None:
            point = _Point(id)
            self._points.append(point)
        for tracked, backup in files.items():
            name = backup.backup_file_name
            if name is not None and not _NAME.fullmatch(name):
                continue
            parent = backup.real_parent_dir or os.path.join(self._cwd, os.path.dirname(tracked))
            path = os.path.normpath(os.path.join(self._cwd, parent, os.path.basename(tracked)))
            point.files[path] = self._latest[path] = backup

    def start_over(self, folder: Path | None) -> None:
        """Forget all points, for a new conversation."""
        self._store, self._points, self._latest, self._signatures, self._sizes = Store(folder), [], {}, {}, {}

    # Rewinding

    def rewind(self, prompt_id: str, *, dry_run: bool) -> RewindFilesAnswer:
        """Restore the state before a prompt. Raises ValueError if that is impossible; then nothing was changed."""
        if not self.enabled:
            raise ValueError("File rewinding is not enabled.")
        at = next((index for index, point in enumerate(self._points) if point.id == prompt_id), None)
        if at is None:
            raise ValueError(f"No file checkpoint found for message {prompt_id}.")
        states: dict[str, Backup] = {}
        for point in self._points[at:]:
            states = {**point.files, **states}
        skipped = [path for path in states if _is_behind_link(path)]
        changes = [
            change
            for path, backup in states.items()
            if path not in skipped and (change := self._change(path, backup)) is not None
        ]
        added = removed = 0
        for change in changes:
            for hunk in structured_patch(_text(change.now), _text(change.held)):
                added += sum(line.startswith("+") for line in hunk["lines"])
                removed += sum(line.startswith("-") for line in hunk["lines"])
        if not dry_run:
            for change in changes:
                _restore(change)
        return RewindFilesAnswer(
            can_rewind=True,
            files_changed=[change.path for change in changes],
            insertions=added,
            deletions=removed,
            skipped_links=len(skipped),
        )

    def _change(self, path: str, backup: Backup) -> _Change | None:
        """The change that restores a file; None if the file is in that state already."""
        if backup.problem:
            raise ValueError(f"{path} cannot be restored: {backup.problem}")
        held = self._content(path, backup)
        found = _read(path)
        now, mode = found if found is not None else (None, 0)
        if held is None:
            return None if now is None else _Change(path, now, None, 0)
        return None if (now, mode) == held else _Change(path, now, *held)

    def _content(self, path: str, backup: Backup) -> tuple[bytes, int] | None:
        import hashlib

        if backup.backup_file_name is None:
            return None
        held = self._store.get(backup.backup_file_name)
        if held is None or (backup.sha256 and hashlib.sha256(held[0]).hexdigest() != backup.sha256):
            raise ValueError(f"{path} cannot be restored: its saved content is missing or was changed")
        return held


class _Change(Struct, frozen=True):
    """The current and the saved content of a file; None if the file does not exist."""

    path: str
    now: bytes | None
    held: bytes | None
    mode: int


def _encoded(backup: Backup) -> JsonObject:
    return msgspec.to_builtins(backup)


def _signature(path: str) -> tuple[int, ...]:
    """Changes whenever the file does; empty if the file cannot be examined."""
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _is_behind_link(path: str) -> bool:
    """Whether the path, or a folder above it, is a link now; none was when the file was saved."""
    return os.path.islink(path) or real_path(os.path.dirname(path)) != os.path.dirname(path)


def _read(path: str) -> tuple[bytes, int] | None:
    """The content and mode of a file; None if it does not exist. Raises ValueError if it is not a regular file."""
    try:
        with _folder_of(path) as (folder, name):
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(f"{path}: it, or a folder above it, is a link or cannot be read ({error.strerror})") from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{path} is not a regular file")
        if status.st_size > LARGEST:
            raise ValueError(f"{path} is larger than {LARGEST // (1024 * 1024)} MiB")
        return file.read(LARGEST), stat.S_IMODE(status.st_mode)


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


@contextmanager
def _folder_of(path: str) -> Generator[tuple[int, str]]:
    """Open the folder of a file without following links; yields its descriptor and the name of the file."""
    place = Path(path)
    with folder_below(Path("/"), place.parent) as folder:
        yield folder, place.name


def _restore(change: _Change) -> None:
    """Restore a file by renaming a temporary file, so that no reader sees it in part."""
    if change.held is None:
        with suppress(FileNotFoundError), _folder_of(change.path) as (folder, name):
            os.unlink(name, dir_fd=folder)
        return
    with suppress(OSError):  # the folder may have been removed; if it cannot be created, opening it fails below
        os.makedirs(os.path.dirname(change.path), exist_ok=True)
    with _folder_of(change.path) as (folder, name):
        unfinished = f".{name[:100]}.{os.getpid()}.handrail"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(unfinished, flags, 0o600, dir_fd=folder), "wb") as file:
                file.write(change.held)
                os.fchmod(file.fileno(), change.mode)
            os.rename(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(unfinished, dir_fd=folder)
            raise
