"""Prompts and resources of MCP servers: listed for the host, and used in a conversation."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts import Prompt

from handrail import ControlRefused, Session, mcp_server, tool
from handrail.schema.agent_answers import McpResource
from handrail.schema.system_messages import CommandsChangedMessage
from handrail.testing import Endpoint, text, tool_use
from tests.contract.conftest import Talk, TalkToApi

SERVER = str(Path(__file__).parents[1] / "interop" / "library_server.py")


def library(*flags: str) -> dict[str, Any]:
    return {"type": "stdio", "command": sys.executable, "args": [SERVER, *flags]}


def last_prompt(api: Endpoint) -> str:
    return "\n".join(str(block.get("text")) for block in api.main_requests[-1].messages[-1]["content"])


def mcp_commands(session: Session) -> dict[str, str]:
    return {one.name: one.description for one in session.commands if one.name.startswith("mcp__")}


# Resources


async def test_resources_are_listed_for_the_host(talk: Talk):
    async with talk(text("hi"), mcp_servers={"library": library(), "plain": library("--broken")}) as session:
        answer = await session.mcp_list_resources()
        assert answer.supported
        assert [(one.server, one.uri, one.name) for one in answer.resources] == [
            ("library", "note://one", "one"),
            ("library", "note://two", "two"),
        ]
        first, second = answer.resources
        assert (first.mime_type, first.description, second.title) == ("text/plain", "The first note", "Second note")
        assert list(answer.errors) == ["plain"]
        assert (await session.mcp_list_resources("library")).resources == answer.resources
        assert isinstance(first, McpResource)


async def test_resources_of_an_unknown_server_are_refused(talk: Talk):
    async with talk(text("hi"), mcp_servers={"library": library()}) as session:
        with pytest.raises(ControlRefused, match="nosuch"):
            await session.mcp_list_resources("nosuch")


async def test_no_servers_means_no_resources(talk: Talk):
    async with talk(text("hi")) as session:
        answer = await session.mcp_list_resources()
        assert (answer.resources, answer.errors, answer.supported) == ([], {}, True)


async def test_resource_is_read_for_the_host(talk: Talk):
    async with talk(text("hi"), mcp_servers={"library": library()}) as session:
        assert (await session.mcp_list_resources()).resources
        answer = await session.mcp_read_resource("library", "note://one")
        assert answer.contents == [{"uri": "note://one", "mimeType": "text/plain", "text": "MEMOTEXT"}]


async def test_mentioned_resource_reaches_the_model(talk_to_api: TalkToApi):
    async with talk_to_api(mcp_servers={"library": library()}) as (session, api):
        await session.ask("Look at @library:note://one, please")
        assert "MEMOTEXT" in last_prompt(api)


async def test_file_suggestions_name_their_folder(talk: Talk):
    async with talk(text("hi")) as session:
        assert session.options.cwd
        assert (await session.file_suggestions("")).cwd == str(session.options.cwd)


# Prompts


async def test_prompts_of_connected_servers_are_slash_commands(talk: Talk):
    async with talk(text("hi"), mcp_servers={"library": library()}) as session:
        reader = session.messages()
        await session.ask("hello")
        assert session.info is not None
        assert {"mcp__library__greet", "mcp__library__memo"} <= set(session.info.slash_commands)
        assert mcp_commands(session)["mcp__library__greet"] == "Greets"
        await session.mcp_toggle("library", enabled=False)
        assert mcp_commands(session) == {}
    pushed = [message async for message in reader if isinstance(message, CommandsChangedMessage)]
    assert len(pushed) == 2


async def test_prompt_is_fetched_with_its_arguments_and_run(talk_to_api: TalkToApi):
    async with talk_to_api(mcp_servers={"library": library()}) as (session, api):
        result = await session.ask("/mcp__library__greet Ann politely")
        assert 'GREETING {"who": "Ann", "how": "politely"}' in last_prompt(api)
        assert result.text == "answer 0"
        await session.ask("/mcp__library__memo")
        assert "MEMOTEXT" in last_prompt(api)


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("/mcp__library__greet", "Missing required argument: who. Usage: /mcp__library__greet who [how]"),
        ("/mcp__library__blank", "mcp__library__blank returned no messages"),
    ],
)
async def test_prompt_that_cannot_run_is_an_error_without_a_model_call(
    talk_to_api: TalkToApi, prompt: str, reason: str
):
    async with talk_to_api(mcp_servers={"library": library()}) as (session, api):
        result = await session.ask(prompt)
        assert (result.text, api.main_requests) == (f"Error: {reason}", [])
        assert (await session.ask("still there?")).text == "answer 0"


async def test_changed_prompts_are_listed_again(talk: Talk):
    call = tool_use("mcp__library__publish")
    servers = {"library": library()}
    async with talk(call, text("done"), text("bye"), mcp_servers=servers, can_use_tool=lambda _: True) as session:
        await session.ask("publish")
        await session.ask("next")
        assert mcp_commands(session) == {"mcp__library__farewell": "Says goodbye"}


async def test_server_whose_prompts_fail_keeps_its_tools(talk: Talk):
    async with talk(text("hi"), mcp_servers={"library": library("--broken")}) as session:
        await session.ask("hello")
        (server,) = (await session.mcp_status()).servers
        assert (server.status, [tool.name for tool in server.tools]) == ("connected", ["publish"])


async def test_tool_added_by_the_host_is_offered(talk: Talk):
    @tool
    async def first() -> str:
        """The first tool."""
        return "1"

    @tool
    async def second() -> str:
        """The second tool."""
        return "2"

    server = mcp_server("mine", [first])
    async with talk(text("one"), text("two"), mcp_servers=[server]) as session:
        await session.ask("hello")
        await server.add_tool(second)
        await session.ask("again")
        assert session.info is not None
        assert {"mcp__mine__first", "mcp__mine__second"} <= set(session.info.tools)


async def test_tool_added_during_a_turn_can_be_called_in_it(talk: Talk):
    server = mcp_server("mine", [])

    @tool
    async def late() -> str:
        """Added while the turn runs."""
        return "LATE"

    @tool
    async def grow() -> str:
        """Adds the other tool."""
        await server.add_tool(late)
        return "added"

    await server.add_tool(grow)
    calls = (tool_use("mcp__mine__grow"), tool_use("mcp__mine__late"), text("done"))
    async with talk(*calls, mcp_servers=[server], can_use_tool=lambda _: True) as session:
        reader = session.messages()
        assert (await session.ask("grow")).text == "done"
    assert any(b"LATE" in message.raw for message in [message async for message in reader])


async def test_first_prompt_and_resource_of_a_running_server_are_offered(talk: Talk):
    server = MCPServer("shelf")

    def greet(who: str) -> str:
        """Greets."""
        return f"Hello {who}"

    @server.tool()
    async def publish(context: Context) -> str:
        server.add_prompt(Prompt.from_function(greet))
        server.resource("note://new", name="new")(lambda: "NEWTEXT")
        await context.session.send_prompt_list_changed()
        await context.session.send_resource_list_changed()
        return "published"

    calls = (tool_use("mcp__shelf__publish"), text("done"), text("next"))
    async with talk(*calls, mcp_servers=[server], can_use_tool=lambda _: True) as session:
        await session.ask("publish")
        await session.ask("next")
        assert list(mcp_commands(session)) == ["mcp__shelf__greet"]
        assert [one.uri for one in (await session.mcp_list_resources()).resources] == ["note://new"]
        assert session.info is not None
        assert "ListMcpResourcesTool" in session.info.tools


@pytest.mark.parametrize("server", ["library", "nosuch"])
async def test_message_for_a_server_outside_the_host_has_no_effect(talk: Talk, server: str):
    async with talk(text("hi"), mcp_servers={"library": library()}) as session:
        before = await session.mcp_status()
        await session.mcp_message(server, {"jsonrpc": "2.0", "id": 0, "result": {"tools": []}})
        assert [one.tools for one in (await session.mcp_status()).servers] == [one.tools for one in before.servers]


async def test_resources_are_read_without_permission(talk: Talk):
    call = tool_use("ReadMcpResourceTool", server="library", uri="note://one")
    asked: list[Any] = []
    async with talk(call, text("done"), mcp_servers={"library": library()}, can_use_tool=asked.append) as session:
        reader = session.messages()
        assert (await session.ask("read")).text == "done"
    assert asked == []
    assert any(b"MEMOTEXT" in message.raw for message in [message async for message in reader])


async def test_denied_server_offers_no_tools(talk: Talk):
    call = tool_use("mcp__library__publish")
    servers = {"library": library()}
    async with talk(call, text("done"), mcp_servers=servers, disallowed_tools=["mcp__library__*"]) as session:
        result = await session.ask("publish")
        assert session.info is not None
        assert "mcp__library__publish" not in session.info.tools
        assert result.permission_denials == []


async def test_the_environment_limits_what_the_model_sees_of_a_result(talk_to_api: TalkToApi):
    @tool
    async def recite() -> str:
        """Recite a long poem."""
        return "rose " * 1_000

    seen: list[int] = []
    for variables in ({}, {"MAX_MCP_OUTPUT_TOKENS": "10"}):
        replies = (tool_use("mcp__poems__recite"), text("done"))
        options: dict[str, Any] = {"mcp_servers": [mcp_server("poems", [recite])], "allowed_tools": ["mcp__poems"]}
        async with talk_to_api(*replies, variables=variables, **options) as (session, endpoint):
            await session.ask("go")
            seen.append(json.dumps(endpoint.main_requests[-1].body["messages"]).count("rose"))
    assert seen[0] == 1_000
    assert seen[1] < 900
