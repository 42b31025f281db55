from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, ToolUse, raw_tool_use, text, tool_use
from tests.agent.stage import StagedHost, assert_calls_are_answered, hooks_for, stage

ALLOW_ALL = "--dangerously-skip-permissions"


def specific(event: str, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def contents(host: StagedHost) -> list[Any]:
    return [block["content"] for block in host.results_of_tools()]


async def test_an_unknown_tool_is_an_error_for_the_model(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Fly", high=True), text("ok"))) as host:
        assert (await host.turn("go"))["result"] == "ok"
        assert "No such tool available: Fly" in contents(host)[0]


async def test_invalid_json_is_an_error_for_the_model(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(raw_tool_use("Bash", '{"command": "x'), text("ok"))) as host:
        assert (await host.turn("go"))["result"] == "ok"
        assert "InputValidationError" in contents(host)[0]
        assert not host.requests("can_use_tool")


async def test_an_invalid_input_is_an_error_for_the_model(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", cmd="x"), text("ok"))) as host:
        await host.turn("go")
        assert "InputValidationError" in contents(host)[0]


async def test_a_call_that_cannot_succeed_is_not_asked_about(tmp_path: Path) -> None:
    missing = str(tmp_path / "project" / "none")
    script = Script.of(tool_use("Edit", file_path=missing, old_string="a", new_string="b"), text("ok"))
    async with stage(tmp_path, script) as host:
        await host.turn("go")
        assert host.results_of_tools()[0]["is_error"]
        assert not host.requests("can_use_tool")


async def test_a_tool_can_be_called_by_its_alias(tmp_path: Path) -> None:
    call = tool_use("Agent", description="look", prompt="look", subagent_type="no such kind")
    async with stage(tmp_path, Script.of(call, text("ok")), ALLOW_ALL) as host:
        await host.turn("go")
        assert "not found" in contents(host)[0]


async def test_read_only_calls_run_at_the_same_time(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    for name in "ab":
        (tmp_path / "project" / name).write_text(name)
    calls = [tool_use("Read", file_path=str(tmp_path / "project" / name)) for name in "ab"]
    async with stage(tmp_path, Script.of(calls, text("ok"))) as host:
        await host.control("initialize", hooks=hooks_for("PreToolUse"))
        await host.say("go")
        await host.until(lambda: len(host.requests("hook_callback")) == 2)
        for line in host.of("control_request", "hook_callback"):
            await host.answer(line, {})
        await host.result()
        assert len(host.results_of_tools()) == 2


async def test_other_calls_run_one_after_the_other(tmp_path: Path) -> None:
    calls = [tool_use("Bash", command=f"echo {name} >> log") for name in "abc"]
    async with stage(tmp_path, Script.of(calls, text("ok")), ALLOW_ALL) as host:
        await host.turn("go")
        assert (tmp_path / "project" / "log").read_text() == "a\nb\nc\n"


async def test_a_denied_call_does_not_stop_the_others(tmp_path: Path) -> None:
    calls = [ToolUse("Bash", {"command": f"touch {name}"}, id=name) for name in "ab"]
    async with stage(tmp_path, Script.of(calls, text("ok"))) as host:
        deny = {"behavior": "deny", "message": "not a"}
        host.answers["can_use_tool"] = lambda request: deny if request["tool_use_id"] == "a" else {"behavior": "allow"}
        result = await host.turn("go")
        assert contents(host)[0] == "not a"
        assert not (tmp_path / "project" / "a").exists()
        assert (tmp_path / "project" / "b").exists()
        assert [denial["tool_use_id"] for denial in result["permission_denials"]] == ["a"]


async def test_hooks_run_before_and_after_a_call_and_after_the_batch(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="echo hi"), text("ok")), ALLOW_ALL) as host:
        host.answers["hook_callback"] = lambda request: {}
        events = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop")
        await host.control("initialize", hooks=hooks_for(*events))
        await host.turn("go")
        events_run = [request["input"]["hook_event_name"] for request in host.requests("hook_callback")]
        assert events_run == ["UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch", "Stop"]
        after = host.requests("hook_callback")[2]["input"]
        assert (after["tool_name"], after["tool_response"]["stdout"]) == ("Bash", "hi")


async def test_failure_hooks_run_after_a_failed_call(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="exit 3"), text("ok")), ALLOW_ALL) as host:
        host.answers["hook_callback"] = lambda request: {}
        await host.control("initialize", hooks=hooks_for("PostToolUse", "PostToolUseFailure"))
        await host.turn("go")
        assert [request["callback_id"] for request in host.requests("hook_callback")] == ["PostToolUseFailure"]


async def test_a_hook_denies_a_call_and_adds_context(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("ok")), ALLOW_ALL) as host:
        answer = specific(
            "PreToolUse", permissionDecision="deny", permissionDecisionReason="no", additionalContext="ctx"
        )
        host.answers["hook_callback"] = lambda request: answer
        await host.control("initialize", hooks=hooks_for("PreToolUse"))
        result = await host.turn("go")
        assert contents(host)[0].endswith("hook error: no")
        assert len(result["permission_denials"]) == 1
        assert not (tmp_path / "project" / "x").exists()
        assert "ctx" in str(host.model.asked[1]["messages"][-1])


