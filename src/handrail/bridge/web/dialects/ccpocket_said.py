"""What a client of the early bridge protocol may say. In: one text. Out: a message with its fields checked. Pure.

Fields that such clients send besides these are passed over: none of them widens what a session may do.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct, field

__all__ = [
    "Answer",
    "Approve",
    "ApproveAlways",
    "GetHistory",
    "Input",
    "ListRecentSessions",
    "ListSessions",
    "Picture",
    "Reject",
    "ResumeSession",
    "Said",
    "Start",
    "StopSession",
    "Unsupported",
    "read",
]

_Id = Annotated[str, Meta(min_length=1, max_length=200)]
_Path = Annotated[str, Meta(max_length=4096, pattern=r"^[^\x00]+$")]
_Count = Annotated[int, Meta(ge=0, le=2**31)]


class Unsupported(Exception):
    """No message of this protocol; the text says why."""


class _Said(Struct, frozen=True, kw_only=True, tag_field="type", rename="camel"):
    """What all messages share."""


class _OfSession(_Said, frozen=True, kw_only=True):
    """About a session; without an id it is the one that this socket has."""

    session_id: _Id | None = None


class _Choices(_Said, frozen=True, kw_only=True):
    """What may be chosen for a session."""

    permission_mode: str | None = None
    model: str | None = None
    effort: str | None = None
    max_turns: int | None = None
    max_budget_usd: float | None = None
    fork_session: bool | None = None
    provider: str | None = None


class Start(_Choices, frozen=True, kw_only=True, tag="start"):
    """A session in a folder: a new one, the one with this id, or the newest one there."""

    project_path: _Path
    session_id: _Id | None = None
    newest: bool | None = field(default=None, name="continue")


class ResumeSession(_Choices, frozen=True, kw_only=True, tag="resume_session"):
    """Go on with a session."""

    session_id: _Id
    project_path: _Path


class Picture(Struct, frozen=True, rename="camel"):
    """A picture that goes with a message."""

    base64: str
    mime_type: str | None = None


class Input(_OfSession, frozen=True, kw_only=True, tag="input"):
    """Something the user says. With an id of the client's it is done once, and told so by `input_ack`."""

    text: str
    client_message_id: _Id | None = None
    images: Annotated[list[Picture], Meta(max_length=20)] | None = None
    image_base64: str | None = None


class Approve(_OfSession, frozen=True, kw_only=True, tag="approve"):
    """The tool may run."""

    id: _Id


class ApproveAlways(_OfSession, frozen=True, kw_only=True, tag="approve_always"):
    """The tool may run, and so may what the question suggests, for the session."""

    id: _Id


class Reject(_OfSession, frozen=True, kw_only=True, tag="reject"):
    """The tool may not run; the model is told why."""

    id: _Id
    message: str | None = None


class Answer(_OfSession, frozen=True, kw_only=True, tag="answer"):
    """What the user says to questions: words, or JSON of answers by the text of their questions."""

    tool_use_id: _Id
    result: str


class ListSessions(_Said, frozen=True, kw_only=True, tag="list_sessions"):
    """Those that are active."""


class StopSession(_Said, frozen=True, kw_only=True, tag="stop_session"):
    """End its process."""

    session_id: _Id


class GetHistory(_Said, frozen=True, kw_only=True, tag="get_history"):
    """All that was said; from then on also what comes."""

    session_id: _Id


class ListRecentSessions(_Said, frozen=True, kw_only=True, tag="list_recent_sessions"):
    """Those that were used last, of a folder or of all."""

    limit: _Count | None = None
    offset: _Count | None = None
    project_path: _Path | None = None


Said = (
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
_decode: Final = msgspec.json.Decoder(Said).decode


def read(text: str | bytes) -> Said:
    """The message that a text is. Unsupported where it is none."""
    try:
        return _decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise Unsupported(f"this is no message of the protocol: {str(error)[:300]}") from None
