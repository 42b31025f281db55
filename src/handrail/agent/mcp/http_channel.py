"""A server at an address, by the `mcp` package. In: kind, url, headers. Out: a Channel.

The package is large, so it is imported when the first such server is reached, and then in a thread: meanwhile the agent
goes on. Of the package only the carrying is used; its streams must be opened and closed by one task, hence `_run`.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, cast

from handrail.agent.errors import McpError
from handrail.agent.mcp.config import https_address
from handrail.agent.mcp.rpc import Failed, JsonObject, Lost, NeedsAuth, Receive

__all__ = ["LONGEST_ANSWER", "HttpChannel"]

LONGEST_ANSWER: Final = 8 * 1024 * 1024
_METADATA: Final = re.compile(r'resource_metadata\s*=\s*"([^"]*)"')
_MODULES: Final = {"http": "mcp.client.streamable_http", "sse": "mcp.client.sse"}


class HttpChannel:
    """One address. A server that wants a login raises NeedsAuth."""

    def __init__(self, kind: str, url: str, headers: Mapping[str, str], *, limit: float = 30.0) -> None:
        self._kind, self._url, self._headers, self._limit = kind, url, dict(headers), limit
        self._running: asyncio.Task[None] | None = None
        self._write: Any = None
        self._wants_login: str | None = None
        self._status = 0

    async def open(self, receive: Receive, lost: Lost) -> None:
        try:
            self._package = await asyncio.to_thread(importlib.import_module, _MODULES[self._kind])
            self._adapter: Any = (await asyncio.to_thread(importlib.import_module, "mcp_types")).jsonrpc_message_adapter
        except ImportError:
            raise McpError("servers at an address need the `mcp` package: install handrail[mcp]") from None
        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it logs addresses and messages with tracebacks
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._running = asyncio.create_task(self._run(receive, lost, opened))
        await opened

    async def send(self, message: JsonObject) -> None:
        from mcp.shared.message import SessionMessage

        if self._running is None or self._running.done():
            raise McpError("the connection to the server has ended")
        await self._write.send(SessionMessage(self._adapter.validate_python(message)))

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
                opened.set_exception(self._error(reason))
        finally:
            opened.cancel()
        lost(reason)

    def _take(self, message: JsonObject, receive: Receive) -> None:
        """The package's stand-in for an answer with an error status says nothing: say what the status was."""
        if "error" in message and self._wants_login is not None:
            receive(Failed(NeedsAuth(self._wants_login), message.get("id")))
        elif "error" in message and self._status >= 400:
            receive({**message, "error": {**message["error"], "message": self._explained(message["error"])}})
        else:
            receive(message)

    def _explained(self, error: JsonObject) -> str:
        status, self._status = self._status, 0
        return f"{error.get('message') or 'the server failed'} (HTTP {status})"

    def _error(self, reason: str) -> McpError:
        return McpError(reason) if self._wants_login is None else NeedsAuth(self._wants_login)

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
            wait = httpx2.Timeout(self._limit, read=None)
            return httpx2.AsyncClient(
                headers=self._headers, timeout=wait, event_hooks={"response": [self._look]}, auth=given.get("auth")
            )

        if self._kind == "sse":
            async with self._package.sse_client(self._url, httpx_client_factory=client) as streams:
                yield streams[0], streams[1]
            return
        async with client() as own:
            carrying: AbstractAsyncContextManager[Any] = self._package.streamable_http_client(
                self._url, http_client=own, max_sse_event_size=LONGEST_ANSWER
            )
            async with carrying as streams:
                yield streams[0], streams[1]

    async def _look(self, response: Any) -> None:
        """Every answer passes here before it is read: who wants a login, and what would be too long."""
        if response.request.method == "POST" or self._kind == "sse":
            self._status = response.status_code
        if response.status_code == 401:
            found = _METADATA.search(response.headers.get("www-authenticate", ""))
            self._wants_login = https_address(found[1] if found else "") or https_address(self._url)
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            response.stream = _bounded(response.stream)


def _bounded(stream: Any) -> Any:
    """The same stream, which breaks off where it is longer than any answer may be."""
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
