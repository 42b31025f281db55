"""Results of the session functions."""

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["ForkSessionResult", "SDKSessionInfo", "SessionMessage"]


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
