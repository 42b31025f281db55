"""Servers of the mcp package behind our endpoint, with messages as the CLI sends them."""

import asyncio
import importlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from handrail.client.mcp_package import is_package_server
from handrail.client.mcp_servers import PROTOCOL_VERSIONS, McpEndpoint, mcp_endpoint

pytest.importorskip("mcp")

from mcp.server.lowlevel import Server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool
from pydantic import BaseModel

try:
    package: Any = importlib.import_module("mcp.server.mcpserver")
except ImportError:  # mcp 1.x
    package = importlib.import_module("mcp.server.fastmcp")

MCPServer: Any = getattr(package, "MCPServer", None) or package.FastMCP
Context: Any = package.Context
Json = dict[str, Any]

INITIALIZED: Json = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def initialize(**capabilities: Json) -> Json:
    client = {"name": "claude-code", "version": "2.1.325"}
    params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client}
    return {"method": "initialize", "params": params, "jsonrpc": "2.0", "id": 0}


def request(method: str, request_id: int = 1, **params: Any) -> Json:
    return {"method": method, "params": params, "jsonrpc": "2.0", "id": request_id}


def call(name: str, arguments: Json, request_id: int = 2) -> Json:
    meta = {"claudecode/toolUseId": "toolu_fake_0001_0", "progressToken": request_id}
    return request("tools/call", request_id, name=name, arguments=arguments, _meta=meta)


