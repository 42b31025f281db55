"""Archived sessions: the file `archived.json` in a session's folder says whether it is archived.

The TypeScript SDK reads and writes the same file. An archived session keeps its transcript and is still listed, with
`archived` set.
"""

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import uuid4

import msgspec

from handrail.transcripts.errors import TranscriptError, TranscriptUnusable
from handrail.transcripts.layout import SessionFile, folder_below, locate, open_below
from handrail.transcripts.write import replace_file

_NAME: Final = "archived.json"
_SIZE_LIMIT: Final = 4096


class _Mark(msgspec.Struct, frozen=True):
    archived: bool = False
    at: str = ""
    by: str = ""


def archive_session(session_id: str, *, config_home: Path | None = None) -> None:
    """Mark a session as archived. Raises TranscriptError."""
    _write(locate(session_id, config_home), archived=True)


def unarchive_session(session_id: str, *, config_home: Path | None = None) -> None:
    """Mark a session as not archived. Raises TranscriptError."""
    _write(locate(session_id, config_home), archived=False)


def is_archived(file: SessionFile) -> bool:
    """Whether a session is archived. A file that cannot be read or has another shape counts as missing."""
    mark = _mark_file(file)
    if not os.path.lexists(mark):  # the usual case, at the cost of one system call
        return False
    try:
        with os.fdopen(open_below(file.root, mark), "rb") as stream:
            return msgspec.json.decode(stream.read(_SIZE_LIMIT), type=_Mark).archived
    except (TranscriptError, OSError, ValueError):
        return False


def _mark_file(file: SessionFile) -> Path:
    return file.path.with_suffix("") / _NAME


def _write(file: SessionFile, *, archived: bool) -> None:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    data = msgspec.json.encode(_Mark(archived, now, "handrail"))
    mark = _mark_file(file)
    try:
        with folder_below(file.root, file.path.parent) as project, contextlib.suppress(FileExistsError):
            os.mkdir(mark.parent.name, 0o700, dir_fd=project)
        with folder_below(file.root, mark.parent) as folder:
            # Two processes may write at the same time: each has its own unfinished file.
            replace_file(folder, mark.name, f".{mark.name}.{uuid4().hex}", [data])
    except OSError as error:
        raise TranscriptUnusable(f"cannot write {mark}: {error.strerror}") from error
