"""The sessions in a store: list, read, rename, tag, fork and delete them, and import one from this machine.

The counterpart of `handrail.transcripts` for a store. `directory` is the working directory of the sessions (default:
the current one), because a store keeps sessions per directory. Errors that the store raises are passed on.
"""

from __future__ import annotations

import io
import json
import logging
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, cast

import msgspec

from handrail.session_store.base import (
    SessionKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreError,
    SessionSummaryEntry,
    implements,
)
from handrail.session_store.files import META, encode_entry, project_key_for_directory
from handrail.session_store.summary import fold_session_summary, milliseconds
from handrail.transcripts.chain import conversation
from handrail.transcripts.entry import Entry, decode
from handrail.transcripts.errors import SessionNotFound
from handrail.transcripts.fork import forked_lines
from handrail.transcripts.layout import SessionFile, check_session_id, locate, open_below
from handrail.transcripts.read import Damage, entries, lines, scan_entries
from handrail.transcripts.subagents import subagent_files
from handrail.transcripts.write import CustomTitle, clean_title

__all__ = [
    "StoredSession",
    "StoredSubagent",
    "delete_session",
    "find_session",
    "fork_session",
    "import_session",
    "list_sessions",
    "list_subagents",
    "load_entries",
    "read_session",
    "read_subagent",
    "rename_session",
    "tag_session",
]

log = logging.getLogger("handrail.session_store")

_AGENT = "agent-"

Directory = str | Path | None


class StoredSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session as lists show it. `size` is known only for a session that was loaded to describe it."""

    id: str
    title: str
    custom_title: str | None
    first_prompt: str | None
    git_branch: str | None
    cwd: str | None
    tag: str | None
    created: datetime | None
    modified: datetime
    size: int | None = None


class StoredSubagent(msgspec.Struct, frozen=True):
    """The conversation of a subagent, and the fields of its metadata, such as `agentType` and `toolUseId`."""

    agent_id: str
    about: Mapping[str, Any]
    messages: list[Entry]


async def load_entries(store: SessionStore, key: SessionKey) -> list[SessionStoreEntry]:
    """The entries of a list; empty for an unknown key. Raises SessionStoreError for a result of another type."""
    loaded: object = await store.load(key)
    if loaded is None:
        return []
    if not isinstance(loaded, list) or not all(isinstance(entry, dict) for entry in cast("list[object]", loaded)):
        raise SessionStoreError(
            f"{type(store).__name__}.load() must return a list of dicts or None, for session {key['session_id']} it"
            f" returned {_shape(loaded)}"
        )
    return loaded


async def list_sessions(
    store: SessionStore, directory: Directory = None, limit: int | None = None, offset: int = 0
) -> list[StoredSession]:
    """List the sessions of a directory, newest first. Sessions without a message are left out.

    Raises SessionStoreError if the store implements neither `list_session_summaries` nor `list_sessions`.
    """
    project = project_key_for_directory(directory)
    summaries = await _summaries(store, project)
    times = await _times(store, project)
    if summaries is None and times is None:
        raise SessionStoreError(
            f"{type(store).__name__} implements neither list_session_summaries() nor list_sessions(), so its sessions"
            " cannot be listed; add one of them to the store"
        )
    fresh = {
        summary["session_id"]: _described(summary)
        for summary in summaries or ()
        if times is None or summary["mtime"] >= times.get(summary["session_id"], 0)
    }
    missing = [(id, mtime) for id, mtime in (times or {}).items() if id not in fresh]
    fresh |= await _load_all(store, project, missing)
    found = sorted((one for one in fresh.values() if one is not None), key=lambda one: one.modified, reverse=True)
    return found[offset:] if limit is None else found[offset : offset + limit]


async def find_session(store: SessionStore, session_id: str, directory: Directory = None) -> StoredSession | None:
    """One session; None if the store lacks it, or for an empty one. Raises InvalidSessionId."""
    key = _key(session_id, directory)
    return _described_entries(session_id, await load_entries(store, key), None)


async def read_session(store: SessionStore, session_id: str, directory: Directory = None) -> list[Entry]:
    """The messages of a session, oldest first; empty if the store does not have it. Raises InvalidSessionId."""
    return _messages(await load_entries(store, _key(session_id, directory)), main_only=True)


async def list_subagents(store: SessionStore, session_id: str, directory: Directory = None) -> list[str]:
    """The ids of a session's subagents. Raises SessionStoreError if the store does not implement `list_subkeys`."""
    key = _key(session_id, directory)
    if not implements(store, "list_subkeys"):
        raise SessionStoreError(
            f"{type(store).__name__} does not implement list_subkeys(), so subagents cannot be listed; add it to the"
            " store"
        )
    return [_agent_id(subpath) for subpath in await _subagent_paths(store, key)]


