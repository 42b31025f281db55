from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.base import ModelRequest
from handrail.agent.models.script import Script, hang, http_error, reply, text, thinking, tool_use
from handrail.agent.models.scripted import ScriptedModel
from handrail.agent.speaker import INTERRUPTED, INTERRUPTED_TOOLS, REJECTED
from tests.agent.stage import StagedHost, assert_calls_are_answered, hooks_for, stage

ALLOW_ALL = "--dangerously-skip-permissions"


async def interrupt(host: StagedHost) -> dict[str, Any]:
    answer = await host.control("interrupt")
    assert answer["response"]["still_queued"] == []
    return await host.result()


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    return message["content"] if isinstance(message["content"], list) else []


async def goes_on(host: StagedHost) -> None:
    """The next turn is as if nothing had been."""
    assert (await host.turn("and now?"))["result"] == "going on"
    assert_calls_are_answered(host.model.asked[-1]["messages"])


async def test_a_turn_is_init_answer_and_one_result(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("Hello."))) as host:
        result = await host.turn("hi")
        assert [line["type"] for line in host.lines] == ["system", "assistant", "result"]
        assert (result["subtype"], result["result"], result["num_turns"]) == ("success", "Hello.", 1)


async def test_pending_prompts_are_merged_into_one_turn(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("first"), text("both"))) as host:
        await host.say("one", uuid="a")
        await host.say("two", uuid="b")
        await host.say("two again", uuid="b")
        await host.until(lambda: "completed" in [line["state"] for line in host.of("command_lifecycle")[-1:]])
        states = [(line["command_uuid"], line["state"]) for line in host.of("command_lifecycle")]
        assert sorted(states) == [(id, state) for id in "ab" for state in ("completed", "queued", "started")]
        assert sum(len(result["user_message_uuids"]) for result in host.of("result")) == 2


async def test_a_prompt_during_a_tool_round_joins_the_turn(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("done"))) as host:
        host.answers.pop("can_use_tool")
        await host.say("go", uuid="a")
        asked = await host.until_line("control_request", "can_use_tool")
        await host.say("also this", uuid="b")
        await host.until(lambda: host.engine.queue.uuids() == ["b"] or None)
        await host.answer(asked, {"behavior": "allow"})
        result = await host.result()
        assert result["user_message_uuids"] == ["a", "b"]
        last = host.model.asked[1]["messages"][-1]["content"]
        assert [block["type"] for block in last] == ["tool_result", "text"]
        assert len(host.of("result")) == 1


async def test_a_prompt_without_a_query_asks_no_model(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("yes"))) as host:
        result = await host.turn("by the way", shouldQuery=False)
        assert (result["num_turns"], host.model.asked) == (0, [])
        await host.turn("go")
        assert [block["text"] for block in host.model.asked[0]["messages"][0]["content"]] == ["by the way", "go"]


