"""What followers of a session are told, in order. In: encoded items. Out: to each follower what it has not had yet.

The newest items are kept once for all, up to a bound; a follower is a place among them. So a client that does not read
costs nobody anything, and is cut off when its place is no longer kept.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

__all__ = ["CutOff", "Feed", "Follower"]

MOST_BYTES: Final = 4 * 1024 * 1024
SPARE: Final = 64 * 1024
"""So much may lie about that everybody has had."""


class CutOff(Exception):
    """The follower gets nothing more: it read too slowly, or the text says why."""


class Feed:
    """The newest items of one session."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._items: deque[bytes] = deque()
        self._size = 0
        self._most = most_bytes
        self._first = 0
        self.followers: set[Follower] = set()
        self._joined: tuple[int, int, bytes] = (0, 0, b"")

    @property
    def end(self) -> int:
        """The place after the newest item."""
        return self._first + len(self._items)

    def publish(self, items: list[bytes]) -> None:
        """Tell all followers. Never waits."""
        if not self.followers or not items:  # whoever comes later begins with what is on record
            return
        self._items.extend(items)
        self._size += sum(map(len, items))
        had = min(follower.place for follower in self.followers) if self._size > SPARE else 0
        while self._first < had or (self._size > self._most and len(self._items) > 1):
            self._size -= len(self._items.popleft())
            self._first += 1
        for follower in self.followers:
            follower.wake()

    def follow(self) -> Follower:
        """One more follower, from now on."""
        follower = Follower(self)
        self.followers.add(follower)
        return follower

    def since(self, place: int, most_bytes: int) -> tuple[int, bytes]:
        """The items from a place on, joined by commas, up to a size. Out: the place after them, and they. CutOff."""
        if place < self._first:
            raise CutOff
        start, end, joined = self._joined
        if start == place and end > place and (end == self.end or len(joined) >= most_bytes):
            return end, joined
        taken: list[bytes] = []
        size = 0
        for index in range(place - self._first, len(self._items)):
            item = self._items[index]
            if taken and size + len(item) > most_bytes:
                break
            taken.append(item)
            size += len(item) + 1
        joined = b",".join(taken)
        self._joined = (place, place + len(taken), joined)
        return place + len(taken), joined

    def leave(self, follower: Follower) -> None:
        """Nobody reads there any more."""
        self.followers.discard(follower)
        if not self.followers:
            self._first, self._size = self.end, 0
            self._items.clear()
            self._joined = (0, 0, b"")

    def cut(self, why: str) -> None:
        """What comes next cannot be told: whoever follows has to begin anew."""
        for follower in self.followers:
            follower.cut_off = why
            follower.wake()


class Follower:
    """A place in a feed, and a way to wait for more."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self.place = feed.end
        self._more = asyncio.Event()
        self.cut_off = ""
        """Why it gets nothing more."""
        self.on_wake: asyncio.Event | None = None
        """Set as well: for one reader of several feeds."""

    @property
    def pending(self) -> bool:
        """Is there something to take?"""
        return bool(self.cut_off) or self.place < self._feed.end

    def wake(self) -> None:
        """There is more."""
        self._more.set()
        if self.on_wake is not None:
            self.on_wake.set()

    async def wait(self) -> None:
        """Until there is something to take."""
        while not self.pending:
            self._more.clear()
            await self._more.wait()

    def take(self, most_bytes: int = 512 * 1024) -> bytes:
        """What has not been had yet, up to a size, joined by commas. CutOff where that is no longer kept."""
        if self.cut_off:
            raise CutOff(self.cut_off)
        self.place, joined = self._feed.since(self.place, most_bytes)
        return joined

    def close(self) -> None:
        """Follow no more."""
        self._feed.leave(self)
