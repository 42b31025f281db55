"""In-process MCP servers, called by the CLI through a session."""

import asyncio
from typing import Any

import pytest

from handrail import ControlRefused, Options, OptionsError, Session, ToolContext, mcp_server, tool
from handrail.client.mcp_host import McpHost
from handrail.testing import ScriptedCli
from tests.client.conversation import joined

Json = dict[str, Any]
INITIALIZE: Json = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
INITIALIZED: Json = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@tool
def add(a: int, b: int) -> str:
    """Add."""
    return str(a + b)


def calls(name: str, id: int = 1, **arguments: Any) -> Json:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


async def told(cli: ScriptedCli, server: str, message: Json) -> Any:
    answer = await cli.ask("mcp_message", server_name=server, message=message)
    assert not isinstance(answer, ControlRefused), answer
    return answer["mcp_response"]


async def test_handshake_listing_and_call():
    cli = ScriptedCli()
    async with joined(cli, Options(mcp_servers=[mcp_server("calc", [add])])):
        hello = await told(cli, "calc", INITIALIZE)
        assert (hello["id"], hello["result"]["serverInfo"]["name"]) == (0, "calc")
        assert (await told(cli, "calc", INITIALIZED)) == {"jsonrpc": "2.0", "result": {}}
        listed = await told(cli, "calc", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert [one["name"] for one in listed["result"]["tools"]] == ["add"]
        sum_ = await told(cli, "calc", calls("add", a=2, b=3))
        assert sum_["result"]["content"] == [{"type": "text", "text": "5"}]


async def test_server_is_reachable_by_its_given_name():
    cli = ScriptedCli()
    servers = {"sums": mcp_server("calc", [add]), "b": {"type": "sdk", "name": "b", "instance": mcp_server("x")}}
    async with joined(cli, Options(mcp_servers=servers)):
        assert (await told(cli, "sums", INITIALIZE))["result"]["serverInfo"]["name"] == "sums"
    assert cli.requests[0]["sdkMcpServers"] == ["sums", "b"]


@pytest.mark.parametrize(
    ("fields", "error", "code"),
    [
        ({"server_name": "other", "message": {}}, "no MCP server is named 'other' here", ""),
        ({"message": {}}, "no MCP server is named None here", ""),
        ({"server_name": "calc"}, "mcp_message without a `message` object", "invalid_request"),
        ({"server_name": "calc", "message": []}, "mcp_message without a `message` object", "invalid_request"),
    ],
)
async def test_message_to_an_unknown_server_is_refused(fields: Json, error: str, code: str):
    cli = ScriptedCli()
    async with joined(cli, Options(mcp_servers=[mcp_server("calc")])):
        answer = await cli.ask("mcp_message", **fields)
    assert isinstance(answer, ControlRefused)
    assert (answer.error, answer.code) == (error, code)


async def test_tool_can_await_its_own_session():
    @tool
    async def rename() -> str:
        """Ask the CLI for something while it waits for us."""
        await session.rename_session("T")
        return "renamed"

    cli = ScriptedCli()
    async with joined(cli, Options(mcp_servers=[mcp_server("self", [rename])])) as session:
        await told(cli, "self", INITIALIZE)
        answer = await told(cli, "self", calls("rename"))
    assert answer["result"]["content"][0]["text"] == "renamed"
    assert {"subtype": "rename_session", "title": "T"} in cli.requests


async def test_server_notifications_are_sent_with_its_name():
    @tool
    async def work(context: ToolContext) -> str:
        """Say something meanwhile."""
        await context.progress(1, 2, "half")
        return "done"

    server = mcp_server("worker", [work])
    cli = ScriptedCli()
    async with joined(cli, Options(mcp_servers=[server])):
        await told(cli, "worker", INITIALIZE)
        await told(cli, "worker", INITIALIZED)
        request = calls("work")
        request["params"]["_meta"] = {"progressToken": 7}
        await told(cli, "worker", request)
        await server.add_tool(add)
    said = [one for one in cli.requests if one["subtype"] == "mcp_message"]
    assert [one["server_name"] for one in said] == ["worker", "worker"]
    assert [one["message"]["method"] for one in said] == [
        "notifications/progress",
        "notifications/tools/list_changed",
    ]
    assert said[0]["message"]["params"]["progress"] == 1


async def test_running_call_is_cancelled_when_the_session_closes():
    called, cancelled = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        """Never ends by itself."""
        called.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return ""

    cli = ScriptedCli()
    async with joined(cli, Options(mcp_servers=[mcp_server("a", [slow])])):
        await told(cli, "a", INITIALIZE)
        asking = asyncio.create_task(cli.ask("mcp_message", server_name="a", message=calls("slow")))
        await called.wait()
    assert cancelled.is_set()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


async def test_one_server_serves_several_sessions():
    server = mcp_server("calc", [add])
    first, second = ScriptedCli(), ScriptedCli()
    options = Options(mcp_servers=[server])
    async with joined(first, options), joined(second, options):
        for cli in (first, second):
            await told(cli, "calc", INITIALIZE)
        assert (await told(second, "calc", calls("add", a=1, b=1)))["result"]["content"][0]["text"] == "2"


@pytest.mark.parametrize("wrong", [5, "server", object()])
def test_invalid_server_is_rejected_before_the_start(wrong: Any):
    with pytest.raises(OptionsError, match="mcp_servers: .*is not an MCP server"):
        Session(Options(mcp_servers={"a": wrong}))


@pytest.mark.parametrize("name", ["a__b", "a b", "ü", "x" * 65])
def test_unsafe_server_name_is_rejected(name: str):
    with pytest.raises(OptionsError, match="mcp_servers: MCP server name"):
        Session(Options(mcp_servers={name: mcp_server("fine")}))


def test_failure_to_open_names_the_server():
    class Broken:
        """Looks like one of the mcp package."""

        name = "broken"

    with pytest.raises(OptionsError, match="mcp_servers"):
        McpHost({"broken": Broken()}, lambda name, message: asyncio.sleep(0))