async def test_a_prompt_is_echoed_with_the_id_for_rewinding(tmp_path: Path) -> None:
    variables = {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1"}
    script = Script.of(tool_use("Write", file_path=str(tmp_path / "project" / "new"), content="x"), text("done"))
    async with stage(tmp_path, script, "--replay-user-messages", ALLOW_ALL, environment=variables) as host:
        await host.turn("go")
        echo = next(line for line in host.of("user") if line.get("isReplay"))
        assert (tmp_path / "project" / "new").exists()
        answer = await host.control("rewind_files", user_message_id=echo["uuid"])
        assert answer["response"]["canRewind"] is True
        assert not (tmp_path / "project" / "new").exists()


async def test_an_interrupted_answer_keeps_its_text(tmp_path: Path) -> None:
    script = Script.of(reply(thinking("hm"), text("half of it"), hang()), text("going on"))
    async with stage(tmp_path, script) as host:
        await host.say("go")
        await host.until(lambda: len(host.of("assistant")) == 2)
        result = await interrupt(host)
        assert (result["subtype"], result["terminal_reason"]) == ("error_during_execution", "aborted_streaming")
        assert host.of("user")[-1]["message"]["content"][0]["text"] == INTERRUPTED
        await goes_on(host)
        assert host.model.asked[-1]["messages"][1]["content"] == [{"type": "text", "text": "half of it"}]


async def test_an_interrupt_before_the_first_event(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(hang(), text("going on"))) as host:
        await host.say("go")
        await host.until(lambda: host.model.asked or None if host.of("system", "init") else None)
        assert (await interrupt(host))["terminal_reason"] == "aborted_streaming"
        await goes_on(host)


async def test_an_interrupt_within_an_unfinished_call(tmp_path: Path) -> None:
    script = Script.of(reply(tool_use("Bash", command="touch x"), hang()), text("going on"))
    async with stage(tmp_path, script) as host:
        await host.say("go")
        await host.until_line("assistant")
        assert (await interrupt(host))["is_error"]
        assert not (tmp_path / "project" / "x").exists()
        await goes_on(host)


async def test_an_interrupt_during_a_retry_delay(tmp_path: Path) -> None:
    script = Script.of(http_error(529, headers={"retry-after": "200"}), text("going on"))
    async with stage(tmp_path, script) as host:
        await host.say("go")
        await host.until_line("system", "api_retry")
        assert (await interrupt(host))["terminal_reason"] == "aborted_streaming"
        await goes_on(host)


async def test_an_interrupt_withdraws_the_question_and_rejects_the_call(tmp_path: Path) -> None:
    calls = [tool_use("Bash", command="touch x"), tool_use("Bash", command="touch y")]
    async with stage(tmp_path, Script.of(calls, text("going on"))) as host:
        host.answers.pop("can_use_tool")
        await host.say("go")
        asked = await host.until_line("control_request", "can_use_tool")
        result = await interrupt(host)
        assert result["terminal_reason"] == "aborted_tools"
        assert [line["request_id"] for line in host.of("control_cancel_request")] == [asked["request_id"]]
        assert [block["content"] for block in host.results_of_tools()] == [REJECTED, REJECTED]
        assert host.of("user")[-1]["message"]["content"][0]["text"] == INTERRUPTED_TOOLS
        await goes_on(host)


async def test_an_interrupt_kills_a_running_command(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    pipe = tmp_path / "project" / "pipe"
    os.mkfifo(pipe)
    script = Script.of(tool_use("Bash", command="echo begun > pipe; sleep 600 & wait"), text("going on"))
    async with stage(tmp_path, script, ALLOW_ALL) as host:
        await host.say("go")
        async with asyncio.timeout(20):
            assert await asyncio.to_thread(pipe.read_text) == "begun\n"
        assert (await interrupt(host))["terminal_reason"] == "aborted_tools"
        await goes_on(host)


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PreToolUse", "PostToolUse"])
async def test_an_interrupt_while_a_hook_runs(tmp_path: Path, event: str) -> None:
    script = Script.of(tool_use("Bash", command="echo x"), text("x"), afterwards=reply(text("going on")))
    async with stage(tmp_path, script, ALLOW_ALL) as host:
        await host.control("initialize", hooks=hooks_for(event))
        await host.say("go")
        await host.until_line("control_request", "hook_callback")
        result = await interrupt(host)
        assert result["subtype"] == "error_during_execution"
        assert (result["num_turns"] == 0) is (event == "UserPromptSubmit")
        assert len(host.of("system", "init")) == 1
        host.answers["hook_callback"] = lambda request: {}
        await host.turn("and now?")
        assert_calls_are_answered(host.model.asked[-1]["messages"])


async def test_an_interrupt_of_a_stop_hook_keeps_the_whole_answer(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("whole"), text("going on"))) as host:
        await host.control("initialize", hooks=hooks_for("Stop"))
        await host.say("go")
        await host.until_line("control_request", "hook_callback")
        result = await interrupt(host)
        assert (result["subtype"], result["result"], result["terminal_reason"]) == ("success", "whole", "completed")
        host.answers["hook_callback"] = lambda request: {}
        await goes_on(host)


@pytest.mark.parametrize("calls", [1, 2])
async def test_an_interrupt_after_finished_calls_rejects_them(tmp_path: Path, calls: int) -> None:
    blocks = [tool_use("Bash", command=f"touch {name}") for name in range(calls)]
    async with stage(tmp_path, Script.of(reply(*blocks, hang()), text("going on")), ALLOW_ALL) as host:
        await host.say("go")
        await host.until(lambda: len(host.of("assistant")) == calls or None)
        assert (await interrupt(host))["terminal_reason"] == "aborted_streaming"
        assert [block["content"] for block in host.results_of_tools()] == [REJECTED] * calls
        assert host.of("user")[-1]["message"]["content"][0]["text"] == INTERRUPTED
        assert not list((tmp_path / "project").iterdir())
        await goes_on(host)
        sent = [block["type"] for message in host.model.asked[-1]["messages"] for block in blocks_of(message)]
        assert sent.count("tool_use") == sent.count("tool_result") == calls


async def test_a_prompt_for_now_ends_the_running_turn_without_an_error(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(reply(text("part"), hang()), text("going on"))) as host:
        await host.say("go", uuid="a")
        await host.until_line("assistant")
        await host.say("and now?", uuid="b", priority="now")
        first, second = await host.result(), await host.result(1)
        assert (first["subtype"], first["result"], first["terminal_reason"]) == ("success", "part", "aborted_streaming")
        assert second["result"] == "going on"
        assert not host.of("user")
        states = [line["state"] for line in host.of("command_lifecycle") if line["command_uuid"] == "a"]
        assert states == ["queued", "started", "cancelled"]


async def test_a_prompt_for_now_ends_running_calls(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("going on"))) as host:
        host.answers.pop("can_use_tool")
        await host.say("go")
        await host.until_line("control_request", "can_use_tool")
        await host.say("and now?", priority="now")
        first, second = await host.result(), await host.result(1)
        assert (first["subtype"], first["terminal_reason"]) == ("success", "aborted_tools")
        assert second["result"] == "going on"
        assert_calls_are_answered(host.model.asked[-1]["messages"])
        assert INTERRUPTED not in str(host.lines)


