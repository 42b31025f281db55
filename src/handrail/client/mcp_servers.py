"""MCP servers in this process.

`mcp_server` makes a server from tools; `mcp_endpoint` makes the endpoint that a session uses to reach that server, or
one of the `mcp` package. One server can serve many sessions at once; each has its own endpoint.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, cast

import msgspec

from handrail.client.errors import OptionsError
from handrail.client.mcp_arguments import JsonObject
from handrail.client.mcp_tools import LOG_LEVELS, LogLevel, Tool, ToolContext
from handrail.errors import PeerError

RequestId = int | str
Send = Callable[[JsonObject], Awaitable[None]]
AnyTool = Tool[..., Any] | Callable[..., Any]

PROTOCOL_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32600, -32601, -32602, -32603
REQUEST_CANCELLED = -32800
CLOSE_GRACE = 5.0
"""Seconds that close() waits for running calls."""

_log = logging.getLogger("handrail.mcp")


class McpEndpoint(ABC):
    """The interface through which a session talks to any MCP server."""

    name: str

    @abstractmethod
    async def open(self, send: Send) -> None:
        """Begin. `send` carries the notifications and requests that the server initiates."""

    @abstractmethod
    async def receive(self, message: JsonObject) -> JsonObject | None:
        """Handle one message of the agent. Returns the answer to a request, None for a notification or a response.

        Calls may overlap; cancelling one cancels its request.
        """

    @abstractmethod
    async def close(self) -> None:
        """Cancel running calls and end. Idempotent."""


class RpcError(PeerError):
    """Answers a request with a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def rpc_error(request_id: object, error: RpcError) -> JsonObject:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": error.code, "message": error.message}}


def request_id_of(message: JsonObject) -> RequestId:
    """The id of a request. Raises RpcError if it is neither a number nor a string."""
    request_id = message.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, (int, str)):
        raise RpcError(INVALID_REQUEST, "the id of a request is an integer or a string")
    return request_id


def check_server_name(name: object) -> str:
    """Return a valid name. Tools appear as mcp__NAME__TOOL, so the end of NAME must be unambiguous."""
    if not isinstance(name, str) or not name:
        problem = "an MCP server needs a name: without one the agent skips the server or hangs; pass name="
        raise OptionsError("mcp_servers", problem)
    plain = name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()
    if not plain or len(name) > 64 or "__" in name + "_":
        rule = "use 1 to 64 letters, digits, '-' or single '_', and no '_' at the end"
        raise OptionsError("mcp_servers", f"MCP server name {name[:80]!r}: {rule}")
    return name


class McpServer:
    """A named set of tools. Made by `mcp_server`."""

    def __init__(self, name: str, tools: Iterable[AnyTool] = (), *, version: str, instructions: str | None) -> None:
        self.name = check_server_name(name)
        self.version = version
        self.instructions = instructions
        self._tools: dict[str, Tool[..., Any]] = {}
        self._endpoints: set[ServerEndpoint] = set()
        for tool in tools:
            self._take(tool)

    @property
    def tools(self) -> Mapping[str, Tool[..., Any]]:
        return self._tools

    async def add_tool(self, tool: AnyTool) -> None:
        """Add a tool and notify open sessions."""
        self._take(tool)
        await self._tell("notifications/tools/list_changed")

    async def remove_tool(self, name: str) -> None:
        """Remove a tool and notify open sessions. Running calls of it continue."""
        if name not in self._tools:
            raise ValueError(
                f"MCP server {self.name!r} does not have a tool {name!r}; it has: {', '.join(self._tools)}"
            )
        del self._tools[name]
        await self._tell("notifications/tools/list_changed")

    def attach(self, endpoint: ServerEndpoint) -> None:
        self._endpoints.add(endpoint)

    def detach(self, endpoint: ServerEndpoint) -> None:
        self._endpoints.discard(endpoint)

    def _take(self, tool: AnyTool) -> None:
        made = cast("Tool[..., Any]", tool) if isinstance(tool, Tool) else Tool(tool)
        if made.name in self._tools:
            raise ValueError(f"MCP server {self.name!r} has a tool {made.name!r} already; pass name= to @tool")
        self._tools[made.name] = made

    async def _tell(self, method: str) -> None:
        # A session that is closing must not keep the others from being notified.
        told = await asyncio.gather(
            *(endpoint.notify(method) for endpoint in self._endpoints if endpoint.initialized), return_exceptions=True
        )
        for problem in filter(None, told):
            _log.debug("%s: %s not delivered", self.name, method, exc_info=problem)


def mcp_server(
    name: str, tools: Iterable[AnyTool] = (), *, version: str = "1.0.0", instructions: str | None = None
) -> McpServer:
    """Make an MCP server that runs in this process. `tools` are made by `@tool`, or are plain typed functions."""
    return McpServer(name, tools, version=version, instructions=instructions)


def mcp_endpoint(server: object, name: str | None = None) -> McpEndpoint:
    """The endpoint for a server made by `mcp_server` or the `mcp` package; an endpoint is returned unchanged."""
    if isinstance(server, McpEndpoint):
        return server
    if isinstance(server, McpServer):
        return ServerEndpoint(server, name=name)
    from handrail.client.mcp_package import PackageEndpoint, is_package_server  # it needs this module

    if is_package_server(server):
        return PackageEndpoint(server, name=name)
    advice = "pass handrail.mcp_server(...) or a server of the mcp package"
    raise OptionsError("mcp_servers", f"{type(server).__name__} is not an MCP server: {advice}")


