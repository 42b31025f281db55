"""The event loop of the caller, asyncio or trio.

A session of Handrail runs on asyncio. With asyncio it runs in the loop of the caller. With trio it runs in a loop of
its own in another thread, and everything of the caller (callbacks, prompts, transports) runs in the caller's trio loop.

Two sides appear below: the *session side* is always asyncio, the *caller's side* is the loop of the caller.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

__all__ = ["CallerLoop", "caller_loop"]

T = TypeVar("T")
AsyncFunction = Callable[..., Awaitable[Any]]

log = logging.getLogger("handrail.claude_agent_sdk")


class CallerLoop(ABC):
    """How the two sides call each other."""

    is_session_side = False
    """Whether both sides are the same loop."""

    @abstractmethod
    async def run(self, function: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
        """Called on the caller's side: run a coroutine function on the session side."""

    @abstractmethod
    async def call(self, function: AsyncFunction, *arguments: Any) -> Any:
        """Called on the session side: run an async function on the caller's side."""

    @abstractmethod
    def call_soon(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Called on the session side: call a plain function on the caller's side, without waiting for it."""

    @abstractmethod
    def spawn(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Called on either side: start a task on the caller's side, which `finish` cancels. Failures are logged."""

    @abstractmethod
    async def finish(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Called on the caller's side: run the last function on the session side, then release everything."""


def caller_loop() -> CallerLoop:
    """The loop that runs now. Trio is asked only if the program has imported it."""
    trio = sys.modules.get("trio")
    if trio is not None:
        try:
            return _TrioLoop(trio)
        except RuntimeError:  # no trio loop runs in this thread
            pass
    return _AsyncioLoop()


class _AsyncioLoop(CallerLoop):
    """Both sides are the same."""

    is_session_side = True

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, function: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
        return await function(*arguments)

    async def call(self, function: AsyncFunction, *arguments: Any) -> Any:
        return await function(*arguments)

    def call_soon(self, function: Callable[..., Any], *arguments: Any) -> None:
        function(*arguments)

    def spawn(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = asyncio.create_task(_logged(function))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await function()
        finally:
            await self._cancel()

    async def _cancel(self) -> None:
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _TrioLoop(CallerLoop):
    """The session side is a loop in a thread that starts with the first call. Raises RuntimeError outside of trio."""

    def __init__(self, trio: Any) -> None:
        self._trio = trio
        self._token = trio.lowlevel.current_trio_token()
        self._context = contextvars.copy_context()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._scopes: set[Any] = set()

    async def run(self, function: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
        future = asyncio.run_coroutine_threadsafe(function(*arguments), self._started())
        done = self._trio.Event()
        future.add_done_callback(lambda _: self._soon(done.set))
        try:
            await done.wait()
        except self._trio.Cancelled:
            future.cancel()
            raise
        return future.result()

    async def call(self, function: AsyncFunction, *arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Any] = loop.create_future()
        scope = self._trio.CancelScope()

        def settle(value: Any, error: Exception | None) -> None:
            if not outcome.done():
                outcome.set_result(value) if error is None else outcome.set_exception(error)

        async def run() -> None:
            value, error = None, RuntimeError("the trio loop of the caller ended")
            try:
                with scope:
                    try:
                        value, error = await function(*arguments), None
                    except Exception as raised:
                        error = raised
            finally:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(settle, value, error)

        self._soon(partial(self._trio.lowlevel.spawn_system_task, run, context=self._context))
        try:
            return await outcome
        except asyncio.CancelledError:
            self._soon(scope.cancel)
            raise

    def call_soon(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._soon(partial(_logged_call, function, *arguments))

    def spawn(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        scope = self._trio.CancelScope()
        self._scopes.add(scope)

        async def run() -> None:
            with scope:
                await _logged(function)
            self._scopes.discard(scope)

        self._soon(partial(self._trio.lowlevel.spawn_system_task, run, context=self._context))

    async def finish(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        with self._trio.CancelScope(shield=True):
            try:
                await self.run(function)
            finally:
                for scope in self._scopes:
                    scope.cancel()
                loop, self._loop = self._loop, None
                if loop is not None and self._thread is not None:
                    loop.call_soon_threadsafe(loop.stop)
                    await self._trio.to_thread.run_sync(self._thread.join)

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=_run, args=(self._loop,), name="handrail", daemon=True)
            self._thread.start()
        return self._loop

    def _soon(self, function: Callable[[], Any]) -> None:
        try:
            self._token.run_sync_soon(function)
        except self._trio.RunFinishedError:
            log.debug("the trio loop of the caller has ended")


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(_wind_up())
    finally:
        loop.close()


async def _wind_up() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


async def _logged(function: Callable[[], Coroutine[Any, Any, None]]) -> None:
    try:
        await function()
    except Exception:
        log.exception("a task of the session failed")


def _logged_call(function: Callable[..., Any], *arguments: Any) -> None:
    """Trio ends the program if a function of `run_sync_soon` raises."""
    try:
        function(*arguments)
    except Exception:
        log.exception("a callback failed")
