"""Our MCP servers, with messages as the CLI sends them."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from handrail.client import mcp_servers
from handrail.client.mcp_servers import McpServer, ServerEndpoint, mcp_endpoint, mcp_server
from handrail.client.mcp_tools import ToolContext, tool

Json = dict[str, Any]

INITIALIZE: Json = {
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {
            "name": "claude-code",
            "title": "Claude Code",
            "description": "Anthropic's agentic coding tool",
            "websiteUrl": "https://claude.com/claude-code",
            "version": "2.1.325",
        },
    },
    "jsonrpc": "2.0",
    "id": 0,
}
INITIALIZED: Json = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST: Json = {"method": "tools/list", "jsonrpc": "2.0", "id": 1}
LIST_CHANGED: Json = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def call(name: str, arguments: Json, request_id: int | str = 2) -> Json:
    meta = {"claudecode/toolUseId": "toolu_fake_0001_0", "progressToken": request_id}
    params = {"name": name, "arguments": arguments, "_meta": meta}
    return {"method": "tools/call", "params": params, "jsonrpc": "2.0", "id": request_id}


def cancel(request_id: int | str = 2) -> Json:
    params = {"requestId": request_id, "reason": "AbortError: remote-cancel"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


def answer(text: str, request_id: int | str = 2) -> Json:
    return {"jsonrpc": "2.0", "id": request_id, "result": {"content": [{"type": "text", "text": text}]}}


def refusal(code: int, message: str, request_id: object = 2) -> Json:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}


@asynccontextmanager
async def opened(server: object, *, sent: list[Json] | None = None) -> AsyncGenerator[mcp_servers.McpEndpoint]:
    """An endpoint after the handshake; messages of the server are added to `sent`."""

    async def send(message: Json) -> None:
        if sent is not None:
            sent.append(message)

    async with asyncio.timeout(5):
        endpoint = mcp_endpoint(server)
        await endpoint.open(send)
        await endpoint.receive(INITIALIZE)
        await endpoint.receive(INITIALIZED)
        try:
            yield endpoint
        finally:
            await endpoint.close()


@tool
def add(a: float, b: float) -> str:
    """Add two numbers"""
    return f"{a + b:g}"


def calc(*tools: Any) -> McpServer:
    return mcp_server("calc", [add, *tools])


async def test_handshake_is_answered():
    async with asyncio.timeout(5):
        endpoint = mcp_endpoint(mcp_server("calc", [add], version="2.0", instructions="Prefer add."))
        assert await endpoint.receive(INITIALIZE) == {
            "jsonrpc": "2.0",
            "id": 0,
            "result": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": True}, "logging": {}},
                "serverInfo": {"name": "calc", "version": "2.0"},
                "instructions": "Prefer add.",
            },
        }
        assert await endpoint.receive(INITIALIZED) is None
        assert await endpoint.receive(LIST) == {"jsonrpc": "2.0", "id": 1, "result": {"tools": [add.describe()]}}
        assert await endpoint.receive(call("add", {"a": 2, "b": 3})) == answer("5")


@pytest.mark.parametrize(
    ("asked", "given"),
    [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("2099-01-01", "2025-11-25"), (None, "2025-11-25")],
)
async def test_unknown_protocol_version_is_answered_with_the_newest(asked: Any, given: str):
    reply = await mcp_endpoint(calc()).receive({**INITIALIZE, "params": {"protocolVersion": asked}})
    assert reply is not None
    assert reply["result"]["protocolVersion"] == given


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        ({"id": 2, "method": "ping"}, {"jsonrpc": "2.0", "id": 2, "result": {}}),
        ({"id": "a", "method": "nothing/such"}, refusal(-32601, "method not found: nothing/such", "a")),
        ({"id": 2, "method": 7}, refusal(-32600, "a request needs a method")),
        ({"id": 2}, refusal(-32600, "a request needs a method")),
        ({"id": None, "method": "ping"}, refusal(-32600, "the id of a request is an integer or a string", None)),
        ({"id": [], "method": "ping"}, refusal(-32600, "the id of a request is an integer or a string", [])),
        ({"id": 2, "method": "tools/list", "params": []}, refusal(-32602, "params must be an object")),
        ({"id": 2, "method": "tools/call"}, refusal(-32602, "unknown tool: None")),
        ({"id": 2, "method": "tools/call", "params": {"name": "sub"}}, refusal(-32602, "unknown tool: sub")),
        ({"id": 2, "method": "tools/call", "params": {"name": {}}}, refusal(-32602, "unknown tool: {}")),
        (
            {"id": 2, "method": "tools/call", "params": {"name": "add", "arguments": "1+1"}},
            refusal(-32602, "arguments must be an object"),
        ),
        (
            {"id": 2, "method": "tools/call", "params": {"name": "add", "_meta": 1}},
            refusal(-32602, "_meta must be an object"),
        ),
        ({"id": 7, "result": {}}, None),
        ({"id": 7, "error": {"code": 1, "message": "x"}}, None),
        ({"method": "notifications/unheard-of", "params": 5}, None),
        ({"method": "notifications/cancelled", "params": {"requestId": {}}}, None),
        ({"method": "notifications/cancelled", "params": {"requestId": 99}}, None),
        ({}, None),
    ],
)
async def test_every_message_is_answered(message: Json, reply: Json | None):
    async with opened(calc()) as endpoint:
        assert await endpoint.receive(message) == reply


async def test_invalid_arguments_become_an_error_result():
    async with opened(calc()) as endpoint:
        reply = await endpoint.receive(call("add", {"a": "x"}))
    assert reply is not None
    assert reply["result"]["isError"] is True
    assert "argument `a`" in reply["result"]["content"][0]["text"]


async def test_concurrent_calls_are_answered_as_they_end():
    async with asyncio.timeout(5):
        meeting = asyncio.Barrier(20)

        @tool
        async def meet(number: int) -> str:
            await meeting.wait()
            return str(number)

        async with opened(calc(meet)) as endpoint:
            replies = await asyncio.gather(*(endpoint.receive(call("meet", {"number": n}, n)) for n in range(20)))
    assert replies == [answer(str(n), n) for n in range(20)]


class Waiting:
    """A tool that waits and records how it ended."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.ended = asyncio.Event()
        self.context: ToolContext | None = None

    async def wait(self, context: ToolContext) -> None:
        self.context = context
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


