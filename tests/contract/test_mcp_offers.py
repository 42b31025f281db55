"""Prompts and resources of MCP servers: listed for the host, and used in a conversation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

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


async def test_a_resource_is_read_for_the_host(talk: Talk):
    async with talk(text("hi"), mcp_servers={"library": library()}) as session:
        assert (await session.mcp_list_resources()).resources
        answer = await session.mcp_read_resource("library", "note://one")
        assert answer.contents == [{"uri": "note://one", "mimeType": "text/plain", "text": "MEMOTEXT"}]


async def test_a_mentioned_resource_reaches_the_model(talk_to_api: TalkToApi):
    async with talk_to_api(mcp_servers={"library": library()}) as (session, api):
        await session.ask("Look at @library:note://one, please")
        assert "MEMOTEXT" in last_prompt(api)


async def test_file_suggestions_name_their_folder(talk: Talk):
    async with talk(text("hi")) as session:
        assert session.options.cwd
        assert (await session.file_suggestions("")).cwd == str(session.options.cwd)


# Prompts


async def test_prompts_are_slash_commands_once_their_server_is_connected(talk: Talk):
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


async def test_a_prompt_is_fetched_with_its_arguments_and_run(talk_to_api: TalkToApi):
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
async def test_a_prompt_that_cannot_run_says_why_without_asking_the_model(
    talk_to_api: TalkToApi, prompt: str, reason: str
):
    async with talk_to_api(mcp_servers={"library": library()}) as (session, api):
        result = await session.ask(prompt)
        assert (result.text, api.main_requests) == (f"Error: {reason}", [])
        assert (await session.ask("still there?")).text == "answer 0"


async def test_prompts_that_change_are_listed_again(talk: Talk):
    call = tool_use("mcp__library__publish")
    servers = {"library": library()}
    async with talk(call, text("done"), text("bye"), mcp_servers=servers, can_use_tool=lambda _: True) as session:
        await session.ask("publish")
        await session.ask("next")
        assert mcp_commands(session) == {"mcp__library__farewell": "Says goodbye"}


async def test_a_server_whose_prompts_fail_keeps_its_tools(talk: Talk):
    async with talk(text("hi"), mcp_servers={"library": library("--broken")}) as session:
        await session.ask("hello")
        (server,) = (await session.mcp_status()).servers
        assert (server.status, [tool.name for tool in server.tools]) == ("connected", ["publish"])


async def test_tools_that_a_host_changes_are_listed_again(talk: Talk):
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
        with pytest.raises(ControlRefused, match="nosuch"):
            await session.mcp_message("nosuch", {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})


# Signing in


async def test_signing_in_is_refused_and_the_status_says_so(talk: Talk):
    servers = {"library": library(), "web": {"type": "http", "url": "http://127.0.0.1:9/mcp"}}
    async with talk(text("hi"), mcp_servers=servers) as session:
        assert {server.name: server.sign_in for server in (await session.mcp_status()).servers} == {
            "library": False,
            "web": False,
        }
        for name, reason in (
            ("library", '"stdio" does not'),
            ("web", "not support OAuth sign-in"),
            ("nosuch", "not found"),
        ):
            with pytest.raises(ControlRefused, match=reason):
                await session.control("mcp_authenticate", serverName=name)
        with pytest.raises(ControlRefused, match="No active OAuth flow for server: web"):
            await session.control("mcp_oauth_callback_url", serverName="web", callbackUrl="http://localhost/?code=1")
