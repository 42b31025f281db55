"""The SDK without async: the same options, turns and answers as plain calls and loops.

    with handrail.blocking.Session(handrail.Options(cwd="…")) as session:
        turn = session.send("Fix the failing test")
        for message in turn: ...
        print(turn.result.text)

A session runs its event loop in a separate thread; its methods may be called from any thread. Callbacks (permissions,
hooks, tools) that are plain functions run in worker threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Self, TypeVar

from handrail.client import session as asynchronous
from handrail.client.inbox import Policy
from handrail.client.options import Options
from handrail.client.prompts import Image, Prompt
from handrail.client.turn import Turn as AsyncTurn
from handrail.client.turn import TurnResult
from handrail.connection.connection import Direction
from handrail.protocol import Frame
from handrail.schema.message_view import MessageView
from handrail.transport.base import Ending, Transport

__all__ = ["Session", "Turn", "query"]

T = TypeVar("T")


class _Loop:
    """An event loop in a separate thread."""

    def __init__(self) -> None:
        self._stopped = False
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="handrail", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and wait for it; an interrupted wait cancels it.

        After the loop has stopped, coroutines that need not wait still return their value.
        """
        future = self._submit(coroutine)
        if future is None:
            return _without_waiting(coroutine)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T] | None:
        if threading.current_thread() is self._thread:  # it would deadlock
            coroutine.close()
            raise RuntimeError("an async callback cannot use a blocking session; make the callback a plain function")
        with self._lock:
            return None if self._stopped else asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def each(self, pull: Callable[[], Coroutine[Any, Any, T]]) -> Iterator[T]:
        """Yield from `pull` until StopAsyncIteration."""
        with contextlib.suppress(StopAsyncIteration):
            while True:
                yield self.run(pull())

    def stop(self) -> None:
        """Stop the loop and its thread; pending calls get CancelledError."""
        with self._lock:
            stopped, self._stopped = self._stopped, True
        if not stopped:
            asyncio.run_coroutine_threadsafe(self._wind_up(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _wind_up(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._loop.shutdown_asyncgens()


def _without_waiting(coroutine: Coroutine[Any, Any, T]) -> T:
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise RuntimeError("the session has been closed")


class Turn:
    """One turn: iterate it, or wait for its result."""

    def __init__(self, loop: _Loop, turn: AsyncTurn) -> None:
        self._loop, self._turn = loop, turn

    @property
    def uuid(self) -> str:
        """The uuid of its prompt."""
        return self._turn.uuid

    @property
    def from_cli(self) -> bool:
        """Whether the CLI started it by itself."""
        return self._turn.from_cli

    @property
    def state(self) -> str:
        """sent, running, ended, cancelled or lost."""
        return self._turn.state

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._turn.done

    @property
    def result(self) -> TurnResult:
        """How it ended."""
        return self._turn.result

    def wait(self) -> TurnResult:
        """Wait for the result."""
        return self._loop.run(self._turn.wait())

    def cancel(self) -> bool:
        """Cancel the message while it is queued. Returns whether that was in time."""
        return self._loop.run(self._turn.cancel())

    def text(self) -> Iterator[str]:
        """The text as it is written."""
        pieces = self._turn.text()

        async def pull() -> str:
            return await anext(pieces)

        return self._loop.each(pull)

    def __iter__(self) -> Iterator[MessageView]:
        return self._loop.each(self._turn.__anext__)


class Session:
    """A conversation. Use it with `with`. All control requests of the async session are available by name."""

    def __init__(self, options: Options | None = None, *, transport: Transport | None = None) -> None:
        self._options, self._transport = options, transport
        self._loop: _Loop | None = None
        self._session: asynchronous.Session | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the CLI and wait for the handshake."""
        if self._loop is not None or self._session is not None:
            raise RuntimeError("a session is started once; make a new one, with resume= to go on")
        self._loop = _Loop()
        try:
            self._session = self._loop.run(self._make())
        except BaseException:
            self._loop.stop()
            self._loop = None
            raise

    async def _make(self) -> asynchronous.Session:
        session = asynchronous.Session(self._options, transport=self._transport)
        await session.start()
        return session

    def close(self) -> Ending:
        """End the session and its thread."""
        loop, self._loop = self._loop, None
        if loop is not None and self._session is not None:
            try:
                loop.run(self._session.close())
            finally:
                loop.stop()
        return (self._session.ending if self._session is not None else None) or Ending()

    def send(self, prompt: Prompt, *, images: Sequence[Image] = (), **fields: Any) -> Turn:
        """Send a prompt and return its turn."""
        loop, session = self._running()
        return Turn(loop, loop.run(session.send(prompt, images=images, **fields)))

    def messages(self, *, limit: int | None = None, policy: Policy | None = None) -> Iterator[MessageView]:
        """The messages from now on."""
        loop, session = self._running()

        async def follow() -> Any:
            return session.messages(limit=limit, policy=policy)

        return loop.each(loop.run(follow()).__anext__)

    def frames(self) -> Iterator[tuple[Direction, Frame]]:
        """Every frame from now on, both directions."""
        loop, session = self._running()

        async def follow() -> Any:
            return session.frames()

        return loop.each(loop.run(follow()).__anext__)

    def turns(self) -> Iterator[Turn]:
        """Every turn that begins from now on, including those that the CLI starts."""
        loop, session = self._running()

        async def follow() -> Any:
            return session.turns()

        return (Turn(loop, turn) for turn in loop.each(loop.run(follow()).__anext__))

    def _running(self) -> tuple[_Loop, asynchronous.Session]:
        if self._loop is None or self._session is None:
            raise RuntimeError("the session is not running; use `with Session(…)`")
        return self._loop, self._session

    def __getattr__(self, name: str) -> Any:
        """Forward to the async session; coroutine functions become blocking calls."""
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._session or self._running()[1], name)
        if not inspect.iscoroutinefunction(value):
            return value

        def call(*arguments: Any, **keywords: Any) -> Any:
            return self._running()[0].run(value(*arguments, **keywords))

        return call


def query(prompt: Prompt, options: Options | None = None, *, images: Sequence[Image] = ()) -> Iterator[MessageView]:
    """Send one prompt and yield its messages, the result last."""
    with Session(options) as session:
        yield from session.send(prompt, images=images)