async def test_cancelled_notification_cancels_and_answers_the_call():
    waiting = Waiting()
    async with opened(calc(waiting.wait)) as endpoint:
        running = asyncio.create_task(endpoint.receive(call("wait", {})))
        await waiting.started.wait()
        assert await endpoint.receive(cancel()) is None
        assert await running == refusal(-32800, "the call was cancelled")
        await waiting.ended.wait()
        assert waiting.context is not None
        assert waiting.context.cancelled.is_set()
        assert await endpoint.receive(call("add", {"a": 1, "b": 1})) == answer("2")


async def test_tool_that_ignores_cancellation_does_not_delay_the_answer():
    async with asyncio.timeout(5):
        started, may_end = asyncio.Event(), asyncio.Event()

        @tool
        async def stubborn() -> str:
            started.set()
            while not may_end.is_set():
                try:
                    await may_end.wait()
                except asyncio.CancelledError:
                    continue
            return "late"

        async with opened(calc(stubborn)) as endpoint:
            running = asyncio.create_task(endpoint.receive(call("stubborn", {})))
            await started.wait()
            await endpoint.receive(cancel())
            assert await running == refusal(-32800, "the call was cancelled")
            may_end.set()


async def test_cancelling_the_receiver_cancels_the_tool():
    waiting = Waiting()
    async with opened(calc(waiting.wait)) as endpoint:
        running = asyncio.create_task(endpoint.receive(call("wait", {})))
        await waiting.started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await waiting.ended.wait()


async def test_call_of_a_tool_that_cancels_itself_is_answered():
    @tool
    async def give_up() -> None:
        raise asyncio.CancelledError

    async with opened(calc(give_up)) as endpoint:
        assert await endpoint.receive(call("give_up", {})) == refusal(-32800, "the call was cancelled")


async def test_close_cancels_running_calls():
    waiting = Waiting()
    async with opened(calc(waiting.wait)) as endpoint:
        running = asyncio.create_task(endpoint.receive(call("wait", {})))
        await waiting.started.wait()
        await endpoint.close()
        assert waiting.ended.is_set()
        assert await running == refusal(-32800, "the session was closed")


async def test_second_handshake_cancels_calls_and_resets_ids():
    waiting = Waiting()
    async with opened(calc(waiting.wait)) as endpoint:
        old = asyncio.create_task(endpoint.receive(call("wait", {}, 0)))
        await waiting.started.wait()
        await endpoint.receive(INITIALIZE)
        waiting.started.clear()
        new = asyncio.create_task(endpoint.receive(call("wait", {}, 0)))
        await waiting.started.wait()
        assert await old == refusal(-32800, "the agent connected again", 0)
        await endpoint.receive(cancel(0))
        assert await new == refusal(-32800, "the call was cancelled", 0)


