"""The message format of the events stream: one batch of consecutive events of one session. Pure.

All sessions share one stream, so the stream sequences of a session's messages have gaps. The session's own event
numbers are therefore part of the message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from handrail.bridge.store.base import Event, Receipt

__all__ = ["Batch", "Entry", "batches", "decode", "encode"]

MOST_EVENTS: Final = 500
MOST_BYTES: Final = 512 * 1024
"""Limits of one batch. A single event may be larger than MOST_BYTES and then travels alone."""


class Entry(Struct, frozen=True, array_like=True):
    """One event with its searchable text. Its number follows from its position in the batch."""

    time: int
    kind: str
    data: bytes
    text: str = ""


class Batch(Struct, frozen=True, array_like=True, kw_only=True):
    """Events appended together: stored as a whole or not at all.

    epoch     epoch of the owner that wrote it; every new owner has a higher one and starts with an empty batch
    first     lowest event number the session retains; older events were deleted
    start     number of the first entry; in an empty batch, number of the next event to be written
    entries   the events
    receipts  answers of the commands that caused these events
    """

    epoch: int
    first: int
    start: int
    entries: tuple[Entry, ...] = ()
    receipts: tuple[Receipt, ...] = ()

    @property
    def last(self) -> int:
        """Number of the session's newest event, in this batch or before it."""
        return self.start + len(self.entries) - 1

    def events(self, after: int = 0) -> list[Event]:
        """The retained events with a number above `after`."""
        lowest = max(self.first, after + 1)
        numbered = enumerate(self.entries, self.start)
        return [Event(seq, one.time, one.kind, one.data) for seq, one in numbered if seq >= lowest]


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Batch)


def encode(batch: Batch) -> bytes:
    return _encoder.encode(batch)


def decode(data: bytes) -> Batch:
    """Raises msgspec.MsgspecError for anything but a batch. Unknown trailing fields are ignored."""
    return _decoder.decode(data)


def batches(entries: Sequence[Entry], start: int) -> list[tuple[int, tuple[Entry, ...]]]:
    """Split entries into as few pieces as the limits allow, each with the number of its first entry."""
    pieces: list[tuple[int, tuple[Entry, ...]]] = []
    taken: list[Entry] = []
    size, number = 0, start
    for entry in entries:
        weight = len(entry.data) + len(entry.text)
        if taken and (len(taken) >= MOST_EVENTS or size + weight > MOST_BYTES):
            pieces.append((number, tuple(taken)))
            number, taken, size = number + len(taken), [], 0
        taken.append(entry)
        size += weight
    return [*pieces, (number, tuple(taken))] if taken else pieces
