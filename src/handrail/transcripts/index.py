"""Lists the sessions on this machine, newest first.

Only the first and the last 64 KiB of a file are read, and only if its size or time changed since the last listing.
"""

import heapq
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from handrail.platform import read_at
from handrail.transcripts import layout
from handrail.transcripts.archive import is_archived
from handrail.transcripts.entry import Envelope, body, decode, one_line, texts
from handrail.transcripts.errors import AmbiguousSession, InvalidSessionId, SessionNotFound, TranscriptError
from handrail.transcripts.layout import SessionFile

WINDOW = 64 * 1024
_TITLE_LIMIT = 200
_CACHE_LIMIT = 100_000
_PREFIX = re.compile(r"[0-9a-fA-F-]{4,36}")
COMMAND = re.compile(r"<command-name>\s*(.*?)\s*</command-name>", re.DOTALL)
NOT_A_PROMPT = (
    "<local-command-",
    "<command-",
    "<task-notification>",
    "<system-reminder>",
    "<session-start-hook>",
    "<ide_opened_file>",
    "<ide_selection>",
    "<tick>",
    "[Request interrupted by user",
)
_CUT_PROMPT = re.compile(rb'"(?:content|text)":"((?:[^"\\]|\\.){1,1000})')


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A session as lists show it. `title` is empty if the session contains no message."""

    id: str
    path: Path
    project: str
    title: str
    cwd: str | None
    first_prompt: str | None
    last_prompt: str | None
    git_branch: str | None
    created: datetime | None
    modified: datetime
    size: int
    tag: str | None = None
    archived: bool = False
    given_title: str | None = None
    """The title that the user or the CLI gave; None if `title` is taken from the conversation."""
    summary: str | None = None
    """The summary of a compaction."""


class _Notes(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of bookkeeping entries, and those that every chained entry carries."""

    type: str = ""
    custom_title: str | None = None
    ai_title: str | None = None
    summary: str | None = None
    last_prompt: str | None = None
    git_branch: str | None = None
    tag: str | None = None
    cwd: str | None = None
    timestamp: str | None = None
    is_sidechain: bool | None = None


_Stamp = tuple[int, int, int]
_seen: dict[tuple[str, str, str], tuple[_Stamp, SessionInfo | None]] = {}


def list_sessions(
    directory: str | Path | None = None,
    limit: int | None = None,
    offset: int = 0,
    config_home: Path | None = None,
) -> list[SessionInfo]:
    """List the sessions of a working directory, or of all, newest first. Sessions without a message are left out."""
    project = None if directory is None else layout.project_name(directory)
    listed: list[SessionInfo] = []
    for root, (modified, size, number, folder, id) in _files(config_home, project):
        if limit is not None and len(listed) >= offset + limit:
            break
        info = _look_up(root, folder, id, (modified, size, number))
        if info is not None and info.title:
            listed.append(info)
    return listed[offset:]


def _files(config_home: Path | None, project: str | None) -> Iterator[tuple[Path, layout.Listed]]:
    """The transcripts of all config homes, newest first. A session in an earlier home hides its old copy in a later."""
    roots = [layout.projects_folder(home) for home in layout.search_path(config_home)]
    found = [layout.session_files(root, project) for root in roots]
    known: set[str] = set()
    for index, files in enumerate(found[:-1]):
        known.update(file[4] for file in files)
        found[index + 1] = [file for file in found[index + 1] if file[4] not in known]
    pairs = ([(root, file) for file in files] for root, files in zip(roots, found, strict=True))
    return heapq.merge(*pairs, key=lambda pair: pair[1], reverse=True)


def find_session(session_id: str, config_home: Path | None = None) -> SessionInfo:
    """The session with this id."""
    file = layout.locate(session_id, config_home)
    try:
        status = file.path.lstat()
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        info = _look_up(file.root, file.project, file.session_id, stamp)
    except OSError:
        info = None
    if info is None:
        raise SessionNotFound(f"{file.path} is not the transcript of a session, or cannot be read")
    return info


def match_session(prefix: str, config_home: Path | None = None) -> SessionInfo:
    """Find the one session whose id starts with `prefix`, for people who do not type 36 characters."""
    if not _PREFIX.fullmatch(prefix):
        raise InvalidSessionId(f"{prefix[:60]!r} is not a session id or the first four or more characters of one")
    ids = {file[4] for _, file in _files(config_home, None) if file[4].startswith(prefix.lower())}
    if not ids:
        root = layout.projects_folder(config_home)
        raise SessionNotFound(f"no session begins with {prefix!r} under {root}")
    if len(ids) > 1:
        raise AmbiguousSession(f"{len(ids)} sessions begin with {prefix!r}: {', '.join(sorted(ids)[:5])}")
    return find_session(ids.pop(), config_home)


