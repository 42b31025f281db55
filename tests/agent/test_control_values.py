"""Control requests with missing, null, empty and wrong values are answered as the CLI answers them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script
from handrail.testing import text
from tests.agent.stage import stage

JsonObject = dict[str, Any]


def _with(name: str, *values: Any, **others: Any) -> list[JsonObject]:
    return [dict(others), *({**others, name: value} for value in values)]


ACKNOWLEDGED: dict[str, list[JsonObject]] = {
    "mcp_message": [
        *_with("message", None, "", 5, {}, server_name="x"),
        *_with("server_name", None, "", 5, "nope", message={}),
    ],
    "seed_read_state": [
        *_with("path", None, "", 5, "nope.txt", "/nope/x", ".", mtime=1),
        *_with("mtime", None, "", "x", 1.5, -1, path="a.txt"),
    ],
    "side_question": _with("question", None, "", 5, {}),
    "get_context_usage": _with("detail", None, "summary", "full"),
    "get_usage": _with("skip_behaviors", None, True),
    "background_tasks": _with("tool_use_id", None, "", "nope"),
    "mcp_set_servers": [{"servers": {}}, {"servers": {"x": {}}}],
    "reload_plugins": [
        *_with("add_plugins", None, [], [{"type": "local", "path": "/nope"}]),
        *_with("hold_on_cache_impact", None, False),
        *_with("refuse_if_busy", None, "x", True),
    ],
}
REFUSED: dict[str, list[JsonObject]] = {
    "get_context_usage": [{"detail": ""}, {"detail": 5}, {"detail": "bogus"}, {"detail": {}}],
    "get_usage": [{"skip_behaviors": "x"}],
    "background_tasks": [{"tool_use_id": 5}],
    "mcp_set_servers": _with("servers", None, "", [], 5, {"x": None}, {"x": 5}),
    "reload_plugins": [
        *({"add_plugins": value} for value in ("x", 5, [5], ["nope"], [{"path": "nope"}])),
        {"hold_on_cache_impact": True},
    ],
    "rename_session": _with("title", None, 5, "  ", {}),
    "apply_flag_settings": _with("settings", None, "", []),
}


@pytest.mark.parametrize(
    ("expected", "subtype", "requests"),
    [
        *(("success", *row) for row in ACKNOWLEDGED.items()),
        *(("error", *row) for row in REFUSED.items()),
    ],
)
async def test_answer_to_odd_values(tmp_path: Path, expected: str, subtype: str, requests: list[JsonObject]):
    replies = [text(f"answer {number}") for number in range(9)]
    async with stage(tmp_path, Script.of(*replies)) as host:
        (tmp_path / "project" / "a.txt").write_text("x")
        await host.turn("hi")
        outcomes = [(fields, (await host.control(subtype, **fields))["subtype"]) for fields in requests]
        assert outcomes == [(fields, expected) for fields in requests]
        assert (await host.turn("after"))["is_error"] is False


async def test_question_that_is_no_text_is_answered_without_the_model(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("hello"))) as host:
        await host.turn("hi")
        answer = (await host.control("side_question", question=5))["response"]
        assert answer["synthetic"] is True
        assert len(host.model.asked) == 1


@pytest.mark.parametrize("subtype", ["set_model", "apply_flag_settings"])
async def test_only_another_model_is_reported(tmp_path: Path, subtype: str):
    """Each request with the number of lines that report a model after it."""
    requests = [(None, 0), ("default", 0), ("haiku", 1), ("haiku", 1), (None, 2), (None, 2)]
    environment = {"ANTHROPIC_API_KEY": "sk-test"}
    async with stage(tmp_path, Script.of(text("hello")), environment=environment) as host:
        await host.turn("hi")
        reported: list[int] = []
        for model, _ in requests:
            name = None if subtype == "apply_flag_settings" and model == "default" else model
            fields = {"settings": {"model": name}} if subtype == "apply_flag_settings" else {"model": name}
            assert (await host.control(subtype, **fields))["subtype"] == "success"
            reported.append(sum("Set model to" in str(line["message"]) for line in host.of("user")))
        assert reported == [count for _, count in requests]
