"""A model behind the Messages API. In: requests. Out: its events over HTTP, or ModelError. Secrets appear in no error.

Redirects are not followed: the key goes to the address that was configured, and nowhere else.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from handrail.agent.models.api_access import ApiAccess, api_access
from handrail.agent.models.api_errors import refusal, stream_error, unreached
from handrail.agent.models.base import Answer, JsonObject, ModelError, ModelRequest, StreamCut
from handrail.agent.models.request_body import BodyWriter
from handrail.agent.models.sse import EventReader, EventTooLong

if TYPE_CHECKING:
    import httpx2

__all__ = ["AnthropicModel"]

CONNECT_TIMEOUT = 30.0
LINGER = 0.05
"""Seconds that the end of a stream is waited for after its last event, so that the connection can be used again."""
LONGEST_ANSWER = 64 * 1024 * 1024


class AnthropicModel:
    """The API that the environment names. Connections are kept and used again."""

    searches_web = True

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._fault: ModelError | None = None
        try:
            self.access = api_access(environment)
        except ModelError as fault:  # told to whoever asks, as every other reason for having no answer
            self._fault, self.access = fault, api_access({})
        self._bodies = BodyWriter()
        self._client: httpx2.AsyncClient | None = None

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[Answer]:
        response = await self._post("/v1/messages", self._bodies.message_body(request, stream=True))
        answer = _StreamedAnswer(response, self.access)
        try:
            yield answer
            await answer.finish()
        finally:
            await answer.close()
            await response.aclose()

    async def whole(self, request: ModelRequest) -> JsonObject:
        return await self._json("/v1/messages", self._bodies.message_body(request, stream=False))

    async def count_tokens(self, request: ModelRequest) -> int | None:
        try:
            answer = await self._json("/v1/messages/count_tokens", self._bodies.count_body(request))
        except ModelError:
            return None
        count = answer.get("input_tokens")
        return count if isinstance(count, int) else None

    async def close(self) -> None:
        client, self._client = self._client, None
        if client:
            await client.aclose()

    async def warm(self) -> None:
        """Loads what the first question needs, in a thread, while nobody has asked yet."""
        with suppress(ModelError):
            client = await asyncio.to_thread(_new_client, self.access)
            self._client = self._client or client

    async def _json(self, path: str, body: bytes) -> JsonObject:
        import httpx2

        response = await self._post(path, body)
        request_id = response.headers.get("request-id", "")
        try:
            data = await read_some(response, LONGEST_ANSWER)
            return msgspec.json.decode(data, type=JsonObject)
        except httpx2.HTTPError as error:
            raise StreamCut(unreached(error).message, request_id=request_id) from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise StreamCut("the answer of the API is no JSON object", request_id=request_id) from None
        finally:
            await response.aclose()

    async def _post(self, path: str, body: bytes) -> httpx2.Response:
        """An answer whose head has come and is good; the caller closes it."""
        import httpx2

        if self._fault:
            raise self._fault
        client = self._client = self._client or _new_client(self.access)
        headers = {**self.access.headers, "content-type": "application/json"}
        try:
            asked = client.build_request("POST", self.access.url + path, content=body, headers=headers)
            response = await client.send(asked, stream=True, follow_redirects=False)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise unreached(error) from None
        if response.status_code == 200:
            return response
        try:
            data = b""
            with suppress(httpx2.HTTPError):
                data = await read_some(response, 64 * 1024)
            raise refusal(response.status_code, response.headers, data, hide=self.access.hide)
        finally:
            await response.aclose()


class _StreamedAnswer:
    """The events of one response."""

    def __init__(self, response: httpx2.Response, access: ApiAccess) -> None:
        self._access = access
        self.request_id: str = response.headers.get("request-id", "")
        self._chunks = response.aiter_bytes()
        self._ended = False
        self._events = self._read()

    def __aiter__(self) -> AsyncIterator[JsonObject]:
        return self._events

    async def close(self) -> None:
        """Lets go of both ends: of whoever reads, and of the response."""
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
        """Reads what is left of a stream that has said all, if it comes at once."""
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
            raise StreamCut("an event of the stream is no JSON object", request_id=self.request_id) from None
        kind = event.setdefault("type", name)
        if kind == "error":
            raise stream_error(event, self.request_id, hide=self._access.hide)
        return event if isinstance(kind, str) and kind != "ping" else None


async def read_some(response: httpx2.Response, most: int) -> bytes:
    """The body, and no more of it than this."""
    read = bytearray()
    async for chunk in response.aiter_bytes():
        read += chunk
        if len(read) >= most:
            break
    return bytes(read[:most])


def _new_client(access: ApiAccess) -> httpx2.AsyncClient:
    import httpx2

    verify: bool | ssl.SSLContext = True
    if access.url.startswith("http:") and not access.proxy:
        verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # no TLS will be spoken: what is trusted need not be read
    elif access.certificates:
        verify = ssl.create_default_context()
        for path in access.certificates:
            try:
                verify.load_verify_locations(path)
            except (OSError, ssl.SSLError):
                raise ModelError(f"{path}: no certificates can be read there") from None
    try:
        return httpx2.AsyncClient(
            timeout=httpx2.Timeout(access.timeout, connect=min(CONNECT_TIMEOUT, access.timeout)),
            proxy=access.proxy,
            verify=verify,
            trust_env=False,
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=64, max_keepalive_connections=8, keepalive_expiry=60),
            headers={"user-agent": "handrail-agent"},
        )
    except (ValueError, ImportError, httpx2.InvalidURL):
        raise ModelError("the proxy of the environment is no address that can be used: check HTTPS_PROXY") from None
