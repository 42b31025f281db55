"""ToolSearch loads definitions of tools that requests leave out."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.conversation.toolbox import MOST_SERVER_TOOLS
from handrail.agent.models.script import Script, text, tool_use
from handrail.conform.request_facts import keeps_prefix
from tests.agent.stage import StagedHost, stage

MODEL = ("--model", "claude-sonnet-5-5")


class Server:
    """A server of the host with numbered tools."""

    def __init__(self, count: int) -> None:
        self.tools = [
            {"name": f"tool_{n}", "description": f"Sends letter {n}.", "inputSchema": {"type": "object"}}
            for n in range(count)
        ]

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        message = request["message"]
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "m", "version": "1"},
            },
            "tools/list": {"tools": self.tools},
            "tools/call": {"content": [{"type": "text", "text": "sent"}]},
        }
        result = results.get(message["method"], {})
        return {"mcp_response": {"jsonrpc": "2.0", "id": message.get("id", 0), "result": result}}


@asynccontextmanager
async def served(
    folder: Path, count: int, *replies: Any, flags: tuple[str, ...] = (), **variables: str
) -> AsyncIterator[StagedHost]:
    script, model = Script.of(*replies, text("done")), () if "--model" in flags else MODEL
    async with stage(folder, script, *model, *flags, environment=variables) as host:
        host.answers["mcp_message"] = Server(count).answer
        await host.control("initialize", sdkMcpServers=["mail"])
        await host.turn("go")
        yield host


def search(query: str, **given: Any) -> Any:
    return tool_use("ToolSearch", query=query, **given)


def definitions(host: StagedHost, index: int = -1) -> dict[str, Any]:
    return {tool["name"]: tool for tool in host.model.asked[index]["tools"]}


def matches(host: StagedHost) -> list[str]:
    return host.of("user")[0]["tool_use_result"]["matches"]


async def test_few_tools_are_sent_whole(tmp_path: Path):
    async with served(tmp_path, MOST_SERVER_TOOLS) as host:
        assert len([name for name in definitions(host) if name.startswith("mcp__")]) == MOST_SERVER_TOOLS
        assert "ToolSearch" not in definitions(host)


async def test_many_tools_are_named_and_loaded_on_request(tmp_path: Path):
    call = tool_use("mcp__mail__tool_7")
    async with served(tmp_path, MOST_SERVER_TOOLS + 1, search("select:mcp__mail__tool_7,Nope"), call) as host:
        first, second = definitions(host, 0), definitions(host, 1)
        assert not [name for name in first if name.startswith("mcp__")]
        assert "mcp__mail__tool_30" in first["ToolSearch"]["description"].splitlines()
        assert set(second) - set(first) == {"mcp__mail__tool_7"}
        assert second["mcp__mail__tool_7"]["defer_loading"] is True
        [found, called] = host.results_of_tools()
        assert found["content"] == [{"type": "tool_reference", "tool_name": "mcp__mail__tool_7"}]
        assert called["content"][0]["text"] == "sent"
        detail = host.of("user")[0]["tool_use_result"]
        assert detail == {
            "matches": ["mcp__mail__tool_7"],
            "query": "select:mcp__mail__tool_7,Nope",
            "total_deferred_tools": MOST_SERVER_TOOLS + 1,
        }
        assert {"ToolSearch", "mcp__mail__tool_30"} <= set(host.of("system", "init")[0]["tools"])
        bodies = [
            {**asked, "tools": [tool for tool in asked["tools"] if "defer_loading" not in tool]}
            for asked in host.model.asked
        ]
        assert all(keeps_prefix(before, after) for before, after in pairwise(bodies))
        session = host.engine.session.id
    async with stage(tmp_path, Script.of(text("on")), *MODEL, "--resume", session) as host:
        await host.turn("go on")  # its server is gone, and results still refer to the tool
        assert definitions(host)["mcp__mail__tool_7"]["defer_loading"] is True


async def test_a_tool_that_is_not_loaded_can_be_called(tmp_path: Path):
    async with served(tmp_path, 40, tool_use("mcp__mail__tool_3")) as host:
        assert host.results_of_tools()[0]["content"][0]["text"] == "sent"


@pytest.mark.parametrize(
    ("query", "given", "found"),
    [
        ("letter 39", {}, ["mcp__mail__tool_39"]),
        ("+tool_12", {}, ["mcp__mail__tool_12"]),
        ("+tool_12 +mail letter", {"max_results": 1}, ["mcp__mail__tool_12"]),
        ("LETTER", {"max_results": 2}, ["mcp__mail__tool_0", "mcp__mail__tool_1"]),
        ("weather", {}, []),
        ("", {}, []),
        ("select:", {}, []),
    ],
)
async def test_words_find_tools(tmp_path: Path, query: str, given: dict[str, Any], found: list[str]):
    async with served(tmp_path, 40, search(query, **given)) as host:
        assert matches(host)[: len(found) or None] == found


@pytest.mark.parametrize(
    ("count", "value", "searches"),
    [(1, "true", True), (40, "false", False), (40, "auto", False), (40, "auto:0", True), (0, "true", False)],
)
async def test_the_variable_decides(tmp_path: Path, count: int, value: str, searches: bool):
    async with served(tmp_path, count, ENABLE_TOOL_SEARCH=value) as host:
        assert ("ToolSearch" in definitions(host)) is searches


@pytest.mark.parametrize(
    "flags",
    [("--disallowedTools", "ToolSearch"), ("--tools", "Bash"), ("--model", "claude-3-5-haiku-20241022")],
    ids=["denied", "tools", "model"],
)
async def test_tools_are_sent_whole_where_they_cannot_be_loaded(tmp_path: Path, flags: tuple[str, ...]):
    async with served(tmp_path, 40, flags=flags) as host:
        assert len([name for name in definitions(host) if name.startswith("mcp__")]) == 40
        assert "ToolSearch" not in json.dumps(sorted(definitions(host)))
