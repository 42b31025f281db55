"""MCP servers: in this process, of the mcp package, and started by the CLI."""

from __future__ import annotations

import asyncio
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail import (
    Allow,
    ControlRefused,
    ElicitationAnswer,
    ElicitationRequest,
    PermissionRequest,
    Session,
    ToolContext,
    image_content,
    mcp_server,
    tool,
)
from handrail.schema.system_messages import InitMessage
from handrail.testing import Lab, text, tool_use
from tests.interop.scenario import PNG, Model, Talk, blocks_sent, everything_sent, of, results_seen, results_sent

try:
    package: Any = importlib.import_module("mcp.server.mcpserver")
except ImportError:  # mcp 1.x
    package = importlib.import_module("mcp.server.fastmcp")
PackageServer: Any = getattr(package, "MCPServer", None) or package.FastMCP


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return f"the sum is {a + b}"


async def test_a_tool_of_this_process_is_called(model: Model, talk: Talk):
    asked: list[PermissionRequest] = []
    seen: list[ToolContext] = []

    @tool
    async def greet(name: str, context: ToolContext) -> dict[str, str]:
        seen.append(context)
        return {"greeting": f"Hello, {name}"}

    def decide(request: PermissionRequest) -> Allow:
        asked.append(request)
        return Allow()

    api = model(tool_use("mcp__people__greet", name="Ada"), text("done"))
    async with talk(api, mcp_servers=[mcp_server("people", [greet])], can_use_tool=decide) as session:
        messages = [message async for message in await session.send("go")]
    (info,) = of(InitMessage, messages)
    assert [(server.name, server.status) for server in info.mcp_servers] == [("people", "connected")]
    assert "mcp__people__greet" in info.tools
    assert asked[0].mcp_server is not None
    assert (asked[0].tool_name, asked[0].mcp_server.name) == ("mcp__people__greet", "people")
    assert seen[0].tool_use_id == asked[0].tool_use_id
    assert '{"greeting":"Hello, Ada"}' in results_sent(api.main_requests[1])[0]


async def test_sync_function_as_a_tool_runs_in_a_thread(model: Model, talk: Talk):
    def double(number: int) -> int:
        """Twice the number."""
        return number * 2

    api = model(tool_use("mcp__maths__double", number=21), text("done"))
    async with talk(api, mcp_servers={"maths": mcp_server("maths", [double])}, allowed_tools=["mcp__maths"]) as session:
        await session.ask("go")
    assert results_sent(api.main_requests[1]) == ["42"]


async def test_tool_errors_are_sent_to_the_model(model: Model, talk: Talk):
    @tool
    async def fail() -> str:
        raise ValueError("the oven is cold")

    calls = [tool_use("mcp__kitchen__fail"), tool_use("mcp__kitchen__add", a="one", b=2)]
    api = model(*calls, text("done"))
    server = mcp_server("kitchen", [fail, add])
    async with talk(api, mcp_servers=[server], allowed_tools=["mcp__kitchen"]) as session:
        messages = [message async for message in await session.send("go")]
    assert [result.is_error for result in results_seen(messages)] == [True, True]
    sent = results_sent(api.main_requests[2])
    assert "the oven is cold" in sent[0]
    assert "`a`" in sent[1]


async def test_tool_can_return_an_image(model: Model, talk: Talk):
    @tool
    async def draw() -> Any:
        return ["a pixel", image_content(PNG, "image/png")]

    api = model(tool_use("mcp__art__draw"), text("done"))
    async with talk(api, mcp_servers=[mcp_server("art", [draw])], allowed_tools=["mcp__art"]) as session:
        await session.ask("go")
    (result,) = [block for block in blocks_sent(api.main_requests[1]) if block["type"] == "tool_result"]
    assert [block["type"] for block in result["content"]][:2] == ["text", "image"]


async def test_interrupt_cancels_the_running_tool(model: Model, talk: Talk):
    called: asyncio.Future[ToolContext] = asyncio.get_running_loop().create_future()
    cancelled = asyncio.Event()

    @tool
    async def sleep(context: ToolContext) -> str:
        called.set_result(context)
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    api = model(tool_use("mcp__bed__sleep"), text("awake"))
    async with talk(api, mcp_servers=[mcp_server("bed", [sleep])], allowed_tools=["mcp__bed"]) as session:
        turn = await session.send("go")
        context = await called
        await session.interrupt()
        await cancelled.wait()
        assert context.cancelled.is_set()
        assert (await turn).reason == "aborted_tools"
        assert (await session.ask("well?")).text == "awake"


async def test_tool_reports_progress_and_logs(model: Model, talk: Talk):
    @tool
    async def count(context: ToolContext) -> str:
        for number in (1, 2):
            await context.progress(number, 2, f"{number} of 2")
        await context.log("info", "counted")
        return "done counting"

    api = model(tool_use("mcp__sums__count"), text("done"))
    async with talk(api, mcp_servers=[mcp_server("sums", [count])], allowed_tools=["mcp__sums"]) as session:
        assert (await session.ask("go")).text == "done"
    assert results_sent(api.main_requests[1]) == ["done counting"]


