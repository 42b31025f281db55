"""What the followers of a session receive: its items in order, and the answer that is being streamed.

The newest items are held once for all followers, up to a bound; a follower is a position among them. So a client that
does not read costs nothing, and is cut off when its position is no longer held.

Deltas of an answer are not persisted one by one: a client that joins in the middle gets the block so far, as the
fewest stream events that reproduce it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Final, Protocol

import msgspec

from handrail.bridge.store.base import Event, SessionRecord, State
from handrail.schema.messages import read_message
from handrail.schema.stream_events import Delta, StreamEvent

__all__ = ["CutOff", "Feed", "FollowedSession", "Follower", "Partial"]

MOST_BYTES: Final = 4 * 1024 * 1024
SPARE: Final = 64 * 1024
"""Bytes that may be held although every follower has read them: dropping items one by one costs more."""
_FIELDS: Final = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""Deltas that append to a text, and the field that holds it."""
MOST_CHARACTERS: Final = 80_000
"""Limit of one line: a character takes at most six bytes of JSON, and a line must fit into a frame."""


class CutOff(Exception):
    """The follower receives nothing more. The text is the reason; empty if it read too slowly."""


class FollowedSession(Protocol):
    """A session that clients follow: its host, or a remote session."""

    @property
    def partial(self) -> Partial:
        """The answer that is being streamed."""
        ...

    @property
    def record(self) -> SessionRecord:
        """The current record."""
        ...

    @property
    def feed(self) -> Feed:
        """The items that followers receive."""
        ...

    @property
    def seq(self) -> int:
        """The number of the newest event that followers may have seen."""
        ...

    def state(self) -> State:
        """The current state."""
        ...

    async def read(self, after: int, *, most_bytes: int = 2**20) -> list[Event]:
        """The stored events after a number."""
        ...


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
        """The position after the newest item."""
        return self._first + len(self._items)

    def publish(self, items: list[bytes]) -> None:
        """Give items to all followers. Never waits."""
        if not self.followers or not items:  # a follower that joins later begins with the stored events
            return
        self._items.extend(items)
        self._size += sum(map(len, items))
        read = min(follower.place for follower in self.followers) if self._size > SPARE else 0
        while self._first < read or (self._size > self._most and len(self._items) > 1):
            self._size -= len(self._items.popleft())
            self._first += 1
        for follower in self.followers:
            follower.wake()

    def follow(self) -> Follower:
        """Add a follower, which receives items from now on."""
        follower = Follower(self)
        self.followers.add(follower)
        return follower

    def since(self, place: int, most_bytes: int) -> tuple[int, bytes]:
        """Return the next position, and the items from `place` to it joined by commas. Raises CutOff."""
        if place < self._first:
            raise CutOff
        # Followers usually read the same items: the last joined run is kept for the next one that asks for it.
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
        """Remove a follower."""
        self.followers.discard(follower)
        if not self.followers:
            self._first, self._size = self.end, 0
            self._items.clear()
            self._joined = (0, 0, b"")

    def cut(self, why: str) -> None:
        """Cut off all followers: the next events cannot be delivered, and they must subscribe again."""
        for follower in self.followers:
            follower.cut_off = why
            follower.wake()


class Follower:
    """A position in a feed."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self.place = feed.end
        self._more = asyncio.Event()
        self.cut_off = ""
        """Why it receives nothing more."""
        self.on_wake: asyncio.Event | None = None
        """An event to set as well, for a task that reads several feeds."""

    @property
    def pending(self) -> bool:
        """Whether there is something to take."""
        return bool(self.cut_off) or self.place < self._feed.end

    def wake(self) -> None:
        """Called by the feed when there is more."""
        self._more.set()
        if self.on_wake is not None:
            self.on_wake.set()

    async def wait(self) -> None:
        """Wait until there is something to take."""
        while not self.pending:
            self._more.clear()
            await self._more.wait()

    def take(self, most_bytes: int = 512 * 1024) -> bytes:
        """The unread items up to a size, joined by commas. Raises CutOff if they are no longer held."""
        if self.cut_off:
            raise CutOff(self.cut_off)
        self.place, joined = self._feed.since(self.place, most_bytes)
        return joined

    def close(self) -> None:
        """Stop following."""
        self._feed.leave(self)


class Partial:
    """The unfinished answers of one session: of the main thread, and of subagents by their tool call."""

    def __init__(self) -> None:
        self._threads: dict[str | None, _Answer] = {}

    def take(self, raw: bytes) -> None:
        """Add a stream event."""
        view = read_message("stream_event", "", raw)
        if not isinstance(view, StreamEvent):
            return
        kind, parent = view.event.type, view.parent_tool_use_id
        if kind == "message_start":
            self._threads[parent] = _Answer(raw)
        elif kind == "message_stop":
            self._threads.pop(parent, None)
        elif (answer := self._threads.get(parent)) is not None:
            answer.take(kind, view.event.delta, raw)

    def finish_block(self, parent: str | None) -> None:
        """A block of the thread's answer is persisted whole: its deltas are no longer needed."""
        if (answer := self._threads.get(parent)) is not None:
            answer.finish_block()

    def end(self) -> None:
        """The turn ended, or the answer was abandoned."""
        self._threads.clear()

    def so_far(self) -> list[bytes]:
        """Stream events that bring a new client up to date."""
        return [line for answer in self._threads.values() for line in answer.so_far()]


class _Answer:
    """One message: its start, and the block that is not complete yet."""

    def __init__(self, start: bytes) -> None:
        self._lines = [start]
        self._delta_type = ""
        self._texts: list[str] = []
        self._template = b""

    def take(self, kind: str, delta: Delta | None, raw: bytes) -> None:
        delta_type = delta.type if delta is not None else ""
        if kind == "content_block_start":
            self._settle()
            self._lines = [self._lines[0], raw]  # a complete block is persisted as a separate line
        elif kind == "content_block_delta" and delta_type in _FIELDS:
            if self._delta_type != delta_type:
                self._settle()
                self._delta_type, self._template = delta_type, raw
            self._texts.append(getattr(delta, _FIELDS[delta_type]))
        else:
            self._settle()
            self._lines.append(raw)

    def finish_block(self) -> None:
        self._lines, self._delta_type, self._texts = self._lines[:1], "", []

    def so_far(self) -> list[bytes]:
        self._settle()
        return list(self._lines)

    def _settle(self) -> None:
        """Turn the collected deltas into one line, or several if the text is long."""
        if not self._delta_type:
            return
        field = _FIELDS[self._delta_type]
        line: dict[str, Any] = msgspec.json.decode(self._template)
        text = "".join(self._texts)
        for start in range(0, len(text), MOST_CHARACTERS):
            line["event"]["delta"][field] = text[start : start + MOST_CHARACTERS]
            self._lines.append(msgspec.json.encode(line))
        self._delta_type, self._texts = "", []
