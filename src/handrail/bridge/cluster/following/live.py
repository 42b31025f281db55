"""The messages by which one machine follows a session of another, and their order at the follower. No I/O.

A follower sends `Ask`. The owner answers with its position, and numbers every live message from there on. The messages
may be late, repeated or lost; `LiveSequence` passes on each item once, in order, and decides when messages were lost.
`RemoteSession` then reads the log and asks the owner for its position.
"""

from __future__ import annotations

from collections import deque
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Raw, Struct

from handrail.bridge.store.base import Event

__all__ = [
    "Answer",
    "Ask",
    "Item",
    "Live",
    "LiveSequence",
    "NewItems",
    "Page",
    "encode",
    "read_answer",
    "read_ask",
    "read_live",
    "read_page",
]

MOST_HELD: Final = 1024
MOST_HELD_BYTES: Final = 8 * 1024 * 1024
"""Limits of the messages held back for a missing one; above them they are read from the log instead."""
PAST_LIVES: Final = 16


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


# Order


class Item(Struct):
    """The fields of an item that matter here; a very large one comes without data."""

    kind: str
    seq: int = 0
    data: Raw = Raw(b"")


class NewItems(Struct):
    """New items: joined by commas for the feed, and decoded."""

    joined: bytes
    items: list[Item]


_items: Final = msgspec.json.Decoder(list[Item]).decode
_raws: Final = msgspec.json.Decoder(list[Raw]).decode


class LiveSequence:
    """The position of one follower. `seq` is that of the newest event passed on."""

    def __init__(self) -> None:
        self.life, self.count, self.seq = "", 0, 0
        self._until = 0
        self._held: dict[tuple[str, int], bytes] = {}
        self._size = 0
        self._past: deque[str] = deque(maxlen=PAST_LIVES)

    @property
    def missing(self) -> int:
        """The seq up to which events must be read from the log first; 0 for none."""
        return self._until if self._until > self.seq else 0

    @property
    def lost(self) -> bool:
        """Whether a message is missing, so the owner must be asked."""
        return bool(self._held) and not self.missing and (self.life, self.count + 1) not in self._held

    # Live messages

    def add(self, live: Live) -> None:
        """Add a received live message; duplicates are dropped."""
        key = (live.life, live.count)
        if live.life in self._past or (live.life == self.life and live.count <= self.count) or key in self._held:
            return
        if len(self._held) >= MOST_HELD or self._size > MOST_HELD_BYTES:
            self._held.clear()
            self._size = 0
        self._held[key] = live.items
        self._size += len(live.items)

    def next(self) -> NewItems | None:
        """The next items in order, if any. Raises MsgspecError for a malformed message, which is skipped."""
        while not self.missing and (joined := self._held.pop((self.life, self.count + 1), None)) is not None:
            self._size -= len(joined)
            self.count += 1
            if (new := self._new(joined)) is not None:
                return new
        return None

    def _new(self, joined: bytes) -> NewItems | None:
        """The new items of a message; nearly always all of them."""
        items = _items(b"[%s]" % joined)
        numbers = [one.seq for one in items if one.seq]
        if numbers == list(range(self.seq + 1, self.seq + len(numbers) + 1)):
            self.seq = self._until = self.seq + len(numbers)
            return NewItems(joined, items) if items else None
        new: list[tuple[Raw, Item]] = []
        pairs = list(zip(_raws(b"[%s]" % joined), items, strict=True))
        for place, (raw, one) in enumerate(pairs):
            if one.seq > self.seq + 1:
                self._hold_back(one.seq - 1, [raw for raw, _ in pairs[place:]])
                break
            if one.seq == 0 or one.seq > self.seq:
                new.append((raw, one))
                self.seq = self._until = max(self.seq, one.seq)
        return NewItems(b",".join(raw for raw, _ in new), [one for _, one in new]) if new else None

    def _hold_back(self, until: int, rest: list[Raw]) -> None:
        """Hold back the rest of a message until earlier events were read."""
        joined = b",".join(rest)
        self._held[(self.life, self.count)] = joined
        self._size += len(joined)
        self.count -= 1
        self._until = until

    # Asking

    def expect_answer(self) -> None:
        """Called before a request: messages of other lives received so far are older than the answer."""
        self._keep({key for key in self._held if key[0] == self.life})

    def apply_answer(self, answer: Answer) -> bool:
        """Continue from the position of the answer. Returns whether it differs from ours."""
        if answer.life == self.life and answer.count <= self.count:
            return False
        self._enter_life(answer.life)
        self.count = answer.count
        self._keep({key for key in self._held if key[0] != self.life or key[1] > self.count})
        self.require(answer.seq)
        return True

    def lose_owner(self) -> None:
        """Called if no owner answers; the same life may continue later."""
        self.life, self.count = "", 0

    def _enter_life(self, life: str) -> None:
        if self.life and self.life != life:
            self._past.append(self.life)
        if life in self._past:
            self._past.remove(life)
        self.life = life

    def _keep(self, keys: set[tuple[str, int]]) -> None:
        self._held = {key: joined for key, joined in self._held.items() if key in keys}
        self._size = sum(map(len, self._held.values()))

    # The log

    def require(self, seq: int) -> None:
        """Events up to this seq must be read from the log."""
        self._until = max(self.seq, seq)

    def mark_read(self, through: int) -> None:
        """Called after events up to this seq were passed on."""
        self.seq = max(self.seq, through)
        self._until = max(self._until, self.seq)

    def rewind(self, seq: int) -> None:
        """Step back: the events after this seq were lost with their machine."""
        self.seq = self._until = seq