async def test_a_prompt_with_a_used_uuid_is_only_echoed(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("one"), text("three")), "--replay-user-messages") as host:
        await host.turn("first", uuid="a")
        await host.say("second", uuid="a")
        await host.turn("third")
        assert [line["message"]["content"] for line in host.of("user")] == ["first", "second", "third"]
        assert len(host.model.asked) == 2


async def test_a_denial_with_interrupt_rejects_all_calls(tmp_path: Path) -> None:
    calls = [tool_use("Bash", command="touch x"), tool_use("Bash", command="touch y")]
    async with stage(tmp_path, Script.of(calls, text("going on"))) as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "no", "interrupt": True}
        result = await host.turn("go")
        assert result["terminal_reason"] == "aborted_tools"
        assert len(host.results_of_tools()) == 2
        await goes_on(host)


async def test_a_hook_blocks_a_prompt(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("never"))) as host:
        host.answers["hook_callback"] = lambda request: {"decision": "block", "reason": "not today"}
        await host.control("initialize", hooks=hooks_for("UserPromptSubmit"))
        result = await host.turn("go")
        assert (result["num_turns"], result["is_error"], host.model.asked) == (0, False, [])
        assert "not today" in host.of("system", "informational")[0]["content"]


async def test_a_hook_adds_context_to_a_prompt(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        more = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "it rains"}}
        host.answers["hook_callback"] = lambda request: more
        await host.control("initialize", hooks=hooks_for("UserPromptSubmit"))
        await host.turn("go")
        assert "it rains" in str(host.model.asked[0]["messages"][0]["content"])


class NonsenseModel(ScriptedModel):
    """An API that sends what no API should."""

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[Any]:
        class Nonsense:
            request_id = "req_1"

            async def __aiter__(self) -> AsyncGenerator[dict[str, Any]]:
                yield {"type": "content_block_delta"}

        yield Nonsense()


