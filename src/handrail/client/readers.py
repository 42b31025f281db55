"""The readers of a session, each with its own inbox.

Any number of readers may follow; none delays another, and a reader that is garbage collected stops collecting.
"""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Generic, Protocol, Self, TypeVar

from handrail.client.inbox import Inbox, Item, Views
from handrail.client.turn import Turn
from handrail.connection.connection import Direction
from handrail.protocol import Frame
from handrail.schema.message_view import MessageView
from handrail.schema.stream_events import StreamEvent

__all__ = ["Channel", "ConversationReader", "FrameReader", "MessageReader", "Readers", "TurnReader"]


class _CanEnd(Protocol):
    def end(self) -> None: ...


T = TypeVar("T")
E = TypeVar("E", bound=_CanEnd)


class MessageReader:
    """The messages from now on, typed."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    @property
    def dropped(self) -> int:
        """Number of partial messages dropped because this reader was slow."""
        return self._inbox.dropped

    def __aiter__(self) -> AsyncIterator[MessageView]:
        return Views(self._inbox, self)

    async def __anext__(self) -> MessageView:
        return await anext(Views(self._inbox, self))

    async def aclose(self) -> None:
        """Stop following."""
        self._inbox.discard()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class ConversationReader:
    """Messages and the CLI's own requests in the order in which the CLI wrote them, undecoded and in batches.

    A callback runs as soon as its request arrives; this reader shows where between the messages that was.
    """

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    async def batch(self) -> list[Item]:
        """Everything that has arrived, at least one item; empty at the end."""
        first = await self._inbox.get()
        return [] if first is None else [first, *self._inbox.drain()]

    async def undecoded(self) -> list[Item | bytes | StreamEvent]:
        """The same as `batch`, with most stream events as their lines, which costs less."""
        return await self._inbox.take_all()


class Channel(Generic[T]):
    """An unbounded queue that can end."""

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._changed = asyncio.Event()
        self._ended = False
        self._take: Callable[[T], None] | None = None

    def put(self, item: T) -> None:
        """Add an item. Never waits."""
        if self._take is not None:
            self._take(item)
        elif not self._ended:
            self._items.append(item)
            self._changed.set()

    def forward(self, take: Callable[[T], None]) -> None:
        """Call `take` with each item, the queued ones now and others as they are put. `get` returns none of them."""
        while self._items:
            take(self._items.popleft())
        self._take = take

    def end(self) -> None:
        """End the queue."""
        self._ended = True
        self._changed.set()

    def discard(self) -> None:
        """Drop everything, now and later, because the reader has left."""
        self._items.clear()
        self._take = None
        self.end()

    async def get(self) -> T:
        """Wait for the next item. Raises StopAsyncIteration at the end."""
        while not self._items:
            if self._ended:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._items.popleft()


class _ChannelReader(Generic[T]):
    def __init__(self, channel: Channel[T]) -> None:
        self._channel = channel

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        return await self._channel.get()

    async def aclose(self) -> None:
        """Stop following."""
        self._channel.discard()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class FrameReader(_ChannelReader[tuple[Direction, Frame]]):
    """Every raw frame, malformed lines included, as ("in" to the CLI | "out" from it, frame)."""

    def forward(self, take: Callable[[Direction, Frame], None]) -> None:
        """Call `take` with each frame from the first unread one on, without a task, for as long as this reader lives.

        It is called while the line is being delivered, so it must be quick and must not raise.
        """
        self._channel.forward(lambda item: take(*item))


class TurnReader(_ChannelReader[Turn]):
    """Every turn as it begins, those that the CLI starts by itself included."""


class Readers(Generic[E]):
    """The inboxes of all readers. A garbage-collected reader is removed; one added after the end ends at once."""

    def __init__(self) -> None:
        self.inboxes: list[E] = []
        self._ended = False

    def follow(self, reader: object, inbox: E) -> None:
        """Deliver to `inbox` from now on, for as long as `reader` is referenced."""
        self.inboxes.append(inbox)
        weakref.finalize(reader, self._forget, inbox)
        if self._ended:
            inbox.end()

    def end(self) -> None:
        """End all inboxes."""
        self._ended = True
        for inbox in self.inboxes:
            inbox.end()

    def _forget(self, inbox: E) -> None:
        self.inboxes = [other for other in self.inboxes if other is not inbox]
