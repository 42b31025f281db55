"""Files as they were before a prompt. In: word of every change to come. Out: the way back, as a count or carried out.

Kept only where the host asked for it by `CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING`. The first state that a file had
after a prompt began is kept beside the session, so that the way back is there after a resume too; going back to that
prompt restores content and mode, and removes what did not exist. A file that has become a link since, or lies behind
one, is left alone and counted. Only files that tools of the agent are about to change
are known here: what a command in Bash changes is not covered, and is neither restored nor removed.

The oldest points go when there are more than MOST_POINTS or their contents take more than MOST_BYTES. A file larger
than LARGEST is not kept, and going back past its change is refused.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from handrail.agent.checkpoint_store import Store
from handrail.agent.session import Session
from handrail.agent.tools.patch import structured_patch
from handrail.transcripts.layout import folder_below

__all__ = ["Checkpoints"]

JsonObject = dict[str, Any]
LARGEST: Final = 32 * 1024 * 1024
MOST_BYTES: Final = 256 * 1024 * 1024
MOST_POINTS: Final = 1000


class State(Struct, frozen=True, omit_defaults=True):
    """A file at one moment: the name of its content, its mode and size. Without a name it was not there."""

    content: str = ""
    mode: int = 0
    size: int = 0
    problem: str = ""
    """Why it cannot be restored."""


class _Line(Struct, omit_defaults=True):
    """A line of the index: a point begins, or a file is about to be changed."""

    point: str
    path: str = ""
    state: State = State()


class _Point(Struct):
    """The moment before a prompt: for each file that was changed since, what it was."""

    id: str
    files: dict[str, State] = field(default_factory=dict[str, State])


class Checkpoints:
    """The points of a session, oldest first. `folder` is where they are kept; without one, in memory."""

    def __init__(self, session: Session, folder: Path | None = None) -> None:
        self.enabled = session.environment.get("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "").lower() in ("1", "true")
        self._store = Store(folder)
        self._points: list[_Point] = []
        self._size = 0

    def begin(self, prompt_id: str) -> None:
        """A prompt begins."""
        if self.enabled:
            self._points.append(_Point(prompt_id))
            self._note(_Line(prompt_id))
            self._make_room()

    def before_change(self, path: str) -> None:
        """A file is about to be changed."""
        if not self.enabled or not self._points:
            return
        path, point = _real(path), self._points[-1]
        if path not in point.files:
            point.files[path] = self._keep(path)
            self._size += point.files[path].size
            self._note(_Line(point.id, path, point.files[path]))

    def _keep(self, path: str) -> State:
        try:
            found = _read(path)
            if found is None:
                return State()
            content, mode = found
            return State(self._store.put(content), mode, len(content))
        except (OSError, ValueError) as error:
            return State(problem=str(error))

    def _note(self, line: _Line) -> None:
        with suppress(OSError):  # the way back is lost with this process, the work is not
            self._store.append(msgspec.json.encode(line))

    def _make_room(self) -> None:
        """Drop the oldest points beyond the limits."""
        dropped: list[_Point] = []
        while len(self._points) > 1 and (len(self._points) > MOST_POINTS or self._size > MOST_BYTES):
            dropped.append(self._points.pop(0))
            self._size -= sum(state.size for state in dropped[-1].files.values())
        if not dropped:
            return
        used = {state.content for point in self._points for state in point.files.values()}
        self._store.forget({state.content for point in dropped for state in point.files.values()} - used - {""})
        lines = [
            line
            for point in self._points
            for line in (_Line(point.id), *(_Line(point.id, path, state) for path, state in point.files.items()))
        ]
        with suppress(OSError):
            self._store.rewrite(msgspec.json.encode(line) for line in lines)

    def take_up(self, folder: Path) -> None:
        """Go on with the points of an earlier process, or of the session that this one is a fork of."""
        if not self.enabled:
            return
        self._store.take_from(folder)
        for raw in self._store.lines():
            try:
                line = msgspec.json.decode(raw, type=_Line)
            except ValueError:
                continue  # cut off when its process was killed
            if not line.path:
                self._points.append(_Point(line.point))
            elif self._points and os.path.isabs(line.path):
                self._points[-1].files.setdefault(line.path, line.state)
                self._size += line.state.size

    def start_over(self, folder: Path | None) -> None:
        """Another conversation begins: there is no way back behind it."""
        self._store, self._points, self._size = Store(folder), [], 0

    # The way back

    def rewind(self, prompt_id: str, *, dry_run: bool) -> JsonObject:
        """Go back to the moment before a prompt. Raises ValueError where that cannot be: then nothing was changed."""
        if not self.enabled:
            raise ValueError("File rewinding is not enabled.")
        at = next((index for index, point in enumerate(self._points) if point.id == prompt_id), None)
        if at is None:
            raise ValueError(f"No file checkpoint found for message {prompt_id}.")
        states: dict[str, State] = {}
        for point in self._points[at:]:
            states = {**point.files, **states}
        skipped = [path for path in states if _is_behind_link(path)]
        changes = [
            change
            for path, state in states.items()
            if path not in skipped and (change := self._change(path, state)) is not None
        ]
        added = removed = 0
        for change in changes:
            for hunk in structured_patch(_text(change.now), _text(change.held)):
                added += sum(line.startswith("+") for line in hunk["lines"])
                removed += sum(line.startswith("-") for line in hunk["lines"])
        if not dry_run:
            for change in changes:
                _restore(change)
        paths = [change.path for change in changes]
        counts = {"insertions": added, "deletions": removed, "skippedLinks": len(skipped)}
        return {"canRewind": True, "filesChanged": paths, **counts}

    def _change(self, path: str, state: State) -> _Change | None:
        """What has to be done to a file; None where it is as it was."""
        if state.problem:
            raise ValueError(f"{path} cannot be restored: {state.problem}")
        held = self._store.get(state.content) if state.content else None
        if state.content and held is None:
            raise ValueError(f"{path} cannot be restored: what it held is no longer kept")
        found = _read(path)
        now, mode = found if found is not None else (None, 0)
        same = now == held and (held is None or mode == state.mode)
        return None if same else _Change(path, now, held, state.mode)


class _Change(Struct, frozen=True):
    """What a file holds and shall hold; None: it is not there."""

    path: str
    now: bytes | None
    held: bytes | None
    mode: int


def _real(path: str) -> str:
    """The path without links in its folders; the file itself may be one, and is then refused."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)


def _is_behind_link(path: str) -> bool:
    """Is it a link, or is a folder above it one, where none was when it was changed?"""
    return os.path.islink(path) or os.path.realpath(os.path.dirname(path)) != os.path.dirname(path)


def _read(path: str) -> tuple[bytes, int] | None:
    """What a file holds, and its mode; None where there is none. Raises ValueError for what is no plain file."""
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
            raise ValueError(f"{path} is not a plain file")
        if status.st_size > LARGEST:
            raise ValueError(f"{path} is larger than {LARGEST // (1024 * 1024)} MiB")
        return file.read(LARGEST), stat.S_IMODE(status.st_mode)


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


@contextmanager
def _folder_of(path: str) -> Generator[tuple[int, str]]:
    """The folder of a file, reached without following any link, and the file's name in it."""
    place = Path(path)
    with folder_below(Path("/"), place.parent) as folder:
        yield folder, place.name


def _restore(change: _Change) -> None:
    """Make a file what it was: written beside it first, so that it is never seen in part."""
    if change.held is None:
        with suppress(FileNotFoundError), _folder_of(change.path) as (folder, name):
            os.unlink(name, dir_fd=folder)
        return
    with suppress(OSError):  # the folder may have gone since; one that cannot be made fails below
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