async def test_invalid_api_events_give_a_result_and_the_session_continues(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with stage(tmp_path, Script.of(text("going on"))) as host:
        host.engine.thread().model = NonsenseModel(Script.of(text("never")))
        result = await host.turn("go")
        assert (result["subtype"], result["is_error"]) == ("error_during_execution", True)
        assert "KeyError" in result["errors"][0]
        host.engine.thread().model = host.model
        await goes_on(host)
    assert "Traceback" in capfd.readouterr().err


async def test_usage_is_per_turn_and_cost_per_session(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("a"), text("b")), "--model", "claude-sonnet-4-5") as host:
        first, second = await host.turn("one"), await host.turn("two")
        assert first["usage"]["input_tokens"] == second["usage"]["input_tokens"] == 100
        assert second["total_cost_usd"] == pytest.approx(2 * first["total_cost_usd"])
        assert [first["result_index"], second["result_index"]] == [0, 1]


@pytest.mark.parametrize("blank", ["  ", "\n\t \n", "\u00a0\u2003"])
async def test_model_is_not_asked_about_a_blank_prompt(tmp_path: Path, blank: str) -> None:
    async with stage(tmp_path, Script.of(text("hello")), "--replay-user-messages") as host:
        host.answers["hook_callback"] = lambda request: {}
        await host.control("initialize", hooks=hooks_for("UserPromptSubmit"))
        result = await host.turn(blank)
        assert (result["subtype"], result["num_turns"], host.model.asked) == ("success", 0, [])
        assert host.of("system", "informational")[0]["content"] == result["result"]
        assert (host.requests("hook_callback"), host.of("user")) == ([], [])
        assert (await host.turn("hi"))["result"] == "hello"


@pytest.mark.parametrize("content", ["", [{"type": "text", "text": "  "}], "\u200b"])
async def test_other_prompts_without_words_are_sent(tmp_path: Path, content: Any) -> None:
    async with stage(tmp_path, Script.of(text("hello"))) as host:
        assert (await host.turn(content))["result"] == "hello"


async def test_blank_prompt_that_waits_has_its_own_turn(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("one"), text("two"))) as host:
        host.answers.pop("can_use_tool")
        await host.say("go")
        asked = await host.until_line("control_request", "can_use_tool")
        await host.say("  ")
        await host.say("more")
        await host.control("mcp_status")  # the lines before it were read
        await host.answer(asked, {"behavior": "allow"})
        results = [await host.result(index) for index in range(2)]
        assert [result["num_turns"] for result in results] == [2, 0]
        assert "more" in str(host.model.asked[1]["messages"][-1])


async def _while_streaming(host: StagedHost) -> None:
    await host.until_line("assistant")


async def _while_a_question_is_open(host: StagedHost) -> None:
    await host.until_line("control_request", "can_use_tool")


async def _while_a_hook_is_open(host: StagedHost) -> None:
    await host.until_line("control_request", "hook_callback")


@pytest.mark.parametrize(
    ("answer", "reached", "hooked", "reason"),
    [
        (reply(text("half"), hang()), _while_streaming, (), "aborted_streaming"),
        (tool_use("Bash", command="touch x"), _while_a_question_is_open, (), "aborted_tools"),
        (tool_use("Bash", command="touch x"), _while_a_hook_is_open, ("PreToolUse",), "aborted_tools"),
    ],
)
async def test_end_of_the_session_interrupts_the_turn_and_drops_the_queue(
    tmp_path: Path, answer: Any, reached: Any, hooked: tuple[str, ...], reason: str
) -> None:
    async with stage(tmp_path, Script.of(answer, text("never"))) as host:
        host.answers.clear()
        await host.control("initialize", hooks=hooks_for(*hooked))
        await host.say("go")
        await reached(host)
        await host.say("later")
        assert (await host.control("end_session"))["subtype"] == "success"
        assert await host.exit_code() == 1
        assert [line["terminal_reason"] for line in host.of("result")] == [reason]
        assert len(host.model.asked) == 1


async def test_prompt_right_before_the_end_of_the_session_is_answered(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("one"), text("never"))) as host:
        await host.control("initialize")
        request = {"type": "control_request", "request_id": "1", "request": {"subtype": "end_session"}}
        await host.say("go")
        await host.write(request)
        assert await host.exit_code() == 0
        assert [line["result"] for line in host.of("result")] == ["one"]


async def test_session_ended_after_a_failed_turn_exits_with_1(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(reply(text("half"), hang()))) as host:
        await host.say("go")
        await host.until_line("assistant")
        await interrupt(host)
        await host.control("end_session")
        assert await host.exit_code() == 1
