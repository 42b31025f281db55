"""A server that lives in the host. In: the host's way to take a message and give the answer. Out: a Channel.

A message that has been handed over is never taken back: the server is told of a cancelled call by a message of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from handrail.agent.errors import McpError
from handrail.agent.mcp.rpc import INTERNAL_ERROR, JsonObject, Lost, Receive, refused

__all__ = ["SdkChannel", "SendToHost"]

SendToHost = Callable[[str, JsonObject], Awaitable[Any]]


class SdkChannel:
    """The host's server of this name."""

    def __init__(self, name: str, send: SendToHost) -> None:
        self._name, self._hand_over = name, send
        self._receive: Receive | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, receive: Receive, lost: Lost) -> None:
        self._receive = receive

    async def send(self, message: JsonObject) -> None:
        """Requests are answered later, by `receive`; of anything else the host confirms that it took it."""
        task = asyncio.create_task(self._exchange(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if "method" not in message or "id" not in message:
            await asyncio.shield(task)

    async def close(self) -> None:
        tasks, self._receive = [*self._tasks], None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _exchange(self, message: JsonObject) -> None:
        is_request = "method" in message and "id" in message
        try:
            answer = await self._hand_over(self._name, message)
        except Exception as error:
            text = str(error) or type(error).__name__
            if not is_request:
                raise McpError(text) from None
            answer = refused(message["id"], INTERNAL_ERROR, text)
        if not is_request or self._receive is None:
            return
        if not isinstance(answer, dict) or not ("result" in answer or "error" in answer):
            answer = refused(message["id"], INTERNAL_ERROR, "the host's answer is no answer to a request")
        self._receive({**answer, "id": message["id"]})