async def test_a_hook_changes_the_input(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("ok"))) as host:
        answer = specific("PreToolUse", permissionDecision="allow", updatedInput={"command": "touch y"})
        host.answers["hook_callback"] = lambda request: answer
        await host.control("initialize", hooks=hooks_for("PreToolUse"))
        await host.turn("go")
        assert [path.name for path in (tmp_path / "project").iterdir()] == ["y"]
        assert not host.requests("can_use_tool")


@pytest.mark.parametrize("decision", ["allow", "ask", None])
@pytest.mark.parametrize("updated", [{"command": 5}, {"cmd": "ls"}, {}])
async def test_invalid_input_of_a_hook_counts_as_a_denial(
    tmp_path: Path, updated: dict[str, Any], decision: str | None
) -> None:
    fields = {"updatedInput": updated, **({"permissionDecision": decision} if decision else {})}
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("ok"))) as host:
        host.answers["hook_callback"] = lambda request: specific("PreToolUse", **fields)
        await host.control("initialize", hooks=hooks_for("PreToolUse"))
        result = await host.turn("go")
        assert "does not fit its schema" in contents(host)[0]
        assert [denial["tool_input"] for denial in result["permission_denials"]] == [{"command": "touch x"}]
        assert host.requests("can_use_tool") == []
        assert not (tmp_path / "project" / "x").exists()


async def test_null_as_the_input_of_a_hook_invalidates_its_answer(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("ok"))) as host:
        answer = specific("PreToolUse", permissionDecision="allow", updatedInput=None)
        host.answers["hook_callback"] = lambda request: answer
        await host.control("initialize", hooks=hooks_for("PreToolUse"))
        await host.turn("go")
        assert len(host.requests("can_use_tool")) == 1
        assert host.of("system", "informational")[0]["tag"] == "hook_callback_failed"


@pytest.mark.parametrize("call", [("Bash", {"command": "touch x"}), ("Read", {"file_path": "a.txt"})])
async def test_call_is_refused_if_the_input_ends_while_its_hook_is_open(
    tmp_path: Path, call: tuple[str, dict[str, Any]]
) -> None:
    async with stage(tmp_path, Script.of(tool_use(call[0], **call[1]), text("ok"))) as host:
        (tmp_path / "project" / "a.txt").write_text("secret")
        await host.control("initialize", hooks=hooks_for("PreToolUse"))
        await host.say("go")
        await host.until_line("control_request", "hook_callback")
        await host.end_input()
        result = await host.result()
        (answer,) = host.results_of_tools()
        assert (answer["is_error"], result["permission_denials"]) == (True, [])
        assert not (tmp_path / "project" / "x").exists()


async def test_a_deferred_call_ends_the_turn_and_leaves_a_valid_conversation(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("ok")), ALLOW_ALL) as host:
        host.answers["hook_callback"] = lambda request: specific("PreToolUse", permissionDecision="defer")
        await host.control("initialize", hooks=hooks_for("PreToolUse"))
        result = await host.turn("go")
        assert (result["terminal_reason"], result["deferred_tool_use"]["name"]) == ("tool_deferred", "Bash")
        await host.turn("again")
        assert_calls_are_answered(host.model.asked[-1]["messages"])


async def test_a_hook_stops_the_turn_after_the_call(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("never")), ALLOW_ALL) as host:
        host.answers["hook_callback"] = lambda request: {"continue": False, "stopReason": "enough"}
        await host.control("initialize", hooks=hooks_for("PreToolUse"))
        result = await host.turn("go")
        assert (result["terminal_reason"], result["result"]) == ("hook_stopped", "")
        assert (tmp_path / "project" / "x").exists()
        assert len(host.model.asked) == 1


async def test_a_hook_adds_context_or_feedback_to_a_result(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="echo x"), text("ok")), ALLOW_ALL) as host:
        answer = {**specific("PostToolUse", additionalContext="see also"), "decision": "block", "reason": "ugly"}
        host.answers["hook_callback"] = lambda request: answer
        await host.control("initialize", hooks=hooks_for("PostToolUse"))
        await host.turn("go")
        told = str(host.model.asked[1]["messages"][-1])
        assert "see also" in told
        assert "ugly" in told


async def test_a_callback_that_times_out_blocks_the_call(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("ok")), ALLOW_ALL) as host:
        await host.control("initialize", hooks=hooks_for("PreToolUse", timeout=0.05))
        assert (await host.turn("go"))["result"] == "ok"
        assert not (tmp_path / "project" / "x").exists()


async def test_a_failed_hook_decides_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("ok")), ALLOW_ALL) as host:
        host.answers["hook_callback"] = lambda request: {"continue": "perhaps"}
        await host.control("initialize", hooks=hooks_for("PreToolUse"))
        await host.turn("go")
        assert (tmp_path / "project" / "x").exists()
        assert host.of("system", "informational")[0]["tag"] == "hook_callback_failed"


async def test_an_invalid_edited_input_is_reported(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("done"))) as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "allow", "updatedInput": {"cmd": 1}}
        result = await host.turn("go")
        assert "InputValidationError" in host.results_of_tools()[0]["content"]
        assert result["permission_denials"] == []
