"""A scripted Messages API on loopback, which records the requests that it receives.

    async with ScriptedMessagesApi(Script.of(text("Hello."))) as api:
        ...                                   # ANTHROPIC_BASE_URL=api.url
        await api.called(1)
        api.main_requests[0].body["messages"]

The API answers at its own URL and, for every `api.session(script)`, at one more that has its own script and requests.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import msgspec

from handrail.agent.models.error_types import STATUS_OF
from handrail.agent.models.player import PlayedReply, Player, Step
from handrail.agent.models.script import Cut, Hang, HttpError, JsonObject, Script, Wait
from handrail.conform.http_exchange import BadRequestError, HttpExchange, HttpRequest

HOST = "127.0.0.1"
SECRET_HEADERS = ("auth", "cookie", "key", "secret", "token")


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request for a message. Secrets in the headers are masked."""

    body: JsonObject
    headers: dict[str, str]
    main: bool

    @property
    def messages(self) -> list[JsonObject]:
        return self.body["messages"]


class _Counter:
    """A counter whose value can be awaited."""

    def __init__(self) -> None:
        self.count = 0
        self._changed = asyncio.Event()

    def add(self) -> None:
        self.count += 1
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def reach(self, count: int) -> None:
        while self.count < count:
            await self._changed.wait()


class Endpoint:
    """One URL with its script and the requests it received."""

    def __init__(self, script: Script | Player) -> None:
        self.url = ""
        self.requests: list[ReceivedRequest] = []
        self._player = script if isinstance(script, Player) else Player(script, label=secrets.token_hex(4))
        self._called, self._hanging, self._dropped = _Counter(), _Counter(), _Counter()
        self._released = asyncio.Semaphore(0)

    @property
    def main_requests(self) -> list[ReceivedRequest]:
        """The requests of the conversation, without helper requests for titles and summaries."""
        return [request for request in self.requests if request.main]

    async def called(self, count: int = 1) -> ReceivedRequest:
        """Wait for the main request with this number, counted from 1."""
        await self._called.reach(count)
        return self.main_requests[count - 1]

    async def hanging(self, count: int = 1) -> None:
        """Wait until replies have reached a `hang` this many times."""
        await self._hanging.reach(count)

    async def dropped(self, count: int = 1) -> None:
        """Wait until clients have disconnected this many times before the end of a reply."""
        await self._dropped.reach(count)

    def release(self) -> None:
        """Continue the oldest waiting `hang`, or the next one if none is waiting."""
        self._released.release()

    async def answer(self, request: HttpRequest, exchange: HttpExchange) -> None:
        """Answer one POST to /v1/messages."""
        body = _message_request(request)
        main = self._player.is_main(body)
        self.requests.append(ReceivedRequest(body, _masked(request.headers), main))
        played = self._player.reply_to(body)
        if main:
            self._called.add()
        if not await _until_disconnect(exchange, self._play(played, exchange, stream=body.get("stream") is True)):
            self._dropped.add()

    async def _play(self, played: PlayedReply, exchange: HttpExchange, *, stream: bool) -> None:
        headers = {"request-id": f"req_{played.id}"}
        if played.reply.error:
            await _send_error(exchange, played.reply.error, headers)
        elif stream:
            await self._play_stream(played, exchange, headers)
        else:
            await self._play_whole(played, exchange, headers)

    async def _play_stream(self, played: PlayedReply, exchange: HttpExchange, headers: dict[str, str]) -> None:
        await exchange.start(200, {**headers, "content-type": "text/event-stream", "cache-control": "no-cache"})
        for step in played.stream():
            if isinstance(step, Cut):
                if step.broken:
                    return
                break
            if (event := await self._perform(step)) is not None:
                await exchange.chunk(_server_sent(event))
        await exchange.finish()

    async def _play_whole(self, played: PlayedReply, exchange: HttpExchange, headers: dict[str, str]) -> None:
        for step in played.whole():
            if isinstance(step, Cut):
                return
            if (event := await self._perform(step)) is not None:
                status = STATUS_OF.get(event["error"]["type"], 500) if event["type"] == "error" else 200
                await _send_json(exchange, status, event, headers)

    async def _perform(self, step: Step) -> JsonObject | None:
        """Wait if the step says so; returns the event to send, if the step is one."""
        match step:
            case Wait():
                await asyncio.sleep(step.seconds)
            case Hang():
                self._hanging.add()
                await self._released.acquire()
            case dict():
                return step
            case Cut():
                pass
        return None


