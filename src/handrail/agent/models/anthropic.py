"""A model behind the Messages API, over HTTP. Errors are raised as ModelError and never contain secrets.

Redirects are not followed, so the key is only sent to the configured address.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from time import monotonic

import msgspec

from handrail.agent.known_models import needs_wide_window
from handrail.agent.models.api_access import ApiOptions, api_access
from handrail.agent.models.api_errors import refusal, stream_error
from handrail.agent.models.base import Answer, JsonObject, ModelError, ModelRequest, StreamCut
from handrail.agent.models.http_client import HttpAnswer, HttpClient
from handrail.agent.models.request_body import BodyWriter
from handrail.agent.models.sse import EventReader, EventTooLong

__all__ = ["AnthropicModel"]

LINGER = 0.05
"""Seconds to wait for the end of a stream after its last event, so that the connection can be reused."""
LONGEST_ANSWER = 64 * 1024 * 1024
LONG_CONTEXT = "context-1m-2025-08-07"
"""The beta feature that a model name ending in `[1m]` asks for."""


class AnthropicModel:
    """The API that the environment names. Connections are reused."""

    searches_web = True

    def __init__(self, environment: Mapping[str, str], options: ApiOptions | None = None) -> None:
        self._options = options or ApiOptions()
        self._fault: ModelError | None = None
        try:
            self.access = api_access(environment, options)
        except ModelError as fault:  # raised for each request, as other reasons for a missing answer
            self._fault, self.access = fault, api_access({})
        self._bodies = BodyWriter(environment, self.access.extra_body)
        self._keys: list[str] = []
        """The last keys of the helper, which no error may show."""
        self._client: HttpClient | None = None

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[Answer]:
        body = self._bodies.message_body(request, stream=True)
        response = await self._post("/v1/messages", body, request)
        answer = _StreamedAnswer(response, self._hide)
        try:
            yield answer
            await answer.finish()
        finally:
            await answer.close()
            await response.close()

    async def whole(self, request: ModelRequest) -> JsonObject:
        return await self._json("/v1/messages", self._bodies.message_body(request, stream=False), request)

    async def count_tokens(self, request: ModelRequest) -> int | None:
        try:
            answer = await self._json("/v1/messages/count_tokens", self._bodies.count_body(request), request)
        except ModelError:
            return None
        count = answer.get("input_tokens")
        return count if isinstance(count, int) else None

    def interrupted(self) -> None:
        pass

    async def close(self) -> None:
        client, self._client = self._client, None
        if client:
            await client.close()

    async def warm(self) -> None:
        """Load the HTTP client in a thread, before the first request."""
        with suppress(ModelError):
            client = await asyncio.to_thread(HttpClient, self.access)
            self._client = self._client or client

    async def _json(self, path: str, body: bytes, request: ModelRequest) -> JsonObject:
        response = await self._post(path, body, request)
        try:
            return msgspec.json.decode(await response.first(LONGEST_ANSWER), type=JsonObject)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise StreamCut("the answer of the API is not a JSON object", request_id=response.request_id) from None
        finally:
            await response.close()

    async def _post(self, path: str, body: bytes, request: ModelRequest) -> HttpAnswer:
        """Send a request and return its response after a successful head; the caller closes it.

        A key of the helper may have expired, so after a rejection the request is sent once more with a new one.
        """
        if self._fault:
            raise self._fault
        helper = self._options.key_helper
        used = await helper.key() if helper else ""
        try:
            return await self._post_with(used, path, body, request)
        except ModelError as error:
            if error.status != 401 or helper is None:
                raise
            helper.forget()
            if (new := await helper.key()) == used:
                raise
            return await self._post_with(new, path, body, request)

    async def _post_with(self, key: str, path: str, body: bytes, request: ModelRequest) -> HttpAnswer:
        started = monotonic()
        if key and key not in self._keys:
            self._keys = [*self._keys[-1:], key]
        betas = (*request.betas, LONG_CONTEXT) if needs_wide_window(request.model) else request.betas
        headers = self.access.headers_for(key=key, betas=betas)
        client = self._client = self._client or HttpClient(self.access)
        try:
            response = await client.send("POST", path, headers, body)
        except ModelError:
            self._log(path, request, started, "no answer")
            raise
        self._log(path, request, started, f"status {response.status}")
        if response.status == 200:
            return response
        try:
            data = b""
            with suppress(ModelError):
                data = await response.first(64 * 1024)
            raise refusal(response.status, response.headers, data, hide=self._hide)
        finally:
            await response.close()

    def _hide(self, text: str) -> str:
        for key in self._keys:
            text = text.replace(key, "***")
        return self.access.hide(text)

    def _log(self, path: str, request: ModelRequest, started: float, what: str) -> None:
        self._options.log("api", f"POST {path} {request.model}: {what} after {monotonic() - started:.3f} s")


class _StreamedAnswer:
    """The events of one response."""

    def __init__(self, response: HttpAnswer, hide: Callable[[str], str]) -> None:
        self._hide = hide
        self.request_id = response.request_id
        self._chunks = response.chunks()
        self._ended = False
        self._events = self._read()

    def __aiter__(self) -> AsyncIterator[JsonObject]:
        return self._events

    async def close(self) -> None:
        """Close the events and the response."""
        await self._events.aclose()
        await self._chunks.aclose()

    async def _read(self) -> AsyncGenerator[JsonObject]:
        reader = EventReader()
        try:
            async for chunk in self._chunks:
                for name, data in reader.feed(chunk):
                    event = self._event(name, data)
                    if event is None:
                        continue
                    self._ended = event["type"] == "message_stop"
                    yield event
                    if self._ended:
                        return
        except EventTooLong as error:
            raise StreamCut(str(error), request_id=self.request_id) from None
        raise StreamCut("the stream ended before its message did", request_id=self.request_id)

    async def finish(self) -> None:
        """Read the rest of a stream after its last event, if it comes at once."""
        if not self._ended:
            return
        with suppress(TimeoutError, ModelError):
            async with asyncio.timeout(LINGER):
                async for _ in self._chunks:
                    pass

    def _event(self, name: str, data: bytes) -> JsonObject | None:
        if name == "ping":
            return None
        try:
            event = msgspec.json.decode(data, type=JsonObject)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise StreamCut("an event of the stream is not a JSON object", request_id=self.request_id) from None
        kind = event.setdefault("type", name)
        if kind == "error":
            raise stream_error(event, self.request_id, hide=self._hide)
        return event if isinstance(kind, str) and kind != "ping" else None
