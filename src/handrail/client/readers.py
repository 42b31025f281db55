"""Who follows a session. In: what the session receives. Out: an iterator each, with an inbox of its own.

Any number of readers may follow; none delays another, and one that is dropped stops collecting.
"""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Generic, Self, TypeVar

from handrail.client.inbox import Inbox
from handrail.client.turn import Turn
from handrail.connection.connection import Direction
from handrail.protocol import Frame
from handrail.schema.message_view import MessageView
from handrail.schema.messages import read_message

__all__ = ["FrameReader", "MessageReader", "Readers", "TurnReader"]

T = TypeVar("T")


class MessageReader:
    """The conversation from now on, typed. `dropped` counts what a policy let go."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    @property
    def dropped(self) -> int:
        """How many partial messages were dropped because this reader was slow."""
        return self._inbox.dropped

    def __aiter__(self) -> AsyncIterator[MessageView]:
        return self

    async def __anext__(self) -> MessageView:
        inbox = self._inbox
        message = inbox.take() if inbox.queue else await inbox.get()
        if message is None:
            raise StopAsyncIteration
        return read_message(message.type, message.subtype, message.raw)

    async def aclose(self) -> None:
        """Stop following."""
        self._inbox.discard()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Channel(Generic[T]):
    """An unbounded queue that can end."""

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._changed = asyncio.Event()
        self._ended = False

    def put(self, item: T) -> None:
        if not self._ended:
            self._items.append(item)
            self._changed.set()

    def end(self) -> None:
        self._ended = True
        self._changed.set()

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        while not self._items:
            if self._ended:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._items.popleft()

    async def aclose(self) -> None:
        """Stop following."""
        self._items.clear()
        self.end()


class FrameReader(_Channel[tuple[Direction, Frame]]):
    """Every frame of both directions as it is, bad lines too: ("in" to the CLI | "out" from it, frame)."""


class TurnReader(_Channel[Turn]):
    """Every turn as it begins, those that the CLI starts by itself included."""


class Readers(Generic[T]):
    """Whom to tell. A reader that nobody holds any more is forgotten."""

    def __init__(self) -> None:
        self.inboxes: list[T] = []

    def follow(self, reader: object, inbox: T) -> None:
        """Tell `inbox` from now on, for as long as `reader` is held by somebody."""
        self.inboxes.append(inbox)
        weakref.finalize(reader, self._forget, inbox)

    def _forget(self, inbox: T) -> None:
        self.inboxes = [other for other in self.inboxes if other is not inbox]

    def each(self, tell: Callable[[T], None]) -> None:
        """Tell them all."""
        for inbox in self.inboxes:
            tell(inbox)
