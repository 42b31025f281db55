"""The figures on `result` lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

from handrail.agent.models.script import Script
from handrail.testing import When, reply, text, tool_use
from tests.agent.stage import stage

TIMES = ("time_to_request_ms", "ttft_stream_ms", "first_content_frame_ms", "ttft_ms")


def delegate(**extra: Any) -> Any:
    return tool_use("Task", description="looks", prompt="look it up", subagent_type="general-purpose", **extra)


async def test_a_result_has_the_times_of_its_first_answer_in_order(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("one"), text("two"))) as host:
        result = await host.turn("hi")
        times = [result[name] for name in TIMES]
        assert times == sorted(times)
        assert times[-1] <= result["duration_ms"]
        assert "first_request_input_tokens" not in result


async def test_a_prompt_with_a_uuid_has_more_figures(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("one"))) as host:
        result = await host.turn("hi", uuid=str(uuid4()))
        assert result["request_sent_wall_ms"] > 1_700_000_000_000
        assert result["first_request_input_tokens"] > 0


async def test_a_turn_without_an_answer_has_no_times(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("one"))) as host:
        result = await host.turn("/cost")
        assert not set(TIMES) & result.keys()
        assert result["subagent_stats"]["spawned"] == 0


async def test_subagents_are_counted_over_the_session(tmp_path: Path) -> None:
    report = reply(text("It is blue."), when=When(prompt="look it up"))
    script = Script.of(
        delegate(run_in_background=False), report, text("one"), delegate(), report, text("two"), text("three")
    )
    async with stage(tmp_path, script) as host:
        first = (await host.turn("which colour?"))["subagent_stats"]
        await host.turn("again")
        await host.until(lambda: host.of("result")[-1]["subagent_stats"]["completed"] == 2)
        last = host.of("result")[-1]["subagent_stats"]
    assert (first["spawned"], first["completed"], first["started_in_background"]) == (1, 1, 0)
    assert first["requested"] == {"background": 0, "foreground": 1, "unset": 0}
    assert (last["spawned"], last["completed"], last["started_in_background"]) == (2, 2, 1)
    assert last["requested"] == {"background": 0, "foreground": 1, "unset": 1}
    assert last["by_type"] == {"general-purpose": 2}
