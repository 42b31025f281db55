"""JSON-RPC 2.0 over a transport of lines, in both directions.

A line that is not JSON-RPC is answered with an error where the protocol allows one, and the connection stays open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeGuard, cast

import msgspec

from handrail.errors import PeerError
from handrail.protocol.frames import BadLine
from handrail.protocol.lines import DEFAULT_LIMIT, LineSplitter
from handrail.transport.base import Transport, TransportClosed

__all__ = [
    "CONNECTION_ENDED",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "METHOD_NOT_FOUND",
    "NOT_FOUND",
    "RpcError",
    "RpcPeer",
]

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
CANCELLED: Final = -32800
CONNECTION_ENDED: Final = -32099
"""Never sent: the other side ended before it answered."""
NOT_FOUND: Final = -32002
MOST_AT_ONCE: Final = 256
"""Requests of the other side that are served at the same time; more are refused."""
CANCEL: Final = "$/cancel_request"

Answer = Callable[[str, Any], Awaitable[Any]]
Notice = Callable[[str, Any], None]
Damaged = Callable[[str, bytes], None]


class RpcError(PeerError):
    """An error answer, in either direction."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data


class RpcPeer:
    """One end of a connection. `answer` serves requests, `noticed` takes notifications.

    Results and parameters may be plain data or msgspec structs. `pause` is awaited between reads, so that a backlog of
    notifications can hold back the other side. `damaged` is called with the reason and the line, for each line that is
    not JSON-RPC or exceeds `longest_line` bytes: the other side may ignore the error, and its content is lost.
    """

    def __init__(
        self,
        transport: Transport,
        answer: Answer,
        noticed: Notice,
        pause: Callable[[], Awaitable[None]] | None = None,
        damaged: Damaged | None = None,
        longest_line: int = DEFAULT_LIMIT,
    ) -> None:
        self._transport, self._answer, self._noticed = transport, answer, noticed
        self._pause, self._damaged, self._longest_line = pause, damaged, longest_line
        self._encode = msgspec.json.Encoder().encode
        self._next = 0
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._serving: dict[Any, asyncio.Task[None]] = {}
        self._refusals: list[dict[str, Any]] = []
        self._ended = False

    async def run(self) -> None:
        """Read until the other side ends. Requests that it has not answered fail then, and its own are dropped."""
        splitter = LineSplitter(self._longest_line)
        try:
            while data := await self._transport.receive():
                for line in splitter.feed(data):
                    self._take(line)
                # Before the next read: refusals that the other side does not read must not pile up.
                refusals, self._refusals = self._refusals, []
                for refusal in refusals:
                    await self._send(refusal)
                if self._pause is not None:
                    await self._pause()
        finally:
            self._ended = True
            for waiting in self._pending.values():
                if not waiting.done():
                    waiting.set_exception(RpcError(CONNECTION_ENDED, "the connection has ended"))
            tasks = list(self._serving.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def request(self, method: str, params: Any) -> Any:
        """Send a request and wait for its result. Raises RpcError. If the caller is cancelled, so is the request."""
        if self._ended:
            raise RpcError(CONNECTION_ENDED, "the connection has ended")
        number, self._next = self._next, self._next + 1
        waiting = self._pending[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return await waiting
        except asyncio.CancelledError:
            asyncio.ensure_future(self.notify(CANCEL, {"requestId": number}))  # noqa: RUF006 - it ends by itself
            raise
        finally:
            del self._pending[number]

    async def notify(self, method: str, params: Any) -> None:
        """Send a notification. Nothing happens if the other side has ended."""
        await self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def _send(self, message: Any) -> None:
        try:
            await self._transport.send(self._encode(message) + b"\n")
        except TransportClosed:
            return  # `run` ends too, and fails what waits for an answer

    def _take(self, line: bytes | BadLine) -> None:
        if not isinstance(line, bytes):
            self._refuse_line(line.raw, PARSE_ERROR, line.reason)
            return
        try:
            message = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._refuse_line(line, PARSE_ERROR, "the line is not JSON")
            return
        if not isinstance(message, dict):
            self._refuse_line(line, INVALID_REQUEST, "the line is not a JSON object")
            return
        fields = cast("dict[str, Any]", message)
        method, number = fields.get("method"), fields.get("id")
        if isinstance(method, str):
            self._called(method, fields.get("params"), number, wants_answer="id" in fields)
        elif "result" in fields or "error" in fields:
            # Never refused, even with an id that is not ours: two peers would refuse each other's refusals for ever.
            if _is_number(number):
                self._answered(number, fields)
        else:
            self._refuse_line(line, INVALID_REQUEST, "the line is neither a request nor an answer", number)

    def _called(self, method: str, params: Any, number: Any, *, wants_answer: bool) -> None:
        if method == CANCEL:
            named = cast("dict[str, Any]", params).get("requestId") if isinstance(params, dict) else None
            task = self._serving.get(named) if _is_id(named) else None
            if task is not None:
                task.cancel()
        elif not wants_answer:
            self._noticed(method, params)
        elif not _is_id(number):
            self._refuse(None, INVALID_REQUEST, "the id of a request is a number or a text")
        elif number in self._serving or len(self._serving) >= MOST_AT_ONCE:
            self._refuse(number, INVALID_REQUEST, "too many requests at once, or this id is in use")
        else:
            task = self._serving[number] = asyncio.create_task(self._serve(number, method, params))
            task.add_done_callback(lambda _: self._serving.pop(number, None))

    async def _serve(self, number: int | str, method: str, params: Any) -> None:
        try:
            result = await self._answer(method, params)
        except RpcError as error:
            await self._send(_error(number, error.code, str(error), error.data))
        except asyncio.CancelledError:
            await self._send(_error(number, CANCELLED, "the request was cancelled"))
        except Exception as error:
            await self._send(_error(number, INTERNAL_ERROR, str(error) or type(error).__name__))
        else:
            await self._send({"jsonrpc": "2.0", "id": number, "result": result})

    def _answered(self, number: int, fields: dict[str, Any]) -> None:
        waiting = self._pending.get(number)
        if waiting is None or waiting.done():
            return  # an answer to nothing, or a second one
        error = fields.get("error")
        if error is None:
            waiting.set_result(fields.get("result"))
            return
        told = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
        code = told.get("code")
        text = str(told.get("message") or "no reason was given")
        waiting.set_exception(RpcError(code if isinstance(code, int) else INTERNAL_ERROR, text, told.get("data")))

    def _refuse_line(self, line: bytes, code: int, text: str, number: Any = None) -> None:
        if self._damaged is not None:
            self._damaged(text, line)
        self._refuse(number if _is_id(number) else None, code, text)

    def _refuse(self, number: Any, code: int, text: str) -> None:
        self._refusals.append(_error(number, code, text))


def _is_number(id: Any) -> TypeGuard[int]:
    """Whether an id is a number. True and false are integers in Python, but not in JSON."""
    return isinstance(id, int) and not isinstance(id, bool)


def _is_id(id: Any) -> TypeGuard[int | str]:
    return isinstance(id, str) or _is_number(id)


def _error(number: Any, code: int, message: str, data: Any = None) -> dict[str, Any]:
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return {"jsonrpc": "2.0", "id": number, "error": error}