async def test_id_in_use_is_rejected():
    waiting = Waiting()
    async with opened(calc(waiting.wait)) as endpoint:
        running = asyncio.create_task(endpoint.receive(call("wait", {})))
        await waiting.started.wait()
        refused = await endpoint.receive(call("wait", {}))
        assert refused == refusal(-32600, "a call with the id 2 is running")
        assert not running.done()


async def test_progress_and_log_lines_are_sent_before_the_answer():
    @tool
    async def work(context: ToolContext) -> str:
        await context.progress(1, 2)
        await context.log("info", "left out")
        await context.log("error", "told")
        return context.tool_use_id or ""

    sent: list[Json] = []
    async with opened(calc(work), sent=sent) as endpoint:
        level = {"method": "logging/setLevel", "id": 1, "params": {"level": "warning"}}
        assert await endpoint.receive(level) == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert await endpoint.receive(call("work", {})) == answer("toolu_fake_0001_0")
        wrong = await endpoint.receive({**level, "params": {"level": ["loud"]}})
    assert wrong is not None
    assert wrong["error"]["code"] == -32602
    assert sent == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": 2, "progress": 1, "total": 2},
        },
        {
            "jsonrpc": "2.0",
            "method": "notifications/message",
            "params": {"level": "error", "logger": "calc", "data": "told"},
        },
    ]


async def test_open_sessions_are_notified_of_tool_changes():
    server = calc()
    first: list[Json] = []
    second: list[Json] = []
    async with opened(server, sent=first) as one:
        async with opened(server, sent=second):
            await server.add_tool(tool(name="twice")(lambda: None))
        await server.remove_tool("add")
        reply = await one.receive(LIST)
    await server.remove_tool("twice")
    assert reply is not None
    assert [entry["name"] for entry in reply["result"]["tools"]] == ["twice"]
    assert first == [LIST_CHANGED, LIST_CHANGED]
    assert second == [LIST_CHANGED]


async def test_failing_notification_does_not_affect_other_sessions():
    server = calc()
    sent: list[Json] = []

    async def broken(message: Json) -> None:
        raise ConnectionError("gone")

    lost = ServerEndpoint(server)
    await lost.open(broken)
    await lost.receive(INITIALIZED)
    async with opened(server, sent=sent):
        await server.remove_tool("add")
    assert sent == [LIST_CHANGED]


async def test_nothing_is_sent_before_the_handshake():
    server = calc()
    sent: list[Json] = []

    async def send(message: Json) -> None:
        sent.append(message)

    endpoint = mcp_endpoint(server)
    await endpoint.open(send)
    await endpoint.receive(INITIALIZE)
    await server.remove_tool("add")
    assert sent == []


@pytest.mark.parametrize("name", ["", None, 5, "a b", "a__b", "a_", "ä", "x" * 65, "a\n", "a,b)"])
def test_unsafe_server_name_is_rejected(name: Any):
    with pytest.raises(ValueError, match="name"):
        mcp_server(name)


@pytest.mark.parametrize("name", ["a", "my-tools", "_x", "a_b-C9", "x" * 64])
def test_plain_server_name_is_accepted(name: str):
    assert mcp_server(name).name == name


async def test_duplicate_tool_name_is_rejected():
    with pytest.raises(ValueError, match="has a tool 'add' already"):
        calc(add)
    server = calc()
    with pytest.raises(ValueError, match="has a tool 'add' already"):
        await server.add_tool(add)
    with pytest.raises(ValueError, match="does not have a tool 'sub'; it has: add"):
        await server.remove_tool("sub")


def test_other_objects_are_rejected_as_servers():
    with pytest.raises(ValueError, match="dict is not an MCP server"):
        mcp_endpoint({"type": "sdk"})


def test_endpoint_is_returned_unchanged():
    endpoint = mcp_endpoint(calc(), name="renamed")
    assert endpoint.name == "renamed"
    assert mcp_endpoint(endpoint) is endpoint


def test_servers_import_no_heavy_packages():
    program = (
        "import sys, handrail.client.mcp_servers, handrail.client.mcp_package\n"
        "print(sorted({'mcp', 'anyio', 'pydantic', 'jsonschema', 'httpx2', 'starlette'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "[]"
