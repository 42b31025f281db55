"""Answers and refusals after which the conversation continues: empty or cut answers, refused pictures, full windows."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.conversation.refused_media import refused_media, without_media
from handrail.agent.models.base import ModelError
from handrail.agent.models.retry import reduced_output
from handrail.agent.models.script import Reply, Script, http_error, reply, text, tool_use
from tests.agent.stage import stage

GIF = b64encode(b"GIF89a\x01\x00\x01\x00").decode()
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": GIF}}
TOO_LARGE = "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum"


def stopped(word: str, reason: str) -> Reply:
    return reply(text(word), stop_reason=reason)


async def test_an_empty_answer_is_asked_again_once(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text(""), text("here"))) as host:
        assert (await host.turn("go"))["result"] == "here"
        assert len(host.model.asked) == 2
        assert [line.get("isSynthetic") for line in host.of("user")] == [True]
    async with stage(tmp_path, Script.of(text(""), text(""), text("never"))) as host:
        assert (await host.turn("go"))["result"] == ""


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
async def test_an_answer_at_its_limit_is_continued(tmp_path: Path, reason: str) -> None:
    async with stage(tmp_path, Script.of(stopped("a", reason), text("b"))) as host:
        assert (await host.turn("go"))["result"] == "b"


async def test_refused_image_is_removed_and_the_turn_continues(tmp_path: Path) -> None:
    script = Script.of(http_error(400, "invalid_request_error", TOO_LARGE), text("went on"), text("later"))
    async with stage(tmp_path, script) as host:
        result = await host.turn([{"type": "text", "text": "what is this?"}, PICTURE])
        assert (result["is_error"], result["result"]) == (False, "went on")
        removed = next(line for line in host.of("assistant") if line.get("error"))
        assert removed["api_error"] == "media_removed"
        await host.turn("and now?")
        assert '"image"' not in json.dumps(host.model.asked[-1]["messages"])


async def test_refusal_without_an_image_is_reported(tmp_path: Path) -> None:
    script = Script.of(*[http_error(400, "invalid_request_error", TOO_LARGE)] * 6, text("never"))
    async with stage(tmp_path, script) as host:
        assert (await host.turn("go"))["is_error"]


def test_only_messages_with_the_block_are_changed() -> None:
    plain = {"role": "user", "content": [{"type": "text", "text": "x"}]}
    result = {"type": "tool_result", "tool_use_id": "1", "content": [PICTURE, {"type": "text", "text": "y"}]}
    messages: list[dict[str, Any]] = [plain, {"role": "user", "content": [result]}]
    changed = without_media(messages, "image")
    assert changed is not None
    assert changed[0] is plain
    assert [block["type"] for block in changed[1]["content"][0]["content"]] == ["text", "text"]
    assert without_media(messages, "document") is None
    assert refused_media(ModelError("image", status=500)) == ""


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("input length and `max_tokens` exceed context limit: 180000 + 32000 > 200000, decrease it", 19_000),
        ("input length and `max_tokens` exceed context limit: 199000 + 32000 > 200000", 0),
        ("prompt is too long: 7 tokens > 6 maximum", 0),
    ],
)
def test_max_tokens_is_reduced_to_the_api_limit(message: str, expected: int) -> None:
    assert reduced_output(ModelError(message, status=400)) == expected
    assert reduced_output(ModelError(message, status=500)) == 0


async def test_contradicting_limits_of_the_api_end_the_turn(tmp_path: Path) -> None:
    too_long = "input length and `max_tokens` exceed context limit: {} + 32000 > 200000"
    refusals = [http_error(400, message=too_long.format(used)) for used in (180_000, 170_000, 180_000, 170_000)]
    async with stage(tmp_path, Script.of(*refusals, text("never"))) as host:
        assert (await host.turn("go"))["is_error"]
        assert len(host.model.asked) == 2


def full(word: str) -> Reply:
    return reply(text(word), usage={"input_tokens": 195_000, "output_tokens": 1})


SONNET = ("--model", "claude-sonnet-4-5")


async def test_a_full_window_is_an_error_if_compaction_is_off(tmp_path: Path) -> None:
    flags = (*SONNET, "--settings", '{"autoCompactEnabled": false}')
    async with stage(tmp_path, Script.of(full("a"), text("never")), *flags) as host:
        await host.turn("one")
        result = await host.turn("two")
        assert (result["is_error"], result["terminal_reason"]) == (True, "blocking_limit")
        assert len(host.model.asked) == 1
        assert (await host.control("get_context_usage"))["response"]["isAutoCompactEnabled"] is False


async def test_a_short_conversation_with_one_huge_result_is_compacted(tmp_path: Path) -> None:
    huge = tool_use("Bash", command="head -c 25000 /dev/zero | tr '\\0' x")
    script = Script.of(huge, text("<summary>THE SUMMARY</summary>"), text("done"))
    async with stage(tmp_path, script, *SONNET, environment={"HANDRAIL_CONTEXT_WINDOW": "5000"}) as host:
        result = await host.turn("go")
        assert result["result"] == "done"
        assert "THE SUMMARY" in json.dumps(host.model.asked[-1]["messages"])
        assert [line["compact_metadata"]["trigger"] for line in host.of("system", "compact_boundary")] == ["auto"]