async def read_subagent(
    store: SessionStore, session_id: str, agent_id: str, directory: Directory = None
) -> StoredSubagent | None:
    """The conversation of a subagent; None if the store does not have it. Raises InvalidSessionId."""
    key = _key(session_id, directory)
    paths = [f"subagents/{_AGENT}{agent_id}"]
    if implements(store, "list_subkeys"):
        paths = [path for path in await _subagent_paths(store, key) if _agent_id(path) == agent_id]
    for path in paths:
        found = await load_entries(store, {**key, "subpath": path})
        if found:
            about = [entry for entry in found if entry.get("type") == META]
            return StoredSubagent(agent_id, cast("Mapping[str, Any]", about[-1] if about else {}), _messages(found))
    return None


async def rename_session(store: SessionStore, session_id: str, title: str, directory: Directory = None) -> None:
    """Set the title of a session. Raises InvalidSessionId or InvalidTitle."""
    key = _key(session_id, directory)
    await store.append(key, [_note("custom-title", session_id, customTitle=clean_title(title))])


async def tag_session(store: SessionStore, session_id: str, tag: str | None, directory: Directory = None) -> None:
    """Set the tag of a session; None removes it. Raises InvalidSessionId, or InvalidTitle for a tag that is empty."""
    key = _key(session_id, directory)
    await store.append(key, [_note("tag", session_id, tag="" if tag is None else clean_title(tag))])


async def delete_session(store: SessionStore, session_id: str, directory: Directory = None) -> None:
    """Delete a session with its subagents.

    Raises InvalidSessionId, or SessionStoreError if the store does not implement `delete`.
    """
    key = _key(session_id, directory)
    if not implements(store, "delete"):
        raise SessionStoreError(
            f"{type(store).__name__} does not implement delete(), so session {session_id} is still stored; add it to"
            " the store"
        )
    await store.delete(key)


async def fork_session(
    store: SessionStore,
    session_id: str,
    directory: Directory = None,
    *,
    up_to: str | None = None,
    title: str | None = None,
) -> str:
    """Fork a session, up to its end or up to and including the entry `up_to`. Returns the id of the fork.

    Raises InvalidSessionId, SessionNotFound or EntryNotFound.
    """
    key = _key(session_id, directory)
    found = await load_entries(store, key)
    if not found:
        raise SessionNotFound(f"no session {session_id} in the store for project {key['project_key']}")
    about = _described_entries(session_id, found, None)
    name = clean_title(title or f"{(about and about.title) or 'Session'} (fork)")
    fork = CustomTitle(name, str(uuid.uuid4()))
    copied = forked_lines(_stream(found), session_id, fork, up_to)
    await store.append({**key, "session_id": fork.session_id}, [json.loads(line) for line in copied])
    return fork.session_id


async def import_session(
    session_id: str,
    store: SessionStore,
    *,
    config_home: Path | None = None,
    project: str | None = None,
    include_subagents: bool = True,
    batch_size: int = 500,
) -> int:
    """Append a session of this machine to a store, `batch_size` entries at a time. Returns the number of entries.

    Only a session in the folder `project` counts, if one is named. Lines that cannot be decoded are skipped and logged.
    Raises InvalidSessionId, SessionNotFound or TranscriptError. Entries that the store
    already has are added again, so import a session once.
    """
    file = locate(session_id, config_home)
    if project is not None and file.project != project:
        file = msgspec.structs.replace(file, project=project)
        if not file.path.is_file():
            raise SessionNotFound(f"no session {session_id} under {file.path.parent}")
    count = await _import_file(store, file, file.path, {}, batch_size)
    for path in subagent_files(file.subagents) if include_subagents else ():
        subpath = path.relative_to(file.folder).with_suffix("").as_posix()
        count += await _import_file(store, file, path, {"subpath": subpath}, batch_size)
    return count


async def _import_file(
    store: SessionStore, file: SessionFile, path: Path, more: Mapping[str, str], batch_size: int
) -> int:
    key = cast("SessionKey", {"project_key": file.project, "session_id": file.session_id, **more})
    count = 0
    with os.fdopen(open_below(file.root, path), "rb") as stream:
        decoded = _decoded(stream, path)
        while batch := list(islice(decoded, max(batch_size, 1))):
            await store.append(key, batch)
            count += len(batch)
    return count


