"""What nodes ask each other. In: what is wanted. Out: bytes, and the same again. Pure.

| asked | of whom | answered by |
|---|---|---|
| Do | whoever runs a session, or a machine that is to | the receipt of the command |
| Fetch | a machine | what its own route answers: files, raw frames |
| Know | all machines | what each knows: words that were found, sessions of a terminal, what was used |
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

__all__ = ["Ask", "Do", "Fetch", "Fetched", "Know", "Known", "decode", "decode_fetched", "decode_known", "encode"]


class Do(Struct, frozen=True, tag=True):
    """A command of a client that was let in elsewhere. `key` is its id, unlike that of any other device."""

    key: str
    by: str
    scopes: list[str]
    command: str
    fields: bytes


class Fetch(Struct, frozen=True, tag=True):
    """A visit to a route whose answer lies on a machine. `scopes`: what the visitor may."""

    method: str
    path: str
    query: list[tuple[str, str]]
    device: str
    name: str
    scopes: list[str]


class Know(Struct, frozen=True, tag=True):
    """What every machine is asked for, by a word of the table."""

    what: str
    fields: dict[str, Any] = {}


class Fetched(Struct, frozen=True):
    """What a route answered; a long body comes in pieces, the last of which has `more` False."""

    status: int = 200
    headers: list[tuple[str, str]] = []
    body: bytes = b""
    more: bool = False


class Known(Struct, frozen=True):
    """What one machine knows."""

    node: str
    answer: Any = None


Ask = Do | Fetch | Know
_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Ask)
decode_fetched: Final = msgspec.msgpack.Decoder(Fetched).decode
decode_known: Final = msgspec.msgpack.Decoder(Known).decode


def encode(ask: Ask | Fetched | Known) -> bytes:
    """As it travels."""
    return _encoder.encode(ask)


def decode(data: bytes) -> Ask:
    """What was asked. msgspec.MsgspecError where it is nothing."""
    return _decoder.decode(data)
