"""Changes a session. In: a session id and the change. Out: the file, whole before and whole after."""

import contextlib
import os
import re
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

import msgspec

from handrail.transcripts.errors import InvalidTitle, SessionNotFound, TranscriptError
from handrail.transcripts.layout import SessionFile, folder_below, locate, open_below

_TITLE_LIMIT = 500
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\s]+")


class CustomTitle(msgspec.Struct, frozen=True, rename="camel", tag="custom-title"):
    """The entry that names a session; the last one in a file counts."""

    custom_title: str
    session_id: str


def clean_title(title: str) -> str:
    """A title on one line, without control characters."""
    cleaned = _CONTROLS.sub(" ", title).strip()[:_TITLE_LIMIT]
    if not cleaned:
        raise InvalidTitle("a title needs at least one visible character")
    return cleaned


def rename_session(session_id: str, title: str, *, config_home: Path | None = None) -> None:
    """Give a session a title, as the CLI does: one more line at the end of its file."""
    entry = CustomTitle(clean_title(title), session_id)
    append_line(locate(session_id, config_home), msgspec.json.encode(entry))


def append_line(file: SessionFile, line: bytes) -> None:
    """Add a line in one write. If the last line was cut off, ours still begins on a line of its own."""
    descriptor = open_below(file.root, file.path, os.O_RDWR | os.O_APPEND)
    try:
        size = os.fstat(descriptor).st_size
        cut_off = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        data = (b"\n" if cut_off else b"") + line + b"\n"
        if os.write(descriptor, data) != len(data):
            raise TranscriptError(f"{file.path}: the disk is full; the last line is incomplete")
    except OSError as error:
        raise TranscriptError(f"cannot write {file.path}: {error.strerror}") from error
    finally:
        os.close(descriptor)


def create_file(file: SessionFile, parts: Iterable[bytes]) -> None:
    """Write a new transcript: under another name first, so that it is never seen in part."""
    unfinished = f".{file.session_id}.unfinished"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with folder_below(file.root, file.path.parent) as folder:
            try:
                with os.fdopen(os.open(unfinished, flags, 0o600, dir_fd=folder), "wb") as stream:
                    stream.writelines(parts)
                    stream.flush()
                    os.fsync(stream.fileno())
                os.rename(unfinished, file.path.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(unfinished, dir_fd=folder)
                raise
    except OSError as error:
        raise TranscriptError(f"cannot write {file.path}: {error.strerror}") from error


def delete_session(session_id: str, *, config_home: Path | None = None) -> None:
    """Remove a session: its folder (subagents, tool results), then its transcript. There is no way back."""
    file = locate(session_id, config_home)
    try:
        with folder_below(file.root, file.path.parent) as project:
            # The transcript goes last: a session that could only be removed in part is still listed.
            _remove_folder(file.session_id, project)
            os.unlink(file.path.name, dir_fd=project)
    except FileNotFoundError as error:
        raise SessionNotFound(f"{file.path} does not exist") from error
    except OSError as error:
        raise TranscriptError(f"cannot delete {file.path}: {error.strerror}") from error


def _remove_folder(name: str, project: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(name, dir_fd=project, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=project)
        else:
            # A link in place of the folder: the link goes, what it points to stays.
            os.unlink(name, dir_fd=project)
