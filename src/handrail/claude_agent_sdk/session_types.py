"""Results of the session functions."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

__all__ = ["ForkSessionResult", "SDKSessionInfo", "SessionMessage", "session_info"]


@dataclass
class SDKSessionInfo:
    """A session as lists show it. Times are milliseconds since 1970, `file_size` is in bytes."""

    session_id: str
    summary: str
    last_modified: int
    file_size: int | None = None
    custom_title: str | None = None
    first_prompt: str | None = None
    git_branch: str | None = None
    cwd: str | None = None
    tag: str | None = None
    created_at: int | None = None


class FoundSession(Protocol):
    """What a session on this machine and one in a store have in common."""

    @property
    def id(self) -> str: ...
    @property
    def modified(self) -> datetime: ...
    @property
    def created(self) -> datetime | None: ...
    @property
    def size(self) -> int | None: ...
    @property
    def first_prompt(self) -> str | None: ...
    @property
    def git_branch(self) -> str | None: ...
    @property
    def cwd(self) -> str | None: ...
    @property
    def tag(self) -> str | None: ...


def session_info(found: FoundSession, *, summary: str, custom_title: str | None) -> SDKSessionInfo:
    """The information about a session on this machine or in a store."""
    return SDKSessionInfo(
        session_id=found.id,
        summary=summary,
        last_modified=_milliseconds(found.modified),
        file_size=found.size,
        custom_title=custom_title,
        first_prompt=found.first_prompt,
        git_branch=found.git_branch,
        cwd=found.cwd,
        tag=found.tag,
        created_at=None if found.created is None else _milliseconds(found.created),
    )


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


@dataclass
class SessionMessage:
    """One message of a transcript; `message` is in the form of the Messages API."""

    type: Literal["user", "assistant"]
    uuid: str
    session_id: str
    message: Any
    parent_tool_use_id: str | None = None
    parent_agent_id: str | None = None


@dataclass
class ForkSessionResult:
    """The id of the new session."""

    session_id: str