def _look_up(root: Path, project: str, id: str, stamp: _Stamp) -> SessionInfo | None:
    info = _cached(root, project, id, stamp)
    # Archiving does not change the transcript, so the cache cannot know of it.
    if info is not None and is_archived(SessionFile(root, project, id)):
        return msgspec.structs.replace(info, archived=True)
    return info


def _cached(root: Path, project: str, id: str, stamp: _Stamp) -> SessionInfo | None:
    key = (str(root), project, id)
    known = _seen.get(key)
    if known is not None and known[0] == stamp:
        return known[1]
    if len(_seen) >= _CACHE_LIMIT:
        _seen.clear()
    try:
        info = _inspect(SessionFile(root, project, id), stamp)
    except (TranscriptError, OSError):
        return None
    _seen[key] = stamp, info
    return info


def _inspect(file: SessionFile, stamp: _Stamp) -> SessionInfo | None:
    """Read a session from the two ends of its file; None for the file of an old subagent."""
    modified, size, _ = stamp
    head, tail = _ends(file, size)
    opening = _opening(head)
    if opening.is_sidechain:
        return None
    first, last = _first_prompt(head), _last_note(tail, head, "last_prompt", "last-prompt")
    given = _last_note(tail, head, "custom_title", "custom-title") or _last_note(tail, head, "ai_title", "ai-title")
    summary = _last_note(tail, head, "summary", "summary")
    return SessionInfo(
        id=file.session_id,
        path=file.path,
        project=file.project,
        title=given or summary or first or last or "",
        cwd=opening.cwd,
        first_prompt=first,
        last_prompt=last,
        git_branch=_last_note(tail, head, "git_branch"),
        created=_time(opening.timestamp or ""),
        modified=datetime.fromtimestamp(modified / 1e9, UTC),
        size=size,
        tag=_last_note(tail, head, "tag", "tag", empty_counts=True),
        given_title=given,
        summary=summary,
    )


def _ends(file: SessionFile, size: int) -> tuple[bytes, bytes]:
    descriptor = layout.open_below(file.root, file.path)
    try:
        head = read_at(descriptor, WINDOW, 0)
        return head, head if size <= WINDOW else read_at(descriptor, WINDOW, size - WINDOW)
    finally:
        os.close(descriptor)


def _opening(head: bytes) -> _Notes:
    """The first directory and timestamp in a file, and whether its first entry is of a sidechain."""
    sidechain = cwd = timestamp = None
    for line in head.split(b"\n"):
        try:
            note = decode(line, _Notes)[0] if line else _Notes()
        except ValueError:
            continue
        sidechain = bool(note.is_sidechain) if sidechain is None else sidechain
        cwd, timestamp = cwd or note.cwd, timestamp or note.timestamp
        if cwd and timestamp:
            break
    return _Notes(cwd=cwd, timestamp=timestamp, is_sidechain=sidechain)


def _last_note(
    tail: bytes, head: bytes, field: str, kind: str | None = None, *, empty_counts: bool = False
) -> str | None:
    """The newest value of a field, searched backwards; only in entries of type `kind`, if one is given.

    An empty value is skipped; with `empty_counts` it is the newest value, and None is returned for it.
    """
    first, *rest = field.split("_")
    key = f'"{first}{"".join(word.title() for word in rest)}"'.encode()
    for window in (tail,) if tail is head else (tail, head):
        end = len(window)
        while (found := window.rfind(key, 0, end)) >= 0:
            end = window.rfind(b"\n", 0, found) + 1
            line = window[end : window.find(b"\n", found) if b"\n" in window[found:] else len(window)]
            try:
                note = decode(line, _Notes)[0]
            except ValueError:
                continue
            value = getattr(note, field)
            if (value or (empty_counts and value is not None)) and (kind is None or note.type == kind):
                return one_line(value, _TITLE_LIMIT) or None
    return None


def _first_prompt(head: bytes) -> str | None:
    command = None
    for line in head.split(b"\n"):
        if b'"user"' not in line:
            continue
        try:
            envelope = decode(line, Envelope)[0]
        except ValueError:
            if prompt := _cut_prompt(line):
                return prompt
            continue
        if envelope.type != "user" or envelope.is_meta or envelope.is_compact_summary:
            continue
        for text in texts(body(envelope)[0]):
            named = COMMAND.search(text)
            command = command or (one_line(named[1], _TITLE_LIMIT) if named else None)
            if text.strip() and not text.lstrip().startswith(NOT_A_PROMPT):
                return one_line(text, _TITLE_LIMIT)
    return command


def _cut_prompt(line: bytes) -> str | None:
    """The beginning of a prompt whose line is longer than the window."""
    found = _CUT_PROMPT.search(line) if b'"type":"user"' in line and b'"tool_result"' not in line else None
    try:
        prompt = one_line(decode(b'"' + found[1] + b'"', str)[0], _TITLE_LIMIT) if found else ""
    except ValueError:
        return None
    return None if prompt.startswith(NOT_A_PROMPT) else prompt or None


def _time(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
