"""Session functions on the transcripts of this machine. Plain functions that read files.

The functions that read return an empty result for a session that does not exist or an id that is not a UUID. Those that
change raise an error that is also a FileNotFoundError or a ValueError.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from handrail import transcripts
from handrail.claude_agent_sdk.errors import shim_errors
from handrail.claude_agent_sdk.session_types import ForkSessionResult, SDKSessionInfo, SessionMessage, session_info

__all__ = [
    "delete_session",
    "fork_session",
    "get_session_info",
    "get_session_messages",
    "get_subagent_messages",
    "list_sessions",
    "list_subagents",
    "rename_session",
    "tag_session",
]

T = TypeVar("T")


def list_sessions(
    directory: str | None = None,
    limit: int | None = None,
    offset: int = 0,
    include_worktrees: bool = True,  # noqa: FBT001, FBT002
) -> list[SDKSessionInfo]:
    """The sessions of a directory, or of all, newest first. The worktrees of a repository count as one directory."""
    if directory is None:
        found = transcripts.list_sessions()
    else:
        folders = _worktrees(directory) if include_worktrees else [Path(directory)]
        by_id = {info.id: info for folder in folders for info in transcripts.list_sessions(folder)}
        found = sorted(by_id.values(), key=lambda info: info.modified, reverse=True)
    return [_info(info) for info in _page(found, limit, offset)]


def get_session_info(session_id: str, directory: str | None = None) -> SDKSessionInfo | None:
    """One session; None if it does not exist, or not in that directory."""
    info = _found(session_id, directory)
    return None if info is None or not info.title else _info(info)


def get_session_messages(
    session_id: str, directory: str | None = None, limit: int | None = None, offset: int = 0
) -> list[SessionMessage]:
    """The messages that the model still sees, oldest first: those before the last compaction are left out."""
    info = _found(session_id, directory)
    if info is None:
        return []
    with shim_errors():
        entries = transcripts.read_session(info.id, since_compaction=True).messages
    return [_message(entry) for entry in _page(entries, limit, offset)]


def list_subagents(session_id: str, directory: str | None = None) -> list[str]:
    """The ids of the subagents of a session."""
    return [agent.agent_id for agent in _subagents(session_id, directory)]


def get_subagent_messages(
    session_id: str, agent_id: str, directory: str | None = None, limit: int | None = None, offset: int = 0
) -> list[SessionMessage]:
    """The messages of a subagent, oldest first."""
    for agent in _subagents(session_id, directory):
        if agent.agent_id == agent_id:
            return [_message(entry, agent) for entry in _page(agent.messages, limit, offset)]
    return []


def rename_session(session_id: str, title: str, directory: str | None = None) -> None:
    """Give a session a title."""
    with shim_errors():
        if not title.strip():  # checked before the id
            raise transcripts.InvalidTitle("a title needs at least one visible character")
        transcripts.rename_session(_checked(session_id, directory), title)


def tag_session(session_id: str, tag: str | None, directory: str | None = None) -> None:
    """Tag a session; None removes the tag."""
    with shim_errors():
        if tag is not None and not tag.strip():
            raise transcripts.InvalidTag("a tag needs at least one visible character; None removes the tag")
        transcripts.tag_session(_checked(session_id, directory), tag)


def delete_session(session_id: str, directory: str | None = None) -> None:
    """Delete the files of a session: transcript, subagents, checkpoints."""
    with shim_errors():
        transcripts.delete_session(_checked(session_id, directory))


def fork_session(
    session_id: str, directory: str | None = None, up_to_message_id: str | None = None, title: str | None = None
) -> ForkSessionResult:
    """Copy a session, up to its end or up to and including one message, into a new one."""
    with shim_errors():
        made = transcripts.fork_session(_checked(session_id, directory), up_to=up_to_message_id, title=title)
    return ForkSessionResult(made)


def _found(session_id: str, directory: str | None) -> transcripts.SessionInfo | None:
    try:
        info = transcripts.find_session(session_id)
    except transcripts.TranscriptError:
        return None
    return info if _is_in(info.project, directory) else None


def _checked(session_id: str, directory: str | None) -> str:
    """The id of an existing session. Raises SessionNotFound or InvalidSessionId."""
    file = transcripts.locate(session_id)
    if not _is_in(file.project, directory):
        raise transcripts.SessionNotFound(f"no session {session_id} in {directory}")
    return session_id


def _is_in(project: str, directory: str | None) -> bool:
    return directory is None or project in {transcripts.project_name(folder) for folder in _worktrees(directory)}


def _subagents(session_id: str, directory: str | None) -> list[transcripts.Subagent]:
    info = _found(session_id, directory)
    return [] if info is None else sorted(transcripts.read_subagents(info.id), key=lambda agent: agent.agent_id)


def _page(items: Sequence[T], limit: int | None, offset: int) -> Sequence[T]:
    """A limit of 0 is none."""
    return items[offset : offset + limit if limit else None]


def _info(info: transcripts.SessionInfo) -> SDKSessionInfo:
    summary = info.given_title or info.last_prompt or info.summary or info.first_prompt or ""
    return session_info(info, summary=summary, custom_title=info.given_title)


def _message(entry: transcripts.Entry, agent: transcripts.Subagent | None = None) -> SessionMessage:
    fields = entry.decode()
    kind: Any = entry.type
    return SessionMessage(
        kind,
        entry.uuid,
        fields.get("sessionId", ""),
        fields.get("message"),
        None if agent is None else agent.tool_use_id,
        None if agent is None else agent.parent_agent_id,
    )


def _worktrees(directory: str) -> list[Path]:
    """The directory, and if it is the top of a git repository, the other worktrees of that repository.

    Git's own files are read and no program is run: the repository may be hostile.
    """
    here = Path(directory)
    git = here / ".git"
    common = git if git.is_dir() else _pointer(git, "gitdir: ")
    if common is None:
        return [here]
    if not git.is_dir():  # `.git/worktrees/NAME` of the main worktree
        common = common.parent.parent
    others = [common.parent, *(pointed.parent for pointed in _pointers(common / "worktrees"))]
    return list(dict.fromkeys([here, *others]))


def _pointers(folder: Path) -> Iterator[Path]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        if (pointed := _pointer(folder / name / "gitdir", "")) is not None:
            yield pointed


def _pointer(file: Path, prefix: str) -> Path | None:
    """The path that a file of git names."""
    try:
        with open(file, encoding="utf-8") as stream:
            text = stream.read(4096).strip()
    except (OSError, ValueError):
        return None
    path = Path(text.removeprefix(prefix))
    return path if text.startswith(prefix) and path.is_absolute() else None
