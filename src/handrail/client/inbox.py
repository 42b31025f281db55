"""The unread messages of one reader, in order and bounded in memory.

`put` never waits, so a slow reader delays no one. The policy decides what happens above `limit` unread bytes:

    spill          the rest is written to a temporary file and read back in order: nothing is lost (the default)
    drop_partials  stream events are dropped and counted; whole messages are kept
    fail           the reader gets InboxFull
"""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import IO, Literal

from handrail.client.errors import InboxFull
from handrail.protocol import CancelRequest, LineSplitter, Message, Request, decode
from handrail.schema.message_view import MessageView
from handrail.schema.messages import read_message, read_partial
from handrail.schema.stream_events import StreamEvent

__all__ = ["DEFAULT_LIMIT", "Inbox", "Item", "Policy", "Views"]

Item = Message | Request | CancelRequest
"""An item of an inbox: a message, or for readers that follow both, a request of the CLI."""

Policy = Literal["spill", "drop_partials", "fail"]
DEFAULT_LIMIT = 8 * 1024 * 1024
"""Unread bytes that one reader may have in memory."""
CHUNK = 256 * 1024
FEW = 2000
"""Messages that may wait as views."""


class Inbox:
    """The queue of one reader. Only one task may read at a time."""

    def __init__(self, *, limit: int = DEFAULT_LIMIT, policy: Policy = "spill") -> None:
        self.dropped = 0
        self._limit = limit
        self._policy: Policy = policy
        self.queue: deque[Item | bytes | StreamEvent] = deque()
        """Items in memory, oldest first. Stream events may be lines or views. A reader may pop from the left."""
        self._size = 0
        self._spilled: _SpillFile | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False
        self._error: BaseException | None = None

    def put(self, messages: Sequence[Item]) -> None:
        """Add messages. Never waits."""
        if self._ended:
            return
        if self._spilled is not None or self._is_full():
            for message in messages:
                self._overflow(message)
        else:
            self.queue.extend(messages)
            self._size += _size(messages)
        if self._waiter is not None:
            self._wake()

    @property
    def is_read_at_once(self) -> bool:
        """Whether the reader keeps up, so that few messages wait."""
        return len(self.queue) < FEW and self._spilled is None and not self._ended

    def put_partials(self, lines: list[bytes], views: list[StreamEvent] | None = None) -> None:
        """Add stream events by their lines, or by their views, which take several times the memory. Never waits."""
        if self._ended or self._spilled is not None or self._is_full():
            self.put([Message(line, "stream_event") for line in lines])
            return
        self.queue.extend(lines if views is None else views)
        self._size += sum(map(len, lines))
        if self._waiter is not None:
            self._wake()

    def end(self, error: BaseException | None = None) -> None:
        """End the inbox; the reader gets `error` after the messages that are left."""
        if not self._ended:
            self._ended, self._error = True, error
            self._wake()

    def discard(self) -> None:
        """Drop everything, now and later, because the reader has left."""
        self.queue.clear()
        self._size = 0
        if self._spilled is not None:
            self._spilled.close()
            self._spilled = None
        self.end()

    def drain(self) -> list[Item]:
        """Take everything in memory."""
        taken = [_as_frame(item) for item in self.queue]
        self.queue.clear()
        return taken

    async def take_all(self) -> list[Item | bytes | StreamEvent]:
        """Everything in memory as it was put, as soon as there is something; empty at the end."""
        first = await self.next()
        if first is None:
            return []
        taken = [first, *self.queue]
        self.queue.clear()
        return taken

    async def get(self) -> Item | None:
        """The next message, as soon as there is one; None at the end."""
        item = await self.next()
        return None if item is None else _as_frame(item)

    async def next(self) -> Item | bytes | StreamEvent | None:
        """The same as `get`, with stream events as they were put."""
        while not self.queue:
            if self._spilled is not None:
                self._refill()
            elif self._ended:
                if self._error is not None:
                    raise self._error
                return None
            elif self._waiter is not None and not self._waiter.done():
                raise RuntimeError("another task waits for the next message; each needs its own session.messages()")
            else:
                self._waiter = asyncio.get_running_loop().create_future()
                await self._waiter
        return self.queue.popleft()

    def _is_full(self) -> bool:
        """Reads do not update the size, to keep them cheap, so recount before calling it full."""
        if self._size > self._limit:
            self._size = _size(self.queue)
        return self._size > self._limit

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _overflow(self, message: Item) -> None:
        if self._policy == "fail":
            self.end(InboxFull(self._limit))
        elif self._policy == "drop_partials" and isinstance(message, Message) and message.type == "stream_event":
            self.dropped += 1
        elif self._policy == "drop_partials":
            self.queue.append(message)
            self._size += len(message.raw)
        elif not self._ended:
            if self._spilled is None:
                self._spilled = _SpillFile()
            self._spilled.append(message)
            if self._spilled.failure:  # raised after the messages stored so far
                self.end(InboxFull(self._limit, self._spilled.failure))

    def _refill(self) -> None:
        assert self._spilled
        for message in self._spilled.take():
            self.queue.append(message)
            self._size += len(message.raw)
        if self._spilled.empty:
            self._spilled.close()
            self._spilled = None


