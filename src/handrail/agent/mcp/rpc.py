"""JSON-RPC with one MCP server, in both directions, over a Channel.

A bad message of the server fails at most the request that it answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, NamedTuple, Protocol, cast

from handrail.agent.errors import McpError
from handrail.agent.mcp.content import clean

__all__ = ["PROTOCOL", "Channel", "Failed", "McpTimeout", "MethodMissing", "NeedsAuth", "RpcClient", "refused"]

JsonObject = dict[str, Any]
Receive = Callable[["JsonObject | Failed"], None]
Lost = Callable[[str], None]
Answer = Callable[[str, JsonObject], Awaitable[JsonObject]]

PROTOCOL: Final = "2025-11-25"
"""The protocol version that the agent asks for."""
METHOD_NOT_FOUND: Final = -32601
INTERNAL_ERROR: Final = -32603
MOST_AT_ONCE: Final = 16
"""Requests of a server that are served at the same time."""
NOTICE_LIMIT: Final = 10.0
"""Seconds for delivering a cancellation to a server."""


class McpTimeout(McpError):
    """The server did not answer in time."""


class MethodMissing(McpError):
    """The server does not have the method."""


class NeedsAuth(McpError):
    """The server answered 401: it requires a sign-in, or another one."""


class Failed(NamedTuple):
    """An error in place of an answer. Without `request` it fails all pending requests."""

    error: McpError
    request: int | None = None


class Channel(Protocol):
    """A way to one server. `receive` is called with each message, `lost` once when no more will come."""

    async def open(self, receive: Receive, lost: Lost) -> None: ...

    async def send(self, message: JsonObject) -> None: ...

    async def close(self) -> None: ...


def refused(request_id: Any, code: int, text: str) -> JsonObject:
    """A JSON-RPC error answer."""
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}


class RpcClient:
    """Our end. `answer` serves requests of the server, `noticed` its notifications; `lost` reports the end."""

    def __init__(self, channel: Channel, answer: Answer, noticed: Callable[[str], None], lost: Lost) -> None:
        self.channel, self._answer, self._noticed, self._report_lost = channel, answer, noticed, lost
        self._next = 0
        self._open: dict[int, asyncio.Future[JsonObject]] = {}
        self._asked: dict[Any, asyncio.Task[None]] = {}
        self._notices: set[asyncio.Task[None]] = set()
        self._closed = ""

    @property
    def is_closed(self) -> bool:
        """Whether the server is gone, so that no request can be answered."""
        return bool(self._closed)

    async def open(self) -> None:
        """Open the channel. Raises McpError or OSError."""
        await self.channel.open(self.receive, self._lost)

    async def close(self) -> None:
        """Close the channel. Pending requests fail; requests of the server are dropped."""
        if self._notices:  # a cancellation that is still being delivered
            await asyncio.wait(set(self._notices), timeout=0.2)
        self._fail_all("the connection was closed")
        tasks = [*self._asked.values(), *self._notices]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.channel.close()

    async def request(self, method: str, params: JsonObject | None = None, *, limit: float) -> JsonObject:
        """Send a request and wait at most `limit` seconds for its result. Raises McpError."""
        if self._closed:
            raise McpError(self._closed)
        number, self._next = self._next, self._next + 1
        answer = self._open[number] = asyncio.get_running_loop().create_future()
        if method == "tools/call" and params is not None:
            params = {**params, "_meta": {**params.get("_meta", {}), "progressToken": number}}
        given = {} if params is None else {"params": params}
        try:
            async with asyncio.timeout(limit):
                await self.channel.send({"method": method, **given, "jsonrpc": "2.0", "id": number})
                return await answer
        except TimeoutError:
            self._drop(method, number, "no answer in time")
            raise McpTimeout(f"no answer to {method} within {limit:g} seconds") from None
        except asyncio.CancelledError:
            self._drop(method, number, "cancelled by the user")
            raise
        finally:
            del self._open[number]
            answer.cancel()

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """Send a notification."""
        await self.channel.send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    def _drop(self, method: str, number: int, reason: str) -> None:
        if method != "initialize" and not self._closed:  # the handshake cannot be cancelled
            self._later(self.notify("notifications/cancelled", {"requestId": number, "reason": reason}))

    def _later(self, doing: Coroutine[Any, Any, None]) -> None:
        async def bounded() -> None:
            try:
                async with asyncio.timeout(NOTICE_LIMIT):
                    await doing
            except (TimeoutError, McpError, OSError):
                pass  # the request was cancelled; no one waits

        task = asyncio.create_task(bounded())
        self._notices.add(task)
        task.add_done_callback(self._notices.discard)

    def receive(self, message: JsonObject | Failed) -> None:
        """Take a message of the server, or the channel's error in place of one."""
        if isinstance(message, Failed):
            self._fail(message.error, [*self._open] if message.request is None else [message.request])
            return
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str):
            raw = message.get("params")
            params = cast("JsonObject", raw) if isinstance(raw, dict) else {}
            if number is None:
                self._notified(method, params)
            elif isinstance(number, (int, str)):
                self._asked_for(number, method, params)
            return
        waiting = self._open.get(number) if isinstance(number, int) else None
        if waiting is None or waiting.done():
            return  # an unknown id, or a duplicate answer
        result, error = message.get("result"), message.get("error")
        if isinstance(result, dict):
            waiting.set_result(cast("JsonObject", result))
        else:
            missing = isinstance(error, dict) and cast("JsonObject", error).get("code") == METHOD_NOT_FOUND
            waiting.set_exception((MethodMissing if missing else McpError)(_error_text(error)))

    def _fail(self, error: McpError, numbers: list[int]) -> None:
        for waiting in map(self._open.get, numbers):
            if waiting is not None and not waiting.done():
                waiting.set_exception(error)

    def _notified(self, method: str, params: JsonObject) -> None:
        if method == "notifications/cancelled":
            task = self._asked.get(params.get("requestId"))
            if task is not None:
                task.cancel()
        else:
            self._noticed(method)

    def _asked_for(self, number: int | str, method: str, params: JsonObject) -> None:
        if number in self._asked or len(self._asked) >= MOST_AT_ONCE:
            self._later(self.channel.send(refused(number, INTERNAL_ERROR, "too many requests at once")))
            return
        task = self._asked[number] = asyncio.create_task(self._serve(number, method, params))
        task.add_done_callback(lambda _: self._asked.pop(number, None))

    async def _serve(self, number: int | str, method: str, params: JsonObject) -> None:
        try:
            answer = {"jsonrpc": "2.0", "id": number, "result": await self._answer(method, params)}
        except NotImplementedError:
            answer = refused(number, METHOD_NOT_FOUND, f"method not supported: {method[:80]}")
        except Exception as error:
            answer = refused(number, INTERNAL_ERROR, str(error) or type(error).__name__)
        self._later(self.channel.send(answer))

    def _lost(self, reason: str) -> None:
        if not self._closed:
            self._fail_all(reason)
            self._report_lost(reason)

    def _fail_all(self, reason: str) -> None:
        self._closed = self._closed or reason
        self._fail(McpError(reason), [*self._open])


def _error_text(error: Any) -> str:
    if not isinstance(error, dict):
        return "the server answered with neither a result nor an error"
    text = clean(cast("JsonObject", error).get("message"), 4000)
    return text or f"the server refused with code {str(cast('JsonObject', error).get('code'))[:20]}"
