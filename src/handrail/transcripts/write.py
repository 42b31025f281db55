"""Renames, appends to, creates and deletes session files. No change leaves a file in part."""

import contextlib
import errno
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from handrail.platform import NO_FOLLOW, RAW, read_at
from handrail.transcripts.errors import InvalidTag, InvalidTitle, SessionNotFound, TranscriptUnusable
from handrail.transcripts.layout import (
    SessionFile,
    check_session_id,
    folder_below,
    locate,
    open_below,
    project_folders,
    projects_folder,
    search_path,
)

_TITLE_LIMIT = 500
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\s]+")


class CustomTitle(msgspec.Struct, frozen=True, rename="camel", tag="custom-title"):
    """The entry that names a session; the last one in a file counts."""

    custom_title: str
    session_id: str


class Tag(msgspec.Struct, frozen=True, rename="camel", tag="tag"):
    """The entry that tags a session; the last one in a file counts, and an empty one removes the tag."""

    tag: str
    session_id: str


def clean_title(title: str) -> str:
    """A title on one line, without control characters."""
    if cleaned := _on_one_line(title):
        return cleaned
    raise InvalidTitle("a title needs at least one visible character")


def _on_one_line(text: str) -> str:
    return _CONTROLS.sub(" ", text).strip()[:_TITLE_LIMIT]


def rename_session(session_id: str, title: str, *, config_home: Path | None = None) -> None:
    """Set the title of a session by appending a line, as the CLI does."""
    entry = CustomTitle(clean_title(title), session_id)
    append_line(locate(session_id, config_home), msgspec.json.encode(entry))


def tag_session(session_id: str, tag: str | None, *, config_home: Path | None = None) -> None:
    """Set the tag of a session by appending a line, as the official SDKs do; None removes it."""
    cleaned = "" if tag is None else _on_one_line(tag)
    if tag is not None and not cleaned:
        raise InvalidTag("a tag needs at least one visible character; None removes the tag")
    append_line(locate(session_id, config_home), msgspec.json.encode(Tag(cleaned, session_id)))


def append_line(file: SessionFile, line: bytes) -> None:
    """Append a line in one write, after a newline if the last line was cut off."""
    descriptor = open_below(file.root, file.path, os.O_RDWR | os.O_APPEND)
    try:
        size = os.fstat(descriptor).st_size
        cut_off = size > 0 and read_at(descriptor, 1, size - 1) != b"\n"
        data = (b"\n" if cut_off else b"") + line + b"\n"
        if os.write(descriptor, data) != len(data):
            raise TranscriptUnusable(f"{file.path}: the disk is full; the last line is incomplete")
    except OSError as error:
        raise TranscriptUnusable(f"cannot write {file.path}: {error.strerror}") from error
    finally:
        os.close(descriptor)


def create_file(file: SessionFile, parts: Iterable[bytes]) -> None:
    """Write a new transcript under a temporary name, then rename it, so that no reader sees it in part."""
    try:
        with folder_below(file.root, file.path.parent) as folder:
            replace_file(folder, file.path.name, f".{file.session_id}.unfinished", parts)
    except OSError as error:
        raise TranscriptUnusable(f"cannot write {file.path}: {error.strerror}") from error


def replace_file(folder: int, name: str, unfinished: str, parts: Iterable[bytes]) -> None:
    """Write a file in an open folder under the name `unfinished`, then rename it. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW | RAW
    try:
        with os.fdopen(os.open(unfinished, flags, 0o600, dir_fd=folder), "wb") as stream:
            stream.writelines(parts)
            stream.flush()
            os.fsync(stream.fileno())
        os.rename(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished, dir_fd=folder)
        raise


def delete_session(session_id: str, *, config_home: Path | None = None, missing_ok: bool = False) -> None:
    """Delete every file that handrail-agent or the CLI keeps for one session under `config_home`.

    These are the transcript and its folder (subagents, tool results, tasks, checkpoints, plans) in whichever project
    holds them, and the CLI's file history, todo lists, tasks, session environment and debug log. Files that sessions
    share, such as `history.jsonl`, stay. Deleting may be repeated: a call that was cut short is finished by the next.
    Raises SessionNotFound where nothing was found and not `missing_ok`, TranscriptError where a file cannot be deleted.
    """
    check_session_id(session_id)
    homes = [home.resolve() for home in search_path(config_home)]
    found = [_delete_below(home, session_id) for home in homes]
    if not any(found) and not missing_ok:
        raise SessionNotFound(f"no session {session_id} under {homes[0]}")


def _delete_below(home: Path, session_id: str) -> bool:
    found = False
    try:
        for name in _BESIDE:
            found |= _delete_in(home, home / name, lambda entry: _is_named(entry, session_id))
        root = projects_folder(home)
        for project in project_folders(root):
            found |= _delete_session_in(root, root / project, session_id)
    except OSError as error:
        raise TranscriptUnusable(f"cannot delete session {session_id} under {home}: {error.strerror}") from error
    return found


def _is_named(entry: str, session_id: str) -> bool:
    return entry == session_id or entry.startswith((f"{session_id}.", f"{session_id}-agent-"))


_BESIDE: Final = ("file-history", "todos", "tasks", "session-env", "debug")
"""Folders of the config home whose entries are named after a session, as in `todos/<session>-agent-<agent>.json`."""
_MISSING: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""Errors of opening a folder that does not exist, or has a link in its place."""


def _delete_session_in(root: Path, project: Path, session_id: str) -> bool:
    """Delete a session in one project. Returns whether it had files there."""
    # The transcript goes last: a session that could only be deleted in part is still listed.
    others = {session_id, f".{session_id}.unfinished"}
    found = _delete_in(root, project, lambda entry: entry in others)
    return _delete_in(root, project, lambda entry: entry == f"{session_id}.jsonl") or found


def _delete_in(root: Path, folder: Path, is_wanted: Callable[[str], bool]) -> bool:
    """Delete the wanted entries of a folder. A link is deleted itself; its target stays."""
    found = False
    with contextlib.ExitStack() as stack:
        try:
            descriptor = stack.enter_context(folder_below(root, folder))
        except OSError as error:
            if error.errno in _MISSING:
                return False
            raise
        for name in filter(is_wanted, os.listdir(descriptor)):
            found = True
            with contextlib.suppress(FileNotFoundError):  # another process may delete it at the same time
                if stat.S_ISDIR(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode):
                    shutil.rmtree(name, dir_fd=descriptor)
                else:
                    os.unlink(name, dir_fd=descriptor)
    return found
