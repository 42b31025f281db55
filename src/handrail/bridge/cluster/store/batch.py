"""Events as one message on NATS. In: events of a session, in order. Out: bytes, and the same again. Pure.

The number of a message in its stream has gaps, for all sessions share it: the session's own numbers travel inside.
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
"""A batch has at most so many of either; a single event may be larger."""


class Entry(Struct, frozen=True, array_like=True):
    """One event, and what a search finds of it. Its number is its place in the batch."""

    time: int
    kind: str
    data: bytes
    text: str = ""


class Batch(Struct, frozen=True, array_like=True, kw_only=True):
    """What is appended at once: it is there whole, or not at all.

    epoch     of whoever wrote it; it grows with every new owner, whose first batch is empty
    first     the lowest number that the session has: what is below was given up
    start     the number of the first entry; with none, of the next one that will be written
    entries   the events
    receipts  what commands were answered that these events belong to
    """

    epoch: int
    first: int
    start: int
    entries: tuple[Entry, ...] = ()
    receipts: tuple[Receipt, ...] = ()

    @property
    def last(self) -> int:
        """The number of the newest event, in this batch or before it."""
        return self.start + len(self.entries) - 1

    def events(self, after: int = 0) -> list[Event]:
        """Those that were not given up and have a higher number than `after`."""
        lowest = max(self.first, after + 1)
        numbered = enumerate(self.entries, self.start)
        return [Event(seq, one.time, one.kind, one.data) for seq, one in numbered if seq >= lowest]


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Batch)


def encode(batch: Batch) -> bytes:
    """As it travels."""
    return _encoder.encode(batch)


def decode(data: bytes) -> Batch:
    """As it was. msgspec.MsgspecError where it is none."""
    return _decoder.decode(data)


def batches(entries: Sequence[Entry], start: int) -> list[tuple[int, tuple[Entry, ...]]]:
    """Entries in as few pieces as fit, each with the number of its first."""
    pieces: list[tuple[int, tuple[Entry, ...]]] = []
    taken: list[Entry] = []
    size, place = 0, start
    for entry in entries:
        weight = len(entry.data) + len(entry.text)
        if taken and (len(taken) >= MOST_EVENTS or size + weight > MOST_BYTES):
            pieces.append((place, tuple(taken)))
            place, taken, size = place + len(taken), [], 0
        taken.append(entry)
        size += weight
    return [*pieces, (place, tuple(taken))] if taken else pieces
