"""The types of frames. A frame is one line of the wire.

Each frame keeps the exact bytes of its line, without the newline, in `raw`; these are forwarded, recorded and stored.
The other fields are only those needed for routing.
"""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = [
    "Answer",
    "BadLine",
    "CancelRequest",
    "Failure",
    "Frame",
    "InternalId",
    "KeepAlive",
    "Message",
    "Request",
    "Success",
]


class InternalId(str):
    """The id of a request whose own id is missing, not a text, or that of an open request. `named` identifies the
    request in its answer."""

    __slots__ = ("named",)

    def __new__(cls, id: str, **named: Any) -> InternalId:
        """An id that is unique among open requests."""
        made = super().__new__(cls, id)
        made.named = named
        return made

    named: dict[str, Any]


class Message(msgspec.Struct, frozen=True, gc=False):
    """A line of the conversation, of a known or unknown type."""

    raw: bytes
    type: str
    subtype: str = ""


class Request(msgspec.Struct, frozen=True, gc=False):
    """A control request. `body` is its `request` object."""

    raw: bytes
    id: str
    subtype: str
    body: bytes


class Success(msgspec.Struct, frozen=True, gc=False):
    """A successful answer to a control request. `body` is the payload, or b""."""

    raw: bytes
    id: str
    body: bytes


class Failure(msgspec.Struct, frozen=True, gc=False):
    """The refusal of a control request. `code` may be ""."""

    raw: bytes
    id: str
    error: str
    code: str = ""


class CancelRequest(msgspec.Struct, frozen=True, gc=False):
    """Withdraws a control request: its sender no longer wants the answer."""

    raw: bytes
    id: str


class KeepAlive(msgspec.Struct, frozen=True, gc=False):
    """A sign of life of the other side."""

    raw: bytes


class BadLine(msgspec.Struct, frozen=True, gc=False):
    """A malformed line. `raw` may be truncated; `size` is its full length."""

    raw: bytes
    reason: str
    size: int


Answer = Success | Failure
Frame = Message | Request | Success | Failure | CancelRequest | KeepAlive | BadLine
