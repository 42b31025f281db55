"""A peer on a transport: delivers messages, waits for answers, and serves the other side's requests.

The reader never blocks: a message is passed on at once, an answer wakes its waiter, and a request gets its own task. So
control requests never wait behind messages, however slowly those are read.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal
from uuid import uuid4

from handrail.connection.errors import ControlRefused, ControlTimeout, Disconnected, NotSupported
from handrail.connection.router import Handler, Reply, Router
from handrail.errors import LocalProtocolError
from handrail.protocol import (
    Answer,
    BadLine,
    CancelRequest,
    Failure,
    Frame,
    LineSplitter,
    Message,
    Peer,
    Request,
    Success,
    decode,
)
from handrail.protocol.lines import DEFAULT_LIMIT
from handrail.protocol.peer import Answered, Asked, Withdrawn
from handrail.transport.base import Ending, Transport, TransportClosed

__all__ = ["Connection", "Direction"]

PROMPTLY = 0.2
"""Seconds that handlers may take to finish before `on_end` is called."""

log = logging.getLogger("handrail.connection")

READER_GRACE = 6.0
"""Seconds that the reader may take to read a closed transport to its end."""

Direction = Literal["in", "out"]
"""From the view of the CLI: `in` is sent to it, `out` comes from it. At the agent's end, `out` is its input."""