async def relisted(session: Session, tool_name: str, change: Any) -> None:
    """Make a change and wait until the CLI has received a tool list with this name."""
    frames = session.frames()
    await change
    async for direction, frame in frames:
        if direction == "in" and b'"tools":[' in frame.raw and tool_name.encode() in frame.raw:
            return


async def test_added_tool_can_be_called(model: Model, talk: Talk):
    async def late() -> str:
        """A latecomer."""
        return "better late"

    server = mcp_server("crowd", [add])
    api = model(text("one"), tool_use("mcp__crowd__late"), text("two"))
    async with talk(api, mcp_servers=[server], allowed_tools=["mcp__crowd"]) as session:
        await session.ask("first")
        await relisted(session, "late", server.add_tool(late))
        await session.ask("second")
    assert "mcp__crowd__late" not in everything_sent(api.main_requests[0])
    assert "mcp__crowd__late" in everything_sent(api.main_requests[1])
    assert results_sent(api.main_requests[2]) == ["better late"]


async def test_a_server_of_the_mcp_package_is_called(model: Model, talk: Talk):
    server = PackageServer("library")

    @server.tool()
    def find(title: str) -> str:
        """Find a book."""
        return f"{title} is on the second floor"

    api = model(tool_use("mcp__library__find", title="Emma"), text("done"))
    async with talk(api, mcp_servers={"library": server}, allowed_tools=["mcp__library"]) as session:
        await session.ask("go")
        status = await session.mcp_status()
    assert "Emma is on the second floor" in results_sent(api.main_requests[1])[0]
    assert [(one.name, one.status) for one in status.servers] == [("library", "connected")]


async def test_server_is_disabled_and_enabled(model: Model, talk: Talk):
    async with talk(model(text("hi"), text("again")), mcp_servers=[mcp_server("calc", [add])]) as session:
        await session.ask("hi")
        (before,) = (await session.mcp_status()).servers
        await session.mcp_toggle("calc", enabled=False)
        (off,) = (await session.mcp_status()).servers
        await session.mcp_toggle("calc", enabled=True)
        (on,) = (await session.mcp_status()).servers
    assert (before.status, off.status, on.status) == ("connected", "disabled", "connected")
    assert [one.name for one in before.tools] == ["add"]
    assert off.tools == []
    assert on == before


SHOP = {"shop": {"command": sys.executable, "args": ["-I", str(Path(__file__).with_name("shop_server.py"))]}}
"""A server that the CLI starts as a child process, and that asks the user."""


async def test_server_of_the_cli_asks_the_user(model: Model, talk: Talk):
    asked: list[ElicitationRequest] = []

    async def answer(request: ElicitationRequest) -> ElicitationAnswer:
        asked.append(request)
        return ElicitationAnswer("accept", {"size": "XL"})

    api = model(tool_use("mcp__shop__order", item="hat"), text("done"))
    options = {"mcp_servers": SHOP, "allowed_tools": ["mcp__shop"], "on_elicitation": answer}
    async with talk(api, **options) as session:
        await session.ask("go")
    assert [(request.mcp_server_name, request.message) for request in asked] == [("shop", "Which size?")]
    assert results_sent(api.main_requests[1]) == ["hat: accept XL"]


async def test_a_server_that_the_cli_starts_is_called_without_the_model(model: Model, talk: Talk):
    server = mcp_server("calc", [add])
    options = {"mcp_servers": {**SHOP, "calc": server}, "on_elicitation": lambda request: None}
    async with talk(model(text("hi")), **options) as session:
        await session.ask("hi")
        answer = await session.mcp_call("mcp__shop__order", {"item": "coat"})
        with pytest.raises(ControlRefused, match="SDK"):
            await session.mcp_call("mcp__calc__add", {"a": 1, "b": 2})
    assert "coat: decline" in str(answer.content)


async def test_server_that_fails_to_start_is_reported_and_the_session_continues(model: Model, talk: Talk, lab: Lab):
    missing: Path = lab.project / "no-such-server"
    async with talk(model(text("fine")), mcp_servers={"gone": {"command": str(missing)}}) as session:
        assert (await session.ask("hi")).text == "fine"
        (server,) = (await session.mcp_status()).servers
    assert (server.name, server.status) == ("gone", "failed")


LIBRARY = {
    "type": "stdio",
    "command": sys.executable,
    "args": [str(Path(__file__).with_name("library_server.py"))],
}


async def test_resources_are_not_listed_by_this_cli(model: Model, talk: Talk):
    async with talk(model(text("hi"), text("seen")), mcp_servers={"library": LIBRARY}) as session:
        await session.ask("hello")
        answer = await session.mcp_list_resources()
        assert (answer.resources, answer.supported) == ([], False)
        with pytest.raises(ControlRefused, match="ui://"):
            await session.mcp_read_resource("library", "note://one")


async def test_prompt_of_a_server_is_listed_as_a_command(model: Model, talk: Talk):
    api = model(text("hi"), text("greeted"))
    async with talk(api, mcp_servers={"library": LIBRARY}) as session:
        await session.ask("hello")
        assert "mcp__library__greet" in {command.name for command in session.commands}
        assert (await session.ask("/mcp__library__greet Ann")).text == "greeted"
        assert "GREETING" in everything_sent(api.main_requests[-1])
