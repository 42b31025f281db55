"""What comes next of a session elsewhere. In: live messages in any order, doubled, lost. Out: each item once. Pure.

Live messages may be lost: then what is on record is read, and whoever tells them is asked where he stands. This file
says when; who reads and asks is `remote_session`.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import msgspec
from msgspec import Raw, Struct

from handrail.bridge.cluster.following.live import Answer, Live

__all__ = ["Item", "Sequel", "Told"]

MOST_HELD: Final = 1024
MOST_HELD_BYTES: Final = 8 * 1024 * 1024
"""What waits for something that is missing is given up above either: then it is read from the record."""
PAST_LIVES: Final = 16


class Item(Struct):
    """What is looked at of an item; one that is very large comes without its data."""

    kind: str
    seq: int = 0
    data: Raw = Raw(b"")


class Told(Struct):
    """What is new: for followers as it is, joined by commas; and looked at."""

    joined: bytes
    items: list[Item]


_items: Final = msgspec.json.Decoder(list[Item]).decode
_raws: Final = msgspec.json.Decoder(list[Raw]).decode


class Sequel:
    """The place of one follower. `seq`: the number of the newest event that was told."""

    def __init__(self) -> None:
        self.life, self.count, self.seq = "", 0, 0
        self._until = 0
        self._held: dict[tuple[str, int], bytes] = {}
        self._size = 0
        self._past: deque[str] = deque(maxlen=PAST_LIVES)

    @property
    def missing(self) -> int:
        """The number through which events must come from the record before anything else is told; 0 for none."""
        return self._until if self._until > self.seq else 0

    @property
    def lost(self) -> bool:
        """Was something heard that does not follow? Then whoever tells it has to be asked."""
        return bool(self._held) and not self.missing and (self.life, self.count + 1) not in self._held

    # Live messages

    def hear(self, live: Live) -> None:
        """One more, old or new."""
        key = (live.life, live.count)
        if live.life in self._past or (live.life == self.life and live.count <= self.count) or key in self._held:
            return
        if len(self._held) >= MOST_HELD or self._size > MOST_HELD_BYTES:
            self._held.clear()
            self._size = 0
        self._held[key] = live.items
        self._size += len(live.items)

    def next(self) -> Told | None:
        """What is to be told next; None where nothing follows yet. MsgspecError where it was skipped as unreadable."""
        while not self.missing and (joined := self._held.pop((self.life, self.count + 1), None)) is not None:
            self._size -= len(joined)
            self.count += 1
            if (told := self._new(joined)) is not None:
                return told
        return None

    def _new(self, joined: bytes) -> Told | None:
        """What of it was not told before; nearly always all of it."""
        items = _items(b"[%s]" % joined)
        numbers = [one.seq for one in items if one.seq]
        if numbers == list(range(self.seq + 1, self.seq + len(numbers) + 1)):
            self.seq = self._until = self.seq + len(numbers)
            return Told(joined, items) if items else None
        new: list[tuple[Raw, Item]] = []
        pairs = list(zip(_raws(b"[%s]" % joined), items, strict=True))
        for place, (raw, one) in enumerate(pairs):
            if one.seq > self.seq + 1:
                self._wait(one.seq - 1, [raw for raw, _ in pairs[place:]])
                break
            if one.seq == 0 or one.seq > self.seq:
                new.append((raw, one))
                self.seq = self._until = max(self.seq, one.seq)
        return Told(b",".join(raw for raw, _ in new), [one for _, one in new]) if new else None

    def _wait(self, until: int, rest: list[Raw]) -> None:
        """The rest of a message comes after events that must be read first."""
        joined = b",".join(rest)
        self._held[(self.life, self.count)] = joined
        self._size += len(joined)
        self.count -= 1
        self._until = until

    # Asking

    def asking(self) -> None:
        """Whoever tells is asked now: what was heard of other lives before is older than the answer will be."""
        self._keep({key for key in self._held if key[0] == self.life})

    def answered(self, answer: Answer) -> bool:
        """Go on from where the answer says. Out: whether that is another place than where all was heard so far."""
        if answer.life == self.life and answer.count <= self.count:
            return False
        self._leave(answer.life)
        self.count = answer.count
        self._keep({key for key in self._held if key[0] != self.life or key[1] > self.count})
        self.reach(answer.seq)
        return True

    def gone(self) -> None:
        """Nobody tells anything; the same life may go on when its machine is back."""
        self.life, self.count = "", 0

    def _leave(self, life: str) -> None:
        if self.life and self.life != life:
            self._past.append(self.life)
        if life in self._past:
            self._past.remove(life)
        self.life = life

    def _keep(self, keys: set[tuple[str, int]]) -> None:
        self._held = {key: joined for key, joined in self._held.items() if key in keys}
        self._size = sum(map(len, self._held.values()))

    # The record

    def reach(self, seq: int) -> None:
        """Events through this number are on record, and come from there."""
        self._until = max(self.seq, seq)

    def read(self, through: int) -> None:
        """They were told, as far as there are any."""
        self.seq = max(self.seq, through)
        self._until = max(self._until, self.seq)

    def go_back(self, seq: int) -> None:
        """What was told after this number has never been."""
        self.seq = self._until = seq
