"""Adapts servers of the `mcp` package (Server, FastMCP, MCPServer) to McpEndpoint.

The server runs over in-memory streams, as it would over stdio. `mcp` is imported only when a server starts; a program
that made such a server has imported it anyway.
"""

from __future__ import annotations

import asyncio
import logging
import math
from typing import Any, Protocol, cast

from handrail.client.mcp_arguments import JsonObject
from handrail.client.mcp_results import describe_error
from handrail.client.mcp_servers import (
    CLOSE_GRACE,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    REQUEST_CANCELLED,
    McpEndpoint,
    RequestId,
    RpcError,
    Send,
    check_server_name,
    request_id_of,
    rpc_error,
)

_WRAPPED = ("_lowlevel_server", "_mcp_server")
"""Attributes in which MCPServer (2.x) and FastMCP (1.x) keep the low-level server."""

_log = logging.getLogger("handrail.mcp")


class _LowLevelServer(Protocol):
    """The common interface of 1.x and 2.x."""

    def create_initialization_options(self) -> Any: ...

    async def run(self, read_stream: Any, write_stream: Any, initialization_options: Any) -> None: ...


def is_package_server(server: object) -> bool:
    """Whether this is a server of the `mcp` package, judged by its class without importing the package."""
    return any(kind.__module__.startswith("mcp.server.") for kind in type(server).__mro__)


def _low_level(server: object) -> _LowLevelServer:
    wrapped = (getattr(server, attribute, None) for attribute in _WRAPPED)
    return cast("_LowLevelServer", next(filter(None, wrapped), server))


class PackageEndpoint(McpEndpoint):
    """One session's endpoint of a server of the `mcp` package. Each handshake starts a new run."""

    def __init__(self, server: object, *, name: str | None = None) -> None:
        self.name = check_server_name(getattr(server, "name", None) if name is None else name)
        self._server = _low_level(server)
        self._send: Send | None = None
        self._run: _Run | None = None

    async def open(self, send: Send) -> None:
        self._send = send

    async def close(self) -> None:
        self._send = None
        run, self._run = self._run, None
        if run is not None:
            await run.stop("the session was closed")

    async def receive(self, message: JsonObject) -> JsonObject | None:
        run = await self._run_for(message)
        if "method" not in message or "id" not in message:
            if run is not None:
                run.tell(message)
            return None
        try:
            request_id = request_id_of(message)
            if run is None:
                raise RpcError(INVALID_REQUEST, f"MCP server {self.name!r} is not connected; send initialize first")
            return await run.ask(request_id, message)
        except RpcError as error:
            return rpc_error(message["id"], error)

    async def _run_for(self, message: JsonObject) -> _Run | None:
        """The run for a message. A handshake starts a new one, because the agent has reconnected."""
        if message.get("method") == "initialize" and self._send is not None:
            old, self._run = self._run, _Run(self.name, self._server, self._send)
            if old is not None:
                await old.stop("the agent connected again")
        return self._run


class _Run:
    """A server running over in-memory streams, from a handshake to its end."""

    def __init__(self, name: str, server: _LowLevelServer, send: Send) -> None:
        import anyio
        from mcp.shared.message import SessionMessage
        from mcp.types import JSONRPCMessage
        from pydantic import TypeAdapter

        self._name = name
        self._send = send
        self._waiting: dict[RequestId, asyncio.Future[JsonObject | RpcError]] = {}
        self._session_message: Any = SessionMessage
        self._parse: Any = TypeAdapter[Any](JSONRPCMessage).validate_python
        # Unbounded, so that sending never waits; it holds no more than the agent's pending messages.
        self._inlet, self._server_reads = anyio.create_memory_object_stream[Any](math.inf)
        self._server_writes, self._outlet = anyio.create_memory_object_stream[Any](0)
        self._ended: str | None = None
        self._task = asyncio.create_task(self._serve(server), name=f"mcp {name}")

    def tell(self, message: JsonObject) -> None:
        """Pass on a notification or an answer. Messages that are not JSON-RPC are dropped."""
        match message:
            case {"method": "notifications/cancelled", "params": {"requestId": int() | str() as request_id}}:
                # The package answers a cancelled request late (1.x) or never (2.x), so answer the agent now.
                self._settle(request_id, RpcError(REQUEST_CANCELLED, "the call was cancelled"))
            case _:
                pass
        try:
            self._put(message)
        except RpcError as error:
            _log.debug("%s: message left out: %s", self._name, error)

    async def ask(self, request_id: RequestId, message: JsonObject) -> JsonObject:
        if request_id in self._waiting:
            raise RpcError(INVALID_REQUEST, f"a request with the id {request_id!r} is running")
        self._put(message)
        answer = self._waiting[request_id] = asyncio.get_running_loop().create_future()
        try:
            outcome = await answer
        except asyncio.CancelledError:
            self.tell(_cancelled(request_id, "the caller went away"))
            raise
        finally:
            self._waiting.pop(request_id, None)
        if isinstance(outcome, RpcError):
            raise outcome
        return outcome

    async def stop(self, reason: str) -> None:
        """Close the input, so that the server can shut down; otherwise cancel it."""
        for request_id in list(self._waiting):
            self.tell(_cancelled(request_id, reason))
        self._inlet.close()
        _, late = await asyncio.wait({self._task}, timeout=CLOSE_GRACE)
        if late:
            self._task.cancel()
            await asyncio.wait(late, timeout=CLOSE_GRACE)

    def _put(self, message: JsonObject) -> None:
        if self._ended is not None:
            raise RpcError(INTERNAL_ERROR, self._ended)
        try:
            parsed = self._parse(message)
        except ValueError:
            raise RpcError(INVALID_REQUEST, "this is not a JSON-RPC message") from None
        self._inlet.send_nowait(self._session_message(parsed))

    async def _serve(self, server: _LowLevelServer) -> None:
        reason = "it ended"
        try:
            with self._inlet, self._server_reads, self._server_writes, self._outlet:
                listener = asyncio.create_task(self._listen(), name=f"mcp {self._name} output")
                try:
                    options = server.create_initialization_options()
                    await server.run(self._server_reads, self._server_writes, options)
                finally:
                    listener.cancel()
                    await asyncio.wait({listener})
        except Exception as error:
            reason = describe_error(error)
            _log.debug("MCP server %s failed", self._name, exc_info=error)
        finally:
            self._ended = f"MCP server {self._name!r} is not running: {reason}"
            for request_id in list(self._waiting):
                self._settle(request_id, RpcError(INTERNAL_ERROR, self._ended))

    async def _listen(self) -> None:
        """Deliver messages of the server: answers to their pending requests, the rest to the agent."""
        async for written in self._outlet:
            message = cast("JsonObject", written.message.model_dump(by_alias=True, mode="json", exclude_none=True))
            if "method" not in message:
                self._settle(message.get("id"), message)
                continue
            try:
                await self._send(message)
            except Exception as error:
                _log.debug("%s: %s not delivered", self._name, message["method"], exc_info=error)

    def _settle(self, request_id: Any, outcome: JsonObject | RpcError) -> None:
        answer = self._waiting.get(request_id)
        if answer is not None and not answer.done():
            answer.set_result(outcome)


def _cancelled(request_id: RequestId, reason: str) -> JsonObject:
    params = {"requestId": request_id, "reason": reason}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
