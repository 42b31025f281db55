"""The memory of sessions. In: events. Out: the same with a number each, gapless within their session, once durable.

One conformance suite holds for every event log: tests/bridge/event_log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

__all__ = ["Bounds", "Event", "EventLog", "Hit", "NewEvent", "Receipt"]


class NewEvent(Struct, frozen=True):
    """Something that happened. `data` is JSON, as it came where it came from a CLI; `text` is what a search finds."""

    kind: str
    data: bytes
    text: str = ""


class Event(Struct, frozen=True):
    """Something that is on record. `time` is in milliseconds since 1970."""

    seq: int
    time: int
    kind: str
    data: bytes


class Receipt(Struct, frozen=True):
    """What a command was answered. It is kept with the events that the command made: both are there, or neither."""

    command: str
    answer: bytes


class Bounds(Struct, frozen=True):
    """Which events there are: the first is above 1 where old ones were given up; with none, `last` is 0."""

    first: int = 1
    last: int = 0


class Hit(Struct, frozen=True):
    """A place that a search found, with some words around it."""

    session: str
    seq: int
    time: int
    snippet: str


class EventLog(Protocol):
    """Where events are kept."""

    async def append(
        self, session: str, events: Sequence[NewEvent], receipt: Receipt | None = None, *, time: int | None = None
    ) -> list[Event]:
        """Write down what happened. Out: the events with their numbers, after they are durable."""
        ...

    async def read(self, session: str, after: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        """The events after a number, in order: at most so many and, but for the first, so many bytes."""
        ...

    async def read_back(self, session: str, before: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        """The newest events before a number, in order: at most so many and, but for the last, so many bytes."""
        ...

    async def bounds(self, session: str) -> Bounds:
        """Which events of a session there are."""
        ...

    async def receipt(self, command: str) -> bytes | None:
        """What a command was answered, if it was."""
        ...

    async def search(self, words: str, *, limit: int = 50, session: str | None = None) -> list[Hit]:
        """Where these words stand, newest first. All must be there, each as the beginning of a word."""
        ...

    async def forget(self, session: str, *, through: int | None = None) -> None:
        """Give up a session's events, all or those through a number. Numbers are never used again."""
        ...

    async def size(self, session: str) -> int:
        """How many bytes a session's events have."""
        ...

    async def close(self) -> None:
        """Finish writing."""
        ...
