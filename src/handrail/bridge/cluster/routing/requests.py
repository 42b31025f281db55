"""The requests between machines, and their encoding.

| request | sent to | response |
|---|---|---|
| Do | the machine that runs a session, or one that is to run it | the receipt of the command |
| Fetch | one machine | the response of its route: files, raw frames |
| Know | all machines | what each knows: search hits, terminal sessions, usage, folders |
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from handrail.bridge.commands.router import Fetch, Fetched

__all__ = ["Ask", "Do", "Know", "Known", "decode", "decode_fetched", "decode_known", "encode"]


class Do(Struct, frozen=True, tag=True):
    """A command of a client that is connected to another machine. `key` is unique across devices."""

    key: str
    by: str
    scopes: list[str]
    command: str
    fields: bytes


class Know(Struct, frozen=True, tag=True):
    """A question to every machine; `what` is a row of `knowledge`."""

    what: str
    fields: dict[str, Any] = {}


class Known(Struct, frozen=True):
    """The answer of one machine; None if it cannot answer."""

    node: str
    answer: Any = None


Ask = Do | Fetch | Know
_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Ask)
decode_fetched: Final = msgspec.msgpack.Decoder(Fetched).decode
decode_known: Final = msgspec.msgpack.Decoder(Known).decode


def encode(message: Ask | Fetched | Known) -> bytes:
    """A request or response as msgpack."""
    return _encoder.encode(message)


def decode(data: bytes) -> Ask:
    """A request. Raises msgspec.MsgspecError for anything else."""
    return _decoder.decode(data)
