"""Messages a ccpocket client may send, decoded and validated. Pure.

Unknown fields are ignored, because released clients send many more of them and none can extend a session's permissions.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct, field

from handrail.errors import PeerError

__all__ = [
    "Answer",
    "Approve",
    "ApproveAlways",
    "ClientMessage",
    "GetHistory",
    "Input",
    "ListRecentSessions",
    "ListSessions",
    "Picture",
    "Reject",
    "ResumeSession",
    "Start",
    "StopSession",
    "UnsupportedMessage",
    "decode",
]

_Id = Annotated[str, Meta(min_length=1, max_length=200)]
_Path = Annotated[str, Meta(max_length=4096, pattern=r"^[^\x00]+$")]
_Count = Annotated[int, Meta(ge=0, le=2**31)]


class UnsupportedMessage(PeerError):
    """The text is not a message of this protocol; str() explains why."""


class _Message(Struct, frozen=True, kw_only=True, tag_field="type", rename="camel"):
    """Encoding shared by all messages: `type` selects the class, field names are camelCase."""


class _SessionMessage(_Message, frozen=True, kw_only=True):
    """A message about one session. `session_id` may be omitted while the socket has exactly one session."""

    session_id: _Id | None = None


class _SessionOptions(_Message, frozen=True, kw_only=True):
    """Options of a session that is started or resumed."""

    permission_mode: str | None = None
    model: str | None = None
    effort: str | None = None
    max_turns: int | None = None
    max_budget_usd: float | None = None
    fork_session: bool | None = None
    provider: str | None = None


class Start(_SessionOptions, frozen=True, kw_only=True, tag="start"):
    """Start a session in a folder, or resume the given one or, with `continue`, the most recent one."""

    project_path: _Path
    session_id: _Id | None = None
    continue_latest: bool | None = field(default=None, name="continue")


class ResumeSession(_SessionOptions, frozen=True, kw_only=True, tag="resume_session"):
    """Resume a session by id."""

    session_id: _Id
    project_path: _Path


class Picture(Struct, frozen=True, rename="camel"):
    """An image attached to a prompt."""

    base64: str
    mime_type: str | None = None


class Input(_SessionMessage, frozen=True, kw_only=True, tag="input"):
    """A prompt. With `client_message_id` it is sent at most once and acknowledged by `input_ack`."""

    text: str
    client_message_id: _Id | None = None
    images: Annotated[list[Picture], Meta(max_length=20)] | None = None
    image_base64: str | None = None


class Approve(_SessionMessage, frozen=True, kw_only=True, tag="approve"):
    """Allow a tool call once."""

    id: _Id


class ApproveAlways(_SessionMessage, frozen=True, kw_only=True, tag="approve_always"):
    """Allow a tool call, and the suggested rules or else identical calls, for the session."""

    id: _Id


class Reject(_SessionMessage, frozen=True, kw_only=True, tag="reject"):
    """Deny a tool call; the model receives `message` as the reason."""

    id: _Id
    message: str | None = None


class Answer(_SessionMessage, frozen=True, kw_only=True, tag="answer"):
    """Answer AskUserQuestion. `result` is plain text, or a JSON object that maps question texts to answers."""

    tool_use_id: _Id
    result: str


class ListSessions(_Message, frozen=True, kw_only=True, tag="list_sessions"):
    """List the active sessions."""


class StopSession(_Message, frozen=True, kw_only=True, tag="stop_session"):
    """Terminate a session's process."""

    session_id: _Id


class GetHistory(_Message, frozen=True, kw_only=True, tag="get_history"):
    """Send all messages of a session so far, then follow it."""

    session_id: _Id


class ListRecentSessions(_Message, frozen=True, kw_only=True, tag="list_recent_sessions"):
    """List sessions by last use, in one folder or in all."""

    limit: _Count | None = None
    offset: _Count | None = None
    project_path: _Path | None = None


ClientMessage = (
    Start
    | Input
    | Approve
    | ApproveAlways
    | Reject
    | Answer
    | ListSessions
    | StopSession
    | GetHistory
    | ListRecentSessions
    | ResumeSession
)
_decode: Final = msgspec.json.Decoder(ClientMessage).decode


def decode(text: str | bytes) -> ClientMessage:
    """Decode one message. Raises UnsupportedMessage for anything else."""
    try:
        return _decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise UnsupportedMessage(f"unsupported message: {str(error)[:300]}") from None
