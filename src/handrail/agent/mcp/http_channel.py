"""Channel to an MCP server at an address, by the `mcp` package.

The package is large, so it is imported when the first such server is reached, in a thread, while the agent keeps
working. Only its transport is used. Its streams must be opened and closed by one task, hence `_run`.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from handrail.agent.errors import McpError
from handrail.agent.mcp.config import ServerConfig
from handrail.agent.mcp.rpc import PROTOCOL, Failed, JsonObject, Lost, NeedsAuth, Receive

if TYPE_CHECKING:
    import httpx2

__all__ = ["LONGEST_ANSWER", "HttpChannel", "bounded_stream"]

LONGEST_ANSWER: Final = 8 * 1024 * 1024
DISCOVERY_LIMIT: Final = 10.0
_MODULES: Final = {"http": "mcp.client.streamable_http", "sse": "mcp.client.sse"}
_VERSION: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


class HttpChannel:
    """One address. An answer with status 401 fails requests with NeedsAuth.

    `name` and `config_home` select the credentials that a sign-in stored; a server with an `Authorization` header in
    its configuration gets none.
    """

    def __init__(self, name: str, config: ServerConfig, config_home: str, *, limit: float = 30.0) -> None:
        self._name, self._config, self._config_home, self._limit = name, config, config_home, limit
        self._running: asyncio.Task[None] | None = None
        self._write: Any = None
        self._status = 0
        self._needs_auth = self._names_metadata = False
        self._handshake: object = None
        self._version = ""
        """The negotiated protocol version, which every later request must carry in a header."""

    async def open(self, receive: Receive, lost: Lost) -> None:
        try:
            self._package = await asyncio.to_thread(importlib.import_module, _MODULES[self._config.kind])
            self._adapter: Any = (await asyncio.to_thread(importlib.import_module, "mcp_types")).jsonrpc_message_adapter
        except ImportError:
            raise McpError("servers at an address need version 2 of the `mcp` package: pip install 'mcp>=2'") from None
        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it logs addresses and messages with tracebacks
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._running = asyncio.create_task(self._run(receive, lost, opened))
        await opened

    async def send(self, message: JsonObject) -> None:
        from mcp.shared.message import ClientMessageMetadata, SessionMessage

        if self._running is None or self._running.done():
            raise McpError("the connection to the server has ended")
        if message.get("method") == "initialize":
            self._handshake = message.get("id")
        metadata = ClientMessageMetadata(headers={"mcp-protocol-version": self._version}) if self._version else None
        await self._write.send(SessionMessage(self._adapter.validate_python(message), metadata))

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self, receive: Receive, lost: Lost, opened: asyncio.Future[None]) -> None:
        reason = "the server closed the connection"
        try:
            async with self._streams() as (read, self._write):
                if not opened.done():
                    opened.set_result(None)
                async for item in read:
                    message = getattr(item, "message", None)
                    if message is not None:
                        self._take(message.model_dump(by_alias=True, mode="json", exclude_unset=True), receive)
        except Exception as error:
            reason = self._words(error)
            if not opened.done():
                opened.set_exception(self._refusal() if self._needs_auth else McpError(reason))
        finally:
            opened.cancel()
        lost(reason)

    def _take(self, message: JsonObject, receive: Receive) -> None:
        """Pass a message on. The package answers HTTP errors with a generic text, so the status is added here."""
        if "error" in message and self._needs_auth:
            receive(Failed(self._refusal(), message.get("id")))
            return
        if "error" in message and self._status >= 400:
            message = {**message, "error": {**message["error"], "message": self._explained(message["error"])}}
        elif self._handshake is not None and message.get("id") == self._handshake:
            self._note_version(message.get("result"))
        receive(message)

    def _note_version(self, result: Any) -> None:
        version = cast("JsonObject", result).get("protocolVersion") if isinstance(result, dict) else None
        self._handshake = None
        if isinstance(version, str) and _VERSION.fullmatch(version):
            self._version = version

    def _explained(self, error: JsonObject) -> str:
        status, self._status = self._status, 0
        return f"{error.get('message') or 'the server failed'} (HTTP {status})"

    def _refusal(self) -> NeedsAuth:
        return NeedsAuth(
            "the server requires a sign-in: use `mcp_authenticate`, or put a token in the server's `headers`, such as"
            ' {"Authorization": "Bearer ${TOKEN}"}'
        )

    async def offers_sign_in(self) -> bool:
        """Whether the server, which has answered 401, says how to sign in with OAuth."""
        return self._names_metadata or await _has_metadata(self._config.url)

    def _words(self, error: BaseException) -> str:
        while isinstance(error, BaseExceptionGroup):
            error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
        if self._status >= 400:
            return f"the server answered with HTTP status {self._status}"
        return f"it cannot be reached: {str(error).splitlines()[0] if str(error) else type(error).__name__}"[:400]

    @asynccontextmanager
    async def _streams(self) -> AsyncGenerator[tuple[Any, Any]]:
        import httpx2

        def client(**given: Any) -> httpx2.AsyncClient:
            return httpx2.AsyncClient(
                headers=dict(self._config.headers),
                timeout=httpx2.Timeout(self._limit, read=None),
                event_hooks={"response": [self._look]},
                auth=self._auth(),
            )

        if self._config.kind == "sse":
            async with self._package.sse_client(self._config.url, httpx_client_factory=client) as streams:
                yield streams[0], streams[1]
            return
        async with client() as own:
            transport: AbstractAsyncContextManager[Any] = self._package.streamable_http_client(
                self._config.url, http_client=own, max_sse_event_size=LONGEST_ANSWER
            )
            async with transport as streams:
                yield streams[0], streams[1]

    def _auth(self) -> httpx2.Auth | None:
        from handrail.agent.mcp.credentials import BearerAuth, CredentialStore

        if not self._config.signs_in:
            return None
        return BearerAuth(CredentialStore(self._config_home, self._name, self._config.url))

    async def _look(self, response: httpx2.Response) -> None:
        """Note the status of an answer before it is read, and bound its length."""
        from handrail.agent.mcp.credentials import is_oauth_request

        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            response.stream = bounded_stream(response.stream)
        if is_oauth_request(response.request):
            return
        if response.request.method == "POST" or self._config.kind == "sse":
            self._status = response.status_code
        # A refreshed token clears it: the same request is then sent again and accepted.
        if response.status_code == 401 or response.status_code < 400:
            self._needs_auth = response.status_code == 401
            self._names_metadata = "resource_metadata=" in response.headers.get("www-authenticate", "")


async def _has_metadata(url: str) -> bool:
    """Whether OAuth metadata of a server is at one of the well-known paths on its origin."""
    import httpx2

    parts = urlsplit(url)
    resource = "/.well-known/oauth-protected-resource"
    places = [resource + parts.path.rstrip("/"), resource, "/.well-known/oauth-authorization-server"]
    headers = {"MCP-Protocol-Version": PROTOCOL, "Accept": "application/json"}
    try:
        async with asyncio.timeout(DISCOVERY_LIMIT), httpx2.AsyncClient(headers=headers) as client:
            for place in dict.fromkeys(places):
                async with client.stream("GET", f"{parts.scheme}://{parts.netloc}{place}") as response:
                    if response.status_code == 200:
                        return True
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError):
        return False
    return False


def bounded_stream(stream: Any) -> Any:
    """The same stream of an answer, which fails after LONGEST_ANSWER bytes."""
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in stream:
                size += len(chunk)
                if size > LONGEST_ANSWER:
                    raise httpx2.ReadError(f"the answer is longer than {LONGEST_ANSWER} bytes")
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()