def _decoded(stream: io.BufferedReader, path: Path) -> Iterator[SessionStoreEntry]:
    """The entries of a file, the metadata of a subagent first."""
    about = path.with_suffix(".meta.json")
    try:
        if about.is_file() and not about.is_symlink():
            yield cast("SessionStoreEntry", {"type": META, **decode(about.read_bytes(), dict[str, Any])[0]})
    except (OSError, ValueError) as error:
        log.warning("%s was not imported: %s", about, error)
    damage = Damage()
    for offset, line in lines(stream, damage):
        try:
            yield cast("SessionStoreEntry", decode(line, dict[str, Any])[0])
        except ValueError as error:
            log.warning("%s: the line at byte %d was not imported: %s", path, offset, error)
    if damage.oversized:
        log.warning("%s: %d lines were too long to be imported", path, damage.oversized)


def _key(session_id: str, directory: Directory) -> SessionKey:
    return {"project_key": project_key_for_directory(directory), "session_id": check_session_id(session_id)}


def _note(type: str, session_id: str, **fields: str) -> SessionStoreEntry:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    more = {**fields, "sessionId": session_id, "uuid": str(uuid.uuid4()), "timestamp": now}
    return cast("SessionStoreEntry", {"type": type, **more})


def _stream(found: Sequence[SessionStoreEntry]) -> io.BytesIO:
    """Stored entries as the file they come from: chains are followed in one place, `handrail.transcripts`."""
    return io.BytesIO(b"".join(encode_entry(entry) for entry in found))


def _messages(found: Sequence[SessionStoreEntry], *, main_only: bool = False) -> list[Entry]:
    stream = _stream(found)
    scan = scan_entries(stream)
    return [*entries(stream, conversation(scan.main if main_only else scan.links).links)]


async def _summaries(store: SessionStore, project: str) -> list[SessionSummaryEntry] | None:
    return await store.list_session_summaries(project) if implements(store, "list_session_summaries") else None


async def _times(store: SessionStore, project: str) -> dict[str, int] | None:
    if not implements(store, "list_sessions"):
        return None
    return {one["session_id"]: one["mtime"] for one in await store.list_sessions(project)}


async def _load_all(
    store: SessionStore, project: str, wanted: Sequence[tuple[str, int]]
) -> dict[str, StoredSession | None]:
    """Describe the sessions whose summary is missing or outdated."""
    found: dict[str, StoredSession | None] = {}
    for id, mtime in wanted:  # one after another: this may run in another event loop than asyncio's
        loaded = await load_entries(store, {"project_key": project, "session_id": id})
        found[id] = _described_entries(id, loaded, mtime)
    return found


def _described_entries(id: str, found: list[SessionStoreEntry], mtime: int | None) -> StoredSession | None:
    if not found:
        return None
    summary = fold_session_summary(None, {"project_key": "", "session_id": id}, found)
    if mtime is None:  # without a list the newest timestamp is the best that is known
        mtime = max(milliseconds(entry.get("timestamp")) or 0 for entry in found)
    session = _described({**summary, "mtime": mtime})
    size = sum(len(encode_entry(entry)) for entry in found)
    return None if session is None else msgspec.structs.replace(session, size=size)


def _described(summary: SessionSummaryEntry) -> StoredSession | None:
    """None for the transcript of a subagent, and for a session without a message."""
    data = summary["data"]
    named = data.get("custom_title") or data.get("ai_title")
    first = (data.get("first_prompt") if data.get("first_prompt_locked") else None) or data.get("command_fallback")
    title = named or data.get("last_prompt") or data.get("summary_hint") or first
    if data.get("is_sidechain") or not title:
        return None
    created = data.get("created_at")
    return StoredSession(
        id=summary["session_id"],
        title=title,
        custom_title=named or None,
        first_prompt=first or None,
        git_branch=data.get("git_branch") or None,
        cwd=data.get("cwd") or None,
        tag=data.get("tag") or None,
        created=_moment(created) if isinstance(created, int) else None,
        modified=_moment(summary["mtime"]),
    )


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


async def _subagent_paths(store: SessionStore, key: SessionKey) -> list[str]:
    listed = await store.list_subkeys({"project_key": key["project_key"], "session_id": key["session_id"]})
    return [path for path in listed if path.startswith("subagents/") and path.rpartition("/")[2].startswith(_AGENT)]


def _agent_id(subpath: str) -> str:
    return subpath.rpartition("/")[2].removeprefix(_AGENT)


def _shape(value: object) -> str:
    if isinstance(value, list):
        odd = next(item for item in cast("list[object]", value) if not isinstance(item, dict))
        return f"a list with a {type(odd).__name__} in it"
    return f"a {type(value).__name__}"
