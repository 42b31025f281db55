"""What is asked beside the conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

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


async def test_a_side_question_comes_with_what_it_is(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("one"), text("aside"))) as host:
        await host.turn("first")
        await host.control("side_question", question="what was first?")
        before, after = (request["messages"] for request in host.model.asked)
        assert after[: len(before)] == before
        reminder, question = after[-1]["content"]
        assert "side question" in reminder["text"]
        assert question["text"] == "what was first?"


async def test_a_side_question_calls_no_tool(tmp_path: Path) -> None:
    calls = [tool_use("Bash", command="touch made"), tool_use("Read", file_path="x")]
    async with stage(tmp_path, Script.of(text("one"), calls, [text("Well:"), calls[0]])) as host:
        await host.turn("first")
        answer = (await host.control("side_question", question="?"))["response"]
        assert (answer["synthetic"], "Bash, Read" in answer["response"]) == (True, True)
        answer = (await host.control("side_question", question="?"))["response"]
        assert answer == {"response": "Well:", "synthetic": False}
        assert not (tmp_path / "project" / "made").exists()


async def test_an_empty_answer_to_a_side_question_is_asked_again_once(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text(""), text("now"), text(""), text(" "), text("never"))) as host:
        assert (await host.control("side_question", question="?"))["response"]["response"] == "now"
        answer = (await host.control("side_question", question="?"))["response"]
        assert answer == {"response": None, "synthetic": False}
        assert len(host.model.asked) == 4


async def test_refused_side_question_is_reported(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(http_error(400, message="not here"))) as host:
        answer = (await host.control("side_question", question="?"))["response"]
        assert answer == {"response": "(API error: not here)", "synthetic": True}


def titled(answer: Any) -> Script:
    return replace(Script.of(text("hi")), helper=reply(text(answer if isinstance(answer, str) else json.dumps(answer))))


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ({"title": "Login bug"}, "Login bug"),
        ({"title": "  Login\n bug "}, "Login bug"),
        ({"title": "x" * 300}, "x" * 200),
        ({"title": ""}, None),
        ({"title": 3}, None),
        ({}, None),
        ([], None),
        ("Login bug", None),
    ],
)
async def test_title_is_read_from_the_answer(tmp_path: Path, answer: Any, title: str | None) -> None:
    async with stage(tmp_path, titled(answer)) as host:
        found = await host.control("generate_session_title", description="Fix the login bug")
        assert found["response"] == {"title": title}


async def test_too_short_a_description_is_not_sent(tmp_path: Path) -> None:
    async with stage(tmp_path, titled({"title": "T"})) as host:
        for work in ("", "fix it", "  abcdefghi  "):
            assert (await host.control("generate_session_title", description=work))["response"] == {"title": None}
        assert not host.model.asked
        assert (await host.control("generate_session_title", description="abcdefghij"))["response"] == {"title": "T"}


async def test_refused_title_request_gives_none(tmp_path: Path) -> None:
    async with stage(tmp_path, replace(Script.of(), helper=http_error(400))) as host:
        found = await host.control("generate_session_title", description="Fix the login bug")
        assert found["response"] == {"title": None}


async def test_persisted_title_is_written_and_kept(tmp_path: Path) -> None:
    async with stage(tmp_path, titled({"title": "Login bug"})) as host:
        await host.turn("go")
        await host.control("generate_session_title", description="Something else")
        assert not titles(tmp_path)
        for work in ("Fix the login bug", "Another piece of work"):
            found = await host.control("generate_session_title", description=work, persist=True)
            assert found["response"] == {"title": "Login bug"}
        assert len(host.model.asked) == 3
        assert titles(tmp_path) == [("ai-title", "Login bug")]
        id = host.of("result")[0]["session_id"]
    async with stage(tmp_path, titled({"title": "Other"}), "--resume", id) as host:
        found = await host.control("generate_session_title", description="Another piece of work", persist=True)
        assert found["response"] == {"title": "Login bug"}
        await host.control("rename_session", title="Mine")
        found = await host.control("generate_session_title", description="Another piece of work", persist=True)
        assert found["response"] == {"title": "Mine"}
        assert titles(tmp_path)[-1] == ("custom-title", "Mine")


def titles(folder: Path) -> list[tuple[str, str]]:
    [file] = (folder / "home").rglob("*.jsonl")
    entries = [json.loads(line) for line in file.read_text().splitlines()]
    names = {"ai-title": "aiTitle", "custom-title": "customTitle"}
    return [(entry["type"], entry[names[entry["type"]]]) for entry in entries if entry["type"] in names]


async def test_tokens_not_yet_known_are_counted_by_the_api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def counted(self: RecordingModel, request: object) -> int:
        return 123_456

    monkeypatch.setattr(RecordingModel, "count_tokens", counted)
    async with stage(tmp_path, Script.of(text("one"))) as host:
        assert (await host.control("get_context_usage"))["response"]["totalTokens"] < 123_456
        await host.turn("first")
        host.engine.history.tokens = 0
        assert (await host.control("get_context_usage"))["response"]["totalTokens"] == 123_456