def _as_frame(item: Item | bytes | StreamEvent) -> Item:
    if isinstance(item, bytes):
        return Message(item, "stream_event")
    return Message(item.raw, "stream_event") if isinstance(item, StreamEvent) else item


def _size(items: Iterable[Item | bytes | StreamEvent]) -> int:
    return sum([len(item) if isinstance(item, bytes) else len(item.raw) for item in items])


class Views:
    """The messages of an inbox, typed. `reader` is who they belong to: without a reference to it, none would come."""

    def __init__(self, inbox: Inbox, reader: object) -> None:
        self._inbox, self._queue, self._reader = inbox, inbox.queue, reader

    def __aiter__(self) -> AsyncIterator[MessageView]:
        return self

    async def __anext__(self) -> MessageView:
        item = self._queue.popleft() if self._queue else await self._inbox.next()
        if type(item) is StreamEvent:
            return item
        if type(item) is bytes:
            return read_partial(item)
        if not isinstance(item, Message):
            raise StopAsyncIteration
        return read_message(item.type, item.subtype, item.raw)


class _SpillFile:
    """A FIFO of messages in an unnamed file; `failure` is the reason why it accepts no more."""

    def __init__(self) -> None:
        self.failure = ""
        self._file: IO[bytes] | None = None
        self._unwritten: list[bytes] = []
        self._unwritten_size = 0
        self._written = 0
        self._read = 0
        self._splitter = LineSplitter(limit=2**62)

    @property
    def empty(self) -> bool:
        return self._read == self._written and not self._unwritten

    def append(self, message: Item) -> None:
        self._unwritten.append(message.raw + b"\n")
        self._unwritten_size += len(message.raw) + 1
        if self._unwritten_size >= CHUNK:
            self._write()

    def take(self) -> list[Item]:
        if self._file is not None and self._read < self._written:
            self._file.seek(self._read)
            data = self._file.read(CHUNK)
            self._read += len(data)
        else:  # too little to write, or writing failed
            data = b"".join(self._unwritten)
            self._unwritten, self._unwritten_size = [], 0
        frames = (decode(line) for line in self._splitter.feed(data) if isinstance(line, bytes))
        return [frame for frame in frames if isinstance(frame, Message | Request | CancelRequest)]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _write(self) -> None:
        data = b"".join(self._unwritten)
        try:
            file = self._open()
            file.seek(self._written)
            written = 0
            while written < len(data):
                written += file.write(data[written:])
        except OSError as error:  # the disk is full: the rest stays in memory, and no more is accepted
            self.failure = str(error)
            return
        self._written += len(data)
        self._unwritten, self._unwritten_size = [], 0

    def _open(self) -> IO[bytes]:
        if self._file is None:
            import tempfile  # most sessions never need it

            self._file = tempfile.TemporaryFile(prefix="handrail-inbox-", buffering=0)  # noqa: SIM115
            weakref.finalize(self, self._file.close)
        return self._file
