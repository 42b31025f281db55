"""Serves the requests of the other side: each gets exactly one answer, unless it is withdrawn.

Each request runs in its own task, so a slow handler does not delay others. Errors are turned into answers only here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct

from handrail.errors import PeerError
from handrail.protocol import Request

__all__ = ["Handler", "Refusal", "Reply", "Router"]

log = logging.getLogger("handrail.connection")

CLOSE_GRACE = 5.0
"""Seconds that cancelled handlers may take to finish."""

Payload = Mapping[str, Any] | None


class Reply(Struct, frozen=True):
    """A payload, fields next to it in the answer, and a function to call after the answer is sent."""

    payload: Payload
    beside: Mapping[str, Any] = {}
    then: Callable[[], None] | None = None


Handler = Callable[[Request], Awaitable[Payload | Reply]]


class Refusal(PeerError):
    """Raised by a handler to refuse the request with this text and code."""

    def __init__(self, error: str, code: str = "") -> None:
        self.error, self.code = error, code
        super().__init__(error)


class Router:
    """Runs handlers by subtype. `answer` and `refuse` send the outcome."""

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        answer: Callable[[str, Payload | Reply], Awaitable[None]],
        refuse: Callable[[str, str, str], Awaitable[None]],
    ) -> None:
        self.handlers = handlers
        self._answer = answer
        self._refuse = refuse
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def dispatch(self, request: Request) -> None:
        """Serve a request, without waiting for it."""
        task = asyncio.create_task(self._serve(request), name=f"handrail {request.subtype} {request.id}")
        self._tasks[request.id] = task
        task.add_done_callback(lambda done: self._forget(request.id, done))

    def withdraw(self, id: str) -> None:
        """The other side no longer wants the answer: cancel the handler and send nothing."""
        if (task := self._tasks.pop(id, None)) is not None:
            task.cancel()

    async def close(self, grace: float = CLOSE_GRACE) -> None:
        """Cancel all running handlers and wait for them, at most `grace` seconds: user code may ignore cancellation."""
        tasks = [task for task in self._tasks.values() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            _, stubborn = await asyncio.wait(tasks, timeout=grace)
            for task in stubborn:
                log.warning("%s was cancelled and still runs", task.get_name())
            self._tasks = {id: task for id, task in self._tasks.items() if task not in stubborn}

    def _forget(self, id: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(id) is task:
            del self._tasks[id]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.debug("the answer to %s could not be sent: %s", id, error)

    async def _serve(self, request: Request) -> None:
        handler = self.handlers.get(request.subtype)
        if handler is None:
            log.warning("refused the control request %.80r: it has no handler", request.subtype)
            text = f"Unsupported control request subtype: {request.subtype}"
            return await self._refuse(request.id, text, "unsupported_request")
        try:
            payload = await handler(request)
            if self._is_current(request):
                await self._answer(request.id, payload)
                if isinstance(payload, Reply) and payload.then is not None:
                    payload.then()
        except Refusal as refusal:
            if self._is_current(request):
                await self._refuse(request.id, refusal.error, refusal.code)
        except asyncio.CancelledError as error:
            if _is_cancelled():  # withdrawn or closed: no answer is expected
                raise
            await self._refuse_for(request, error)  # something that the handler awaited was cancelled
        except Exception as error:
            await self._refuse_for(request, error)

    def _is_current(self, request: Request) -> bool:
        """Whether the answer is still wanted. After a withdrawal the id may belong to a newer request."""
        return self._tasks.get(request.id) is asyncio.current_task()

    async def _refuse_for(self, request: Request, error: BaseException) -> None:
        log.error("the handler of %s failed", request.subtype, exc_info=error)
        text = f"{type(error).__name__}: {error}"
        if self._is_current(request):
            await self._refuse(request.id, text.encode(errors="replace").decode(), "")


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
