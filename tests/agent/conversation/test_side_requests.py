"""What is asked beside the conversation."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.agent.models.script import Script, http_error, reply, text, tool_use
from tests.agent.stage import RecordingModel, stage

SEARCH = tool_use("WebSearch", query="owls", allowed_domains=["birds.example"])


async def test_a_search_uses_the_tool_of_the_api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordingModel, "searches_web", True)
    found = reply(text("Owls are birds."), usage={"server_tool_use": {"web_search_requests": 2}})
    async with stage(tmp_path, Script.of(SEARCH, found, text("done"))) as host:
        result = await host.turn("go")
        assert "Owls are birds." in host.results_of_tools()[0]["content"]
        asked = host.model.asked[1]
        assert "owls" in str(asked["messages"])
        [tool] = asked["tools"]
        assert (tool["name"], tool["allowed_domains"], "blocked_domains" in tool) == (
            "web_search",
            ["birds.example"],
            False,
        )
        assert result["usage"]["server_tool_use"]["web_search_requests"] == 2
        [used] = result["modelUsage"].values()
        assert (used["webSearchRequests"], used["costUSD"] >= 0.02) == (2, True)


async def test_a_refused_search_is_reported_to_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordingModel, "searches_web", True)
    async with stage(tmp_path, Script.of(SEARCH, http_error(400, message="not here"), text("done"))) as host:
        await host.turn("go")
        assert "The web search failed: not here" in host.results_of_tools()[0]["content"]


async def test_a_model_without_the_search_tool_reports_it(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(SEARCH, text("done"))) as host:
        await host.turn("go")
        assert "which this session lacks" in host.results_of_tools()[0]["content"]


async def test_a_side_question_is_not_added_to_the_conversation(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("one"), text("aside"), text("two"))) as host:
        await host.turn("first")
        assert (await host.control("side_question", question="what was first?"))["response"]["response"] == "aside"
        assert "first" in str(host.model.asked[1]["messages"])
        await host.turn("second")
        assert "what was first?" not in str(host.model.asked[2]["messages"])


async def test_tokens_not_yet_known_are_counted_by_the_api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def counted(self: RecordingModel, request: object) -> int:
        return 123_456

    monkeypatch.setattr(RecordingModel, "count_tokens", counted)
    async with stage(tmp_path, Script.of(text("one"))) as host:
        assert (await host.control("get_context_usage"))["response"]["totalTokens"] < 123_456
        await host.turn("first")
        host.engine.history.tokens = 0
        assert (await host.control("get_context_usage"))["response"]["totalTokens"] == 123_456