class Agent:
    """The agent's side: collects the messages that the server initiates."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[Json] = asyncio.Queue()

    async def send(self, message: Json) -> None:
        await self.heard.put(message)


@asynccontextmanager
async def opened(server: object, agent: Agent | None = None, **capabilities: Json) -> AsyncGenerator[McpEndpoint]:
    async with asyncio.timeout(20):
        endpoint = mcp_endpoint(server, name="calc")
        await endpoint.open((agent or Agent()).send)
        try:
            reply = await endpoint.receive(initialize(**capabilities))
            assert reply is not None
            assert reply["result"]["protocolVersion"] in PROTOCOL_VERSIONS
            await endpoint.receive(INITIALIZED)
            yield endpoint
        finally:
            await endpoint.close()


async def texts(endpoint: McpEndpoint, message: Json) -> list[str]:
    reply = await endpoint.receive(message)
    assert reply is not None
    assert reply["id"] == message["id"]
    return [block["text"] for block in reply["result"]["content"]]


class Person(BaseModel):
    name: str


def calculator() -> Any:
    server = MCPServer("calculator")

    @server.tool()
    def add(a: int, b: int) -> str:  # pyright: ignore[reportUnusedFunction]
        """Add two numbers"""
        return str(a + b)

    return server


async def test_decorated_server_answers_handshake_and_calls():
    async with opened(calculator()) as endpoint:
        listed = await endpoint.receive(request("tools/list"))
        assert listed is not None
        assert [(entry["name"], entry["description"]) for entry in listed["result"]["tools"]] == [
            ("add", "Add two numbers")
        ]
        assert await texts(endpoint, call("add", {"a": 2, "b": 3})) == ["5"]
        unknown = await endpoint.receive(request("no/such", 3))
        assert unknown is not None
        assert unknown["error"]["code"] in (-32601, -32602)


def low_level() -> Any:
    add = Tool.model_validate({"name": "add", "description": "Add", "inputSchema": {"type": "object"}})

    def total(arguments: Json) -> list[Any]:
        return [TextContent(type="text", text=str(sum(arguments.values())))]

    if hasattr(Server, "list_tools"):  # mcp 1.x
        server: Any = Server("low")
        server.list_tools()(_returning([add]))

        async def call_v1(name: str, arguments: Json) -> list[Any]:
            return total(arguments)

        server.call_tool()(call_v1)
        return server

    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[add])

    async def call_tool(context: Any, params: Any) -> CallToolResult:
        return CallToolResult(content=total(params.arguments))

    return Server("low", on_list_tools=list_tools, on_call_tool=call_tool)


def _returning(value: Any) -> Any:
    async def function() -> Any:
        return value

    return function


async def test_low_level_server_answers():
    async with opened(low_level()) as endpoint:
        assert await texts(endpoint, call("add", {"a": 2, "b": 3})) == ["5"]


async def test_calls_run_concurrently():
    async with asyncio.timeout(20):
        meeting = asyncio.Barrier(10)
        server = MCPServer("m")

        @server.tool()
        async def meet(number: int) -> str:  # pyright: ignore[reportUnusedFunction]
            await meeting.wait()
            return str(number)

        async with opened(server) as endpoint:
            every = [texts(endpoint, call("meet", {"number": n}, n + 2)) for n in range(10)]
            assert await asyncio.gather(*every) == [[str(n)] for n in range(10)]


class Waiting:
    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.ended = asyncio.Event()
        self.server = calculator()
        self.server.tool()(self.wait)

    async def wait(self) -> str:
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
        return "never"


async def test_cancelled_call_is_answered_and_stopped():
    waiting = Waiting()
    async with opened(waiting.server) as endpoint:
        running = asyncio.create_task(endpoint.receive(call("wait", {})))
        await waiting.started.wait()
        params = {"requestId": 2, "reason": "AbortError: remote-cancel"}
        await endpoint.receive({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        assert await running == {
            "jsonrpc": "2.0",
            "id": 2,
            "error": {"code": -32800, "message": "the call was cancelled"},
        }
        await waiting.ended.wait()
        assert await texts(endpoint, call("add", {"a": 1, "b": 1}, 3)) == ["2"]


async def test_cancelling_the_receiver_stops_the_call():
    waiting = Waiting()
    async with opened(waiting.server) as endpoint:
        running = asyncio.create_task(endpoint.receive(call("wait", {})))
        await waiting.started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await waiting.ended.wait()


async def test_close_cancels_running_calls():
    waiting = Waiting()
    async with opened(waiting.server) as endpoint:
        running = asyncio.create_task(endpoint.receive(call("wait", {})))
        await waiting.started.wait()
        await endpoint.close()
        reply = await running
        assert reply is not None
        assert reply["error"]["code"] == -32800
        assert waiting.ended.is_set()
        late = await endpoint.receive(call("add", {"a": 1, "b": 1}, 3))
        assert late is not None
        assert "is not connected" in late["error"]["message"]


async def test_second_handshake_restarts_the_server():
    waiting = Waiting()
    async with opened(waiting.server) as endpoint:
        running = asyncio.create_task(endpoint.receive(call("wait", {}, 5)))
        await waiting.started.wait()
        again = await endpoint.receive(initialize())
        assert again is not None
        assert "result" in again
        reply = await running
        assert reply is not None
        assert reply["error"]["code"] == -32800
        await endpoint.receive(INITIALIZED)
        assert await texts(endpoint, call("add", {"a": 1, "b": 1}, 5)) == ["2"]


async def test_progress_is_sent_to_the_agent():
    server, agent = MCPServer("m"), Agent()

    @server.tool()
    async def work(ctx: Context) -> str:  # pyright: ignore
        await ctx.report_progress(1, 2)
        return "done"

    async with opened(server, agent) as endpoint:
        assert await texts(endpoint, call("work", {})) == ["done"]
        told = await agent.heard.get()
    assert told["method"] == "notifications/progress"
    assert told["params"]["progressToken"] == 2
    assert (told["params"]["progress"], told["params"]["total"]) == (1, 2)


async def test_request_of_the_server_is_answered_by_the_agent():
    server, agent = MCPServer("m"), Agent()

    @server.tool()
    async def greet(ctx: Context) -> str:  # pyright: ignore
        asked = await ctx.elicit("Your name?", Person)
        return f"Hello {asked.data.name}" if asked.action == "accept" else "Hello"

    async with opened(server, agent, elicitation={}) as endpoint:
        running = asyncio.create_task(texts(endpoint, call("greet", {})))
        question = await agent.heard.get()
        assert (question["method"], question["params"]["message"]) == ("elicitation/create", "Your name?")
        result = {"action": "accept", "content": {"name": "Bob"}}
        assert await endpoint.receive({"jsonrpc": "2.0", "id": question["id"], "result": result}) is None
        assert await running == ["Hello Bob"]


async def test_failed_start_is_answered_with_its_reason():
    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncGenerator[None]:
        raise RuntimeError("the database is down")
        yield

    server: Any = Server("low", lifespan=lifespan)
    async with asyncio.timeout(20):
        endpoint = mcp_endpoint(server)
        await endpoint.open(Agent().send)
        reply = await endpoint.receive(initialize())
        assert reply is not None
        assert reply["error"] == {"code": -32603, "message": "MCP server 'low' is not running: the database is down"}
        await endpoint.close()


async def test_invalid_json_rpc_is_refused_or_dropped():
    async with opened(calculator()) as endpoint:
        assert await endpoint.receive({"method": 5}) is None
        refused = await endpoint.receive({"jsonrpc": "1.0", "method": "ping", "id": 4})
        assert refused is not None
        assert refused["error"]["code"] == -32600
        assert await texts(endpoint, call("add", {"a": 1, "b": 1})) == ["2"]


async def test_null_in_structured_content_is_kept():
    server = MCPServer("m")

    @server.tool()
    def look() -> dict[str, Any]:  # pyright: ignore[reportUnusedFunction]
        return {"found": None}

    async with opened(server) as endpoint:
        reply = await endpoint.receive(call("look", {}))
    assert reply is not None
    assert reply["result"]["structuredContent"] == {"found": None}


def test_package_servers_are_recognized_by_class():
    assert is_package_server(MCPServer("a"))
    assert is_package_server(Server("a"))
    assert not is_package_server({"command": "x"})


def test_unsafe_server_name_must_be_replaced():
    server = MCPServer("my server")
    with pytest.raises(ValueError, match="MCP server name 'my server'"):
        mcp_endpoint(server)
    assert mcp_endpoint(server, name="mine").name == "mine"
