"""The messages by which one machine follows a session of another, and their encoding.

A follower sends `Ask`. The owner answers with its position, and numbers every live message from there on.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from handrail.bridge.store.base import Event

__all__ = ["Answer", "Ask", "Live", "Page", "encode", "read_answer", "read_ask", "read_live", "read_page"]


class Ask(Struct, frozen=True, array_like=True):
    """A request to be sent live messages for a while; with `after`, a request for a page of events instead.

    life, count   the position of the follower
    after         the seq after which events are wanted; negative for none
    most_bytes    the limit of that page
    """

    life: str = ""
    count: int = 0
    after: Annotated[int, Meta(le=2**53)] = -1
    most_bytes: Annotated[int, Meta(le=2**53)] = 0


class Answer(Struct, frozen=True, array_like=True):
    """The position of the owner, all fields taken at one moment.

    life     an unbroken run of live messages; the count starts again in the next one
    count    the number of the newest live message
    seq      the seq of the newest event in them
    so_far   lines of the block in progress; empty if the follower is up to date
    """

    life: str
    count: int
    seq: int
    so_far: tuple[bytes, ...] = ()


class Live(Struct, frozen=True, array_like=True):
    """The next items of the feed, joined by commas. Without items it announces a new life."""

    life: str
    count: int
    items: bytes = b""


class Page(Struct, frozen=True, array_like=True):
    """The requested events, or the reason why they are missing."""

    events: tuple[Event, ...] = ()
    problem: str = ""


_encoder: Final = msgspec.msgpack.Encoder()
read_ask: Final = msgspec.msgpack.Decoder(Ask).decode
read_answer: Final = msgspec.msgpack.Decoder(Answer).decode
read_live: Final = msgspec.msgpack.Decoder(Live).decode
read_page: Final = msgspec.msgpack.Decoder(Page).decode


def encode(message: Ask | Answer | Live | Page) -> bytes:
    """A message as msgpack."""
    return _encoder.encode(message)
