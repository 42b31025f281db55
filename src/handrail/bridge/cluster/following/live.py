"""How machines speak about following a session. In: words of either side. Out: bytes, and the same again. Pure.

Whoever follows asks; the answer says where the one who tells stands, and from there on every live message has a number.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from handrail.bridge.store.base import Event

__all__ = ["Answer", "Ask", "Live", "Page", "encode", "read_answer", "read_ask", "read_live", "read_page"]


class Ask(Struct, frozen=True, array_like=True):
    """Tell me what happens, for a while. With `after`: only give me events that are not on record everywhere yet.

    life, count   where the asker is
    after         the number after which events are wanted; below 0 for none
    most_bytes    of these events
    """

    life: str = ""
    count: int = 0
    after: Annotated[int, Meta(le=2**53)] = -1
    most_bytes: Annotated[int, Meta(le=2**53)] = 0


class Answer(Struct, frozen=True, array_like=True):
    """Where the one who tells stands: all of it is true of one moment.

    life     one unbroken run of live messages; in another one they are counted anew
    count    the number of the last one so far
    seq      the number of the newest event that they told
    so_far   lines that make up the block under way; none for an asker who is there already
    """

    life: str
    count: int
    seq: int
    so_far: tuple[bytes, ...] = ()


class Live(Struct, frozen=True, array_like=True):
    """What the feed of a session told next: items joined by commas. Without any, it says that a life has begun."""

    life: str
    count: int
    items: bytes = b""


class Page(Struct, frozen=True, array_like=True):
    """Events that were asked for, or why there are none."""

    events: tuple[Event, ...] = ()
    problem: str = ""


_encoder: Final = msgspec.msgpack.Encoder()
read_ask: Final = msgspec.msgpack.Decoder(Ask).decode
read_answer: Final = msgspec.msgpack.Decoder(Answer).decode
read_live: Final = msgspec.msgpack.Decoder(Live).decode
read_page: Final = msgspec.msgpack.Decoder(Page).decode


def encode(said: Ask | Answer | Live | Page) -> bytes:
    """As it travels."""
    return _encoder.encode(said)