class _Call(msgspec.Struct, eq=False):
    """A running tools/call. Its answer comes from the task, or earlier if the call is cancelled."""

    context: ToolContext
    task: asyncio.Task[JsonObject]
    answer: asyncio.Future[JsonObject | RpcError]

    def finish(self, task: asyncio.Task[JsonObject]) -> None:
        if not self.answer.done():
            cancelled = RpcError(REQUEST_CANCELLED, "the call was cancelled")
            self.answer.set_result(cancelled if task.cancelled() else task.result())

    def stop(self, reason: str) -> None:
        """Answer now: a tool that is slow to stop must not delay the caller."""
        if not self.answer.done():
            self.answer.set_result(RpcError(REQUEST_CANCELLED, reason))
        self.context.cancelled.set()
        self.task.cancel()


class ServerEndpoint(McpEndpoint):
    """One session's endpoint of an McpServer."""

    def __init__(self, server: McpServer, *, name: str | None = None) -> None:
        self.name = server.name if name is None else check_server_name(name)
        self.initialized = False
        self._server = server
        self._send: Send | None = None
        self._calls: dict[RequestId, _Call] = {}
        self._tasks: set[asyncio.Task[JsonObject]] = set()
        self._log_from: LogLevel = "debug"
        self._requests: dict[str, Callable[[RequestId, JsonObject], Awaitable[JsonObject]]] = {
            "initialize": self._initialize,
            "ping": self._ping,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "logging/setLevel": self._set_level,
        }

    async def open(self, send: Send) -> None:
        self._send = send
        self._server.attach(self)

    async def close(self) -> None:
        self._server.detach(self)
        self._send = None
        self._stop_all("the session was closed")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_GRACE)

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """Send a notification to the agent, unless the session is closed."""
        if self._send is not None:
            body = {} if params is None else {"params": params}
            await self._send({"jsonrpc": "2.0", "method": method, **body})

    async def receive(self, message: JsonObject) -> JsonObject | None:
        if "id" not in message:
            self._hear(message)
            return None
        if "result" in message or "error" in message:
            return None  # an answer; this server asks nothing
        try:
            request_id = request_id_of(message)
            return {"jsonrpc": "2.0", "id": request_id, "result": await self._answer(request_id, message)}
        except RpcError as error:
            return rpc_error(message["id"], error)

    async def _answer(self, request_id: RequestId, message: JsonObject) -> JsonObject:
        method = message.get("method")
        if not isinstance(method, str):
            raise RpcError(INVALID_REQUEST, "a request needs a method")
        if method not in self._requests:
            raise RpcError(METHOD_NOT_FOUND, f"method not found: {method[:80]}")
        return await self._requests[method](request_id, _object(message, "params"))

    def _hear(self, message: JsonObject) -> None:
        match message.get("method"), message.get("params"):
            case "notifications/initialized", _:
                self.initialized = True
            case "notifications/cancelled", {"requestId": int() | str() as request_id}:
                if call := self._calls.get(request_id):
                    call.stop("the call was cancelled")
            case _:
                pass

    async def _initialize(self, request_id: RequestId, params: JsonObject) -> JsonObject:
        # A second handshake means that the agent reconnected: ids restart, and the old calls are abandoned.
        self._stop_all("the agent connected again")
        self.initialized = False
        asked = params.get("protocolVersion")
        result: JsonObject = {
            "protocolVersion": asked if asked in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[-1],
            "capabilities": {"tools": {"listChanged": True}, "logging": {}},
            "serverInfo": {"name": self.name, "version": self._server.version},
        }
        if self._server.instructions is not None:
            result["instructions"] = self._server.instructions
        return result

    async def _ping(self, request_id: RequestId, params: JsonObject) -> JsonObject:
        return {}

    async def _list_tools(self, request_id: RequestId, params: JsonObject) -> JsonObject:
        return {"tools": [tool.describe() for tool in self._server.tools.values()]}

    async def _set_level(self, request_id: RequestId, params: JsonObject) -> JsonObject:
        level = params.get("level")
        if level not in LOG_LEVELS:
            raise RpcError(INVALID_PARAMS, f"level is one of {', '.join(LOG_LEVELS)}")
        self._log_from = cast("LogLevel", level)
        return {}

    async def _call_tool(self, request_id: RequestId, params: JsonObject) -> JsonObject:
        name = params.get("name")
        tool = self._server.tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise RpcError(INVALID_PARAMS, f"unknown tool: {str(name)[:80]}")
        if request_id in self._calls:
            raise RpcError(INVALID_REQUEST, f"a call with the id {request_id!r} is running")
        call = self._start(tool, request_id, _object(params, "arguments"), _object(params, "_meta"))
        try:
            answer = await call.answer
        except asyncio.CancelledError:
            call.stop("the caller went away")
            raise
        finally:
            if self._calls.get(request_id) is call:  # after a new handshake the id may be another call's
                del self._calls[request_id]
        if isinstance(answer, RpcError):
            raise answer
        return answer

    def _start(self, tool: Tool[..., Any], request_id: RequestId, arguments: JsonObject, meta: JsonObject) -> _Call:
        context = ToolContext(
            server=self.name, request_id=request_id, meta=meta, notify=self.notify, log_from=self._log_from
        )
        task = asyncio.create_task(tool.call(arguments, context), name=f"mcp {self.name}.{tool.name}")
        call = _Call(context, task, asyncio.get_running_loop().create_future())
        self._calls[request_id] = call
        self._tasks.add(task)
        task.add_done_callback(call.finish)
        task.add_done_callback(self._tasks.discard)
        return call

    def _stop_all(self, reason: str) -> None:
        for call in self._calls.values():
            call.stop(reason)
        self._calls.clear()


def _object(holder: JsonObject, key: str) -> JsonObject:
    """The object under a key, {} if absent. Raises RpcError for other types."""
    value = holder.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RpcError(INVALID_PARAMS, f"{key} must be an object")
    return cast("JsonObject", value)