class ScriptedMessagesApi(Endpoint):
    """The server, and the endpoint at its root URL."""

    def __init__(self, script: Script | None = None) -> None:
        super().__init__(script or Script())
        self._endpoints: dict[str, Endpoint] = {"": self}
        self._connections: dict[asyncio.Task[None], HttpExchange] = {}
        self._failures: list[BaseException] = []
        self._server: asyncio.Server | None = None

    def session(self, script: Script | Player) -> Endpoint:
        """Another endpoint, with a separate URL, script and list of requests. A `Player` chooses its replies itself."""
        if not self.url:
            raise RuntimeError("the API is not running: use `async with` first")
        endpoint, key = Endpoint(script), f"/session-{len(self._endpoints)}"
        endpoint.url = self.url + key
        self._endpoints[key] = endpoint
        return endpoint

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, HOST, 0)
        self.url = f"http://{HOST}:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server
        self._server.close()
        for task, exchange in list(self._connections.items()):
            exchange.abort()
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()
        if self._failures and error is None:
            raise self._failures[0]

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        exchange = HttpExchange(reader, writer)
        if not (self._server and self._server.is_serving()):  # the connection was accepted while the server was closing
            exchange.abort()
            return
        task = asyncio.create_task(self._serve(exchange))
        self._connections[task] = exchange
        task.add_done_callback(self._disconnected)

    def _disconnected(self, task: asyncio.Task[None]) -> None:
        del self._connections[task]
        if not task.cancelled() and (failure := task.exception()):
            self._failures.append(failure)

    async def _serve(self, exchange: HttpExchange) -> None:
        try:
            with suppress(OSError, EOFError):  # the client has disconnected
                await self._respond(exchange)
        finally:
            with suppress(OSError):
                await exchange.close()

    async def _respond(self, exchange: HttpExchange) -> None:
        try:
            request = await exchange.request()
            key, found, path = request.path.rpartition("/v1/messages")
            endpoint = self._endpoints.get(key) if found and request.method == "POST" else None
            if endpoint is None or path not in ("", "/count_tokens"):
                raise BadRequestError(404, f"no such route: {request.method} {request.path}")
            if path:
                await _send_json(exchange, 200, {"input_tokens": len(request.body) // 4 + 1}, {})
            else:
                await endpoint.answer(request, exchange)
        except BadRequestError as bad:
            await _send_error(exchange, HttpError(bad.status, None, str(bad)), {})


async def _until_disconnect(exchange: HttpExchange, work: Coroutine[Any, Any, None]) -> bool:
    """Run `work` to its end and return True, or cancel it and return False if the client disconnects first."""
    working, leaving = asyncio.create_task(work), asyncio.create_task(exchange.disconnected())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            return False
        await working
        return True
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


def _message_request(request: HttpRequest) -> JsonObject:
    try:
        body = msgspec.json.decode(request.body, type=JsonObject)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequestError(400, f"the body is not a JSON object: {error}") from None
    if not isinstance(body.get("model"), str) or not isinstance(body.get("messages"), list):
        raise BadRequestError(400, "the body must have `model` and `messages`")
    return body


def _masked(headers: dict[str, str]) -> dict[str, str]:
    return {name: "***" if any(word in name for word in SECRET_HEADERS) else value for name, value in headers.items()}


def _server_sent(event: JsonObject) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), msgspec.json.encode(event))


async def _send_error(exchange: HttpExchange, error: HttpError, headers: dict[str, str]) -> None:
    body = {"type": "error", "error": {"type": error.error_type, "message": error.message}}
    await _send_json(exchange, error.status, body, {**headers, **error.headers})


async def _send_json(exchange: HttpExchange, status: int, body: JsonObject, headers: dict[str, str]) -> None:
    await exchange.send(status, {"content-type": "application/json", **headers}, msgspec.json.encode(body))
