"""A model behind the Messages API, over HTTP. Errors are raised as ModelError and never contain secrets.

Redirects are not followed, so the key is only sent to the configured address.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING

import msgspec

from handrail.agent.known_models import needs_wide_window
from handrail.agent.models.api_access import ApiAccess, ApiOptions, api_access
from handrail.agent.models.api_errors import refusal, stream_error, unreached
from handrail.agent.models.base import Answer, JsonObject, ModelError, ModelRequest, StreamCut
from handrail.agent.models.request_body import BodyWriter
from handrail.agent.models.sse import EventReader, EventTooLong

if TYPE_CHECKING:
    import httpx2

__all__ = ["AnthropicModel", "new_client", "read_some"]

CONNECT_TIMEOUT = 30.0
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
        self._client: httpx2.AsyncClient | None = None

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
            await response.aclose()

    async def whole(self, request: ModelRequest) -> JsonObject:
        return await self._json("/v1/messages", self._bodies.message_body(request, stream=False), request)

    async def count_tokens(self, request: ModelRequest) -> int | None:
        try:
            answer = await self._json("/v1/messages/count_tokens", self._bodies.count_body(request), request)
        except ModelError:
            return None
        count = answer.get("input_tokens")
        return count if isinstance(count, int) else None

    async def close(self) -> None:
        client, self._client = self._client, None
        if client:
            await client.aclose()

    async def warm(self) -> None:
        """Load the HTTP client in a thread, before the first request."""
        with suppress(ModelError):
            client = await asyncio.to_thread(new_client, self.access)
            self._client = self._client or client

    async def _json(self, path: str, body: bytes, request: ModelRequest) -> JsonObject:
        import httpx2

        response = await self._post(path, body, request)
        request_id = response.headers.get("request-id", "")
        try:
            data = await read_some(response, LONGEST_ANSWER)
            return msgspec.json.decode(data, type=JsonObject)
        except httpx2.HTTPError as error:
            raise StreamCut(unreached(error).message, request_id=request_id) from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise StreamCut("the answer of the API is not a JSON object", request_id=request_id) from None
        finally:
            await response.aclose()

    async def _post(self, path: str, body: bytes, request: ModelRequest) -> httpx2.Response:
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

    async def _post_with(self, key: str, path: str, body: bytes, request: ModelRequest) -> httpx2.Response:
        import httpx2

        started = monotonic()
        if key and key not in self._keys:
            self._keys = [*self._keys[-1:], key]
        betas = (*request.betas, LONG_CONTEXT) if needs_wide_window(request.model) else request.betas
        headers = self.access.headers_for(key=key, betas=betas)
        client = self._client = self._client or new_client(self.access)
        try:
            asked = client.build_request("POST", self.access.url + path, content=body, headers=headers)
            response = await client.send(asked, stream=True, follow_redirects=False)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            self._log(path, request, started, "no answer")
            raise unreached(error) from None
        self._log(path, request, started, f"status {response.status_code}")
        if response.status_code == 200:
            return response
        try:
            data = b""
            with suppress(httpx2.HTTPError):
                data = await read_some(response, 64 * 1024)
            raise refusal(response.status_code, response.headers, data, hide=self._hide)
        finally:
            await response.aclose()

    def _hide(self, text: str) -> str:
        for key in self._keys:
            text = text.replace(key, "***")
        return self.access.hide(text)

    def _log(self, path: str, request: ModelRequest, started: float, what: str) -> None:
        self._options.log("api", f"POST {path} {request.model}: {what} after {monotonic() - started:.3f} s")


class _StreamedAnswer:
    """The events of one response."""

    def __init__(self, response: httpx2.Response, hide: Callable[[str], str]) -> None:
        self._hide = hide
        self.request_id: str = response.headers.get("request-id", "")
        self._chunks = response.aiter_bytes()
        self._ended = False
        self._events = self._read()

    def __aiter__(self) -> AsyncIterator[JsonObject]:
        return self._events

    async def close(self) -> None:
        """Close the events and the response."""
        await self._events.aclose()
        await self._chunks.aclose()

    async def _read(self) -> AsyncGenerator[JsonObject]:
        import httpx2

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
        except httpx2.HTTPError as error:
            raise StreamCut(unreached(error).message, request_id=self.request_id) from None
        except EventTooLong as error:
            raise StreamCut(str(error), request_id=self.request_id) from None
        raise StreamCut("the stream ended before its message did", request_id=self.request_id)

    async def finish(self) -> None:
        """Read the rest of a stream after its last event, if it comes at once."""
        import httpx2

        if not self._ended:
            return
        with suppress(TimeoutError, httpx2.HTTPError, httpx2.StreamError):
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


async def read_some(response: httpx2.Response, most: int) -> bytes:
    """The first `most` bytes of the body."""
    read = bytearray()
    async for chunk in response.aiter_bytes():
        read += chunk
        if len(read) >= most:
            break
    return bytes(read[:most])


def new_client(access: ApiAccess) -> httpx2.AsyncClient:
    """A client for the API. Raises ModelError if a certificate or the proxy cannot be used."""
    import httpx2

    verify: bool | ssl.SSLContext = True
    if access.url.startswith("http:") and not access.proxy:
        verify = ssl.SSLContext(
            ssl.PROTOCOL_TLS_CLIENT
        )  # loading the trusted certificates takes long, and plain HTTP needs none
    elif access.certificates:
        verify = ssl.create_default_context()
        for path in access.certificates:
            try:
                verify.load_verify_locations(path)
            except (OSError, ssl.SSLError):
                raise ModelError(f"cannot read certificates from {path}") from None
    try:
        return httpx2.AsyncClient(
            timeout=httpx2.Timeout(access.timeout, connect=min(CONNECT_TIMEOUT, access.timeout)),
            proxy=access.proxy,
            verify=verify,
            trust_env=False,
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=64, max_keepalive_connections=8, keepalive_expiry=60),
        )
    except (ValueError, ImportError, httpx2.InvalidURL):
        raise ModelError("the proxy of the environment is not a valid address; check HTTPS_PROXY") from None