class Connection:
    """A running peer. `on_messages` receives messages as they arrive, `on_end` the ending, `tap` every frame.

    `take_partials` is offered the lines of every chunk before they are decoded. It returns whether it took them, which
    it may if all of them are valid stream events.

    `on_request` receives each request of the other side and each withdrawal in order with the messages: after
    `on_messages` had the earlier messages, and before the handler runs.

    `read_line` decodes a line; `on_bad_line` receives malformed ones. With `stays_open` the end of input only stops
    reading: pending requests fail, and this side may keep sending until it is closed. With `lenient` the last line
    needs no newline, and a request with the id of an open one is answered too.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        on_messages: Callable[[list[Message]], None],
        take_partials: Callable[[Sequence[bytes | BadLine]], bool] | None = None,
        handlers: Mapping[str, Handler] | None = None,
        on_end: Callable[[Ending], None] | None = None,
        on_bad_line: Callable[[BadLine], None] | None = None,
        on_request: Callable[[Request | CancelRequest], None] | None = None,
        read_line: Callable[[bytes], Frame] = decode,
        stays_open: bool = False,
        lenient: bool = False,
        line_limit: int = DEFAULT_LIMIT,
    ) -> None:
        self.transport = transport
        self.peer = Peer(uuid4().hex[:8], takes_repeated=lenient)
        self.bad_lines = 0
        self.ending: Ending | None = None
        self.tap: Callable[[Direction, Frame], None] | None = None
        self._on_messages = on_messages
        self._take_partials = take_partials
        self._on_end = on_end
        self._on_bad_line = on_bad_line
        self._on_request = on_request
        self._read_line = read_line
        self._stays_open = stays_open
        self._lenient = lenient
        self._deaf = False
        self._splitter = LineSplitter(line_limit)
        self._router = Router({} if handlers is None else handlers, self._answer, self._refuse)
        self._waiting: dict[str, asyncio.Future[Answer]] = {}
        self._reader: asyncio.Task[None] | None = None
        self._posts: set[asyncio.Task[None]] = set()

    def serve(self, handlers: Mapping[str, Handler]) -> None:
        """Answer requests with these handlers from now on."""
        self._router.handlers = handlers

    async def start(self) -> None:
        """Open the transport and begin to read."""
        await self.transport.start()
        self._reader = asyncio.create_task(self._read(), name="handrail reader")

    async def send(self, frame: Frame) -> None:
        """Send a frame. Raises Disconnected if the other side has ended."""
        if self.ending is not None:
            raise Disconnected(self.ending)
        if self.tap is not None:
            self.tap("in", frame)
        try:
            await self.transport.send(frame.raw + b"\n")
        except TransportClosed:
            if self._reader is not None:  # the ending is known a moment later
                await asyncio.wait([self._reader], timeout=2.0)
            raise Disconnected(self.ending or Ending(stderr=self.transport.stderr)) from None

    async def request(
        self, subtype: str, fields: Mapping[str, Any] | None = None, *, timeout: float | None = 60.0
    ) -> Success:
        """Send a control request and return the answer. `timeout` is in seconds. Raises ControlError, Disconnected."""
        if not self.transport.can_control:
            raise NotSupported(subtype)
        if self.ending is not None or self._deaf:
            raise Disconnected(self.ending or Ending(), subtype)
        frame = self.peer.ask(subtype, fields or {})
        future = self._waiting[frame.id] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(timeout):
                await self.send(frame)
                answer = await future
        except TimeoutError:
            raise ControlTimeout(subtype, timeout or 0.0) from None
        finally:
            self._waiting.pop(frame.id, None)
            if (withdrawal := self.peer.cancel(frame.id)) is not None and self.ending is None and not self._deaf:
                self._post(withdrawal)
        if isinstance(answer, Failure):
            raise ControlRefused(subtype, answer.error, answer.code)
        return answer

    def stop_asking(self) -> None:
        """Send no more requests and withdraw none, because this side is about to close."""
        self._deaf = True

    async def closed(self) -> Ending:
        """Wait until the other side has ended, and return its ending."""
        if self._reader is not None:
            await asyncio.wait([self._reader])
        return self.ending or Ending()

    async def close(self) -> Ending:
        """Close the transport, then fail everything pending. Idempotent."""
        try:
            await self._router.close()
        finally:
            try:
                await self.transport.close()
            finally:
                await self._end_reader()
        return await self._finish()

    async def _end_reader(self) -> None:
        if self._reader is not None and not self._reader.done():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._reader), READER_GRACE)
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)

    async def _read(self) -> None:
        receive, feed, take, read = self.transport.receive, self._splitter.feed, self._take, self._read_line
        try:
            while chunk := await receive():
                lines = feed(chunk)
                if self.tap is not None or self._take_partials is None or not self._take_partials(lines):
                    take([read(line) if type(line) is bytes else line for line in lines])  # type: ignore[misc]
            last = self._splitter.finish(ends_line=self._lenient)
            take([read(line) if type(line) is bytes else line for line in last])  # type: ignore[misc]
        except Exception:
            log.exception("reading failed; the connection is closed")
        finally:
            if self._stays_open:
                self._stop_listening()
            else:
                await self._finish()

    def _stop_listening(self) -> None:
        self._deaf = True
        self._fail_waiting(Ending())
        if self._on_end is not None:
            self._on_end(Ending())

    def _fail_waiting(self, ending: Ending) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(Disconnected(ending))
                future.exception()  # marks it as retrieved: the caller may have been cancelled

    def _take(self, frames: list[Frame]) -> None:
        """Deliver the frames of one chunk in order, consecutive messages together."""
        if self.tap is not None:
            for frame in frames:
                self.tap("out", frame)
        messages: list[Message] = []
        for frame in frames:
            if type(frame) is Message:
                messages.append(frame)
                continue
            if messages:
                self._on_messages(messages)
                messages = []
            if type(frame) is BadLine:
                self.bad_lines += 1
                if self._on_bad_line is not None:
                    self._on_bad_line(frame)
                log.warning("bad line of %d bytes: %s", frame.size, frame.reason)  # the bytes may contain secrets
            else:
                self._take_control(frame)
        if messages:
            self._on_messages(messages)

    def _take_control(self, frame: Frame) -> None:
        match self.peer.receive(frame):
            case Asked(request):
                self._report(request)
                self._router.dispatch(request)
            case Answered(id, _, answer):
                if (future := self._waiting.get(id)) is not None and not future.done():
                    future.set_result(answer)
            case Withdrawn(id):
                self._report(frame)
                self._router.withdraw(id)
            case ignored:
                level = logging.WARNING if ignored.odd else logging.DEBUG
                log.log(level, "ignored %s %.80r: %s", type(frame).__name__, getattr(frame, "id", ""), ignored.reason)

    def _report(self, frame: Frame) -> None:
        if self._on_request is not None and isinstance(frame, Request | CancelRequest):
            self._on_request(frame)

    async def _finish(self) -> Ending:
        if self.ending is None:
            self.ending = await self.transport.close()
            self.peer.close()
            self._fail_waiting(self.ending)
            await self._router.close(PROMPTLY)  # callbacks with a pending question are cancelled first
            if self._on_end is not None and not self._deaf:
                self._on_end(self.ending)
        return self.ending

    async def _answer(self, id: str, given: Mapping[str, Any] | Reply | None) -> None:
        payload, beside = (given.payload, given.beside) if isinstance(given, Reply) else (given, None)
        with contextlib.suppress(LocalProtocolError, Disconnected):
            await self.send(self.peer.answer(id, payload, beside))

    async def _refuse(self, id: str, error: str, code: str) -> None:
        with contextlib.suppress(LocalProtocolError, Disconnected):
            await self.send(self.peer.refuse(id, error, code))

    def _post(self, frame: Frame) -> None:
        """Send in the background, ignoring failures."""
        task = asyncio.create_task(self._send_quietly(frame))
        self._posts.add(task)
        task.add_done_callback(self._posts.discard)

    async def _send_quietly(self, frame: Frame) -> None:
        with contextlib.suppress(Disconnected):
            await self.send(frame)
