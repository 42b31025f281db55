"""One line of the wire, sorted by what has to happen with it. In: nothing. Out: the frame types.

Each frame keeps the exact bytes of its line (without the newline) in `raw`: they are the truth, and what is forwarded,
recorded or stored. The other fields are what routing needs, and no more.
"""

from __future__ import annotations

import msgspec

__all__ = [
    "Answer",
    "BadLine",
    "CancelRequest",
    "Failure",
    "Frame",
    "KeepAlive",
    "Message",
    "Request",
    "Success",
    "Unnamed",
]


class Unnamed(str):
    """The id, in our books alone, of a request that came without one: its answer has none either."""

    __slots__ = ()


class Message(msgspec.Struct, frozen=True, gc=False):
    """A line of the conversation, known or not."""

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
    """A control request was done. `body` is the payload, empty where there is none."""

    raw: bytes
    id: str
    body: bytes


class Failure(msgspec.Struct, frozen=True, gc=False):
    """A control request was refused. `code` is empty where the other side gave none."""

    raw: bytes
    id: str
    error: str
    code: str = ""


class CancelRequest(msgspec.Struct, frozen=True, gc=False):
    """The side that sent a control request no longer wants its answer."""

    raw: bytes
    id: str


class KeepAlive(msgspec.Struct, frozen=True, gc=False):
    """The other side is still there."""

    raw: bytes


class BadLine(msgspec.Struct, frozen=True, gc=False):
    """A line that is no frame. `raw` holds what was kept of it, `size` how long it was, `reason` what is wrong."""

    raw: bytes
    reason: str
    size: int


Answer = Success | Failure
Frame = Message | Request | Success | Failure | CancelRequest | KeepAlive | BadLine
