from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.conversation.calls import run_quietly
from handrail.agent.models.script import Script, text, tool_use
from tests.agent.stage import hooks_for, stage

TOUCH = Script.of(tool_use("Bash", command="touch x"), text("ok"))
SESSION_RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}],
    "behavior": "allow",
    "destination": "session",
}


async def test_an_allowed_call_is_not_asked_about(tmp_path: Path) -> None:
    async with stage(tmp_path, TOUCH, "--allowedTools", "Bash(touch:*)") as host:
        await host.turn("go")
        assert not host.requests("can_use_tool")
        assert (tmp_path / "project" / "x").exists()


async def test_without_a_host_to_ask_a_call_is_denied_and_reported(tmp_path: Path) -> None:
    async with stage(tmp_path, TOUCH, asks=False) as host:
        result = await host.turn("go")
        assert host.of("system", "permission_denied")[0]["tool_name"] == "Bash"
        assert len(result["permission_denials"]) == 1
        assert not (tmp_path / "project" / "x").exists()


async def test_a_denied_call_is_not_asked_about(tmp_path: Path) -> None:
    async with stage(tmp_path, TOUCH, "--disallowedTools", "Bash(touch:*)") as host:
        await host.turn("go")
        assert not host.requests("can_use_tool")
        assert host.results_of_tools()[0]["is_error"]


async def test_the_host_changes_the_input(tmp_path: Path) -> None:
    async with stage(tmp_path, TOUCH) as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "allow", "updatedInput": {"command": "touch y"}}
        await host.turn("go")
        assert [path.name for path in (tmp_path / "project").iterdir()] == ["y"]


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"behavior": "perhaps"},
        {"behavior": "deny"},
        {"behavior": "deny", "message": 5},
        {"behavior": "allow", "updatedInput": "touch y"},
        {"behavior": "allow", "updatedInput": ["touch y"]},
    ],
)
async def test_an_invalid_answer_denies(tmp_path: Path, answer: dict[str, Any]) -> None:
    async with stage(tmp_path, TOUCH) as host:
        host.answers["can_use_tool"] = lambda request: answer
        await host.turn("go")
        assert "invalid permission result" in host.results_of_tools()[0]["content"]
        assert not list((tmp_path / "project").iterdir())


async def test_an_error_of_the_host_denies(tmp_path: Path) -> None:
    async with stage(tmp_path, TOUCH) as host:
        host.answers.pop("can_use_tool")
        await host.say("go")
        asked = await host.until_line("control_request", "can_use_tool")
        response = {"subtype": "error", "request_id": asked["request_id"], "error": "out of order"}
        await host.write({"type": "control_response", "response": response})
        await host.result()
        assert "out of order" in host.results_of_tools()[0]["content"]


async def test_a_closed_stream_denies(tmp_path: Path) -> None:
    async with stage(tmp_path, TOUCH) as host:
        host.answers.pop("can_use_tool")
        await host.say("go")
        await host.until_line("control_request", "can_use_tool")
        await host.end_input()
        await host.exit_code()
        assert "stream was closed" in host.results_of_tools()[0]["content"]


async def test_a_suggestion_has_only_the_fields_of_its_type(tmp_path: Path) -> None:
    async with stage(tmp_path, TOUCH) as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "no"}
        await host.turn("go")
        rule, mode = host.requests("can_use_tool")[0]["permission_suggestions"]
    assert (rule["type"], set(rule)) == ("addRules", {"type", "rules", "behavior", "destination"})
    assert mode == {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


async def test_permission_updates_of_an_answer_apply_to_later_calls(tmp_path: Path) -> None:
    script = Script.of(tool_use("Bash", command="touch x"), tool_use("Bash", command="touch y"), text("ok"))
    async with stage(tmp_path, script) as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "allow", "updatedPermissions": [SESSION_RULE]}
        await host.turn("go")
        assert len(host.requests("can_use_tool")) == 1
        assert (tmp_path / "project" / "y").exists()


async def test_invalid_permission_updates_are_ignored(tmp_path: Path) -> None:
    async with stage(tmp_path, TOUCH) as host:
        broken: list[Any] = [{"type": "addRules"}, 5, {"type": "setMode", "mode": "no such mode"}]
        host.answers["can_use_tool"] = lambda request: {"behavior": "allow", "updatedPermissions": broken}
        await host.turn("go")
        assert (tmp_path / "project" / "x").exists()
        assert host.engine.session.mode == "default"


@pytest.mark.parametrize(
    "broken", [{"type": "no such type"}, {**SESSION_RULE, "destination": "mars"}, {"type": "setMode", "mode": "plan"}]
)
async def test_one_invalid_update_invalidates_the_others_of_its_answer(tmp_path: Path, broken: Any) -> None:
    script = Script.of(tool_use("Bash", command="touch x"), tool_use("Bash", command="touch y"), text("ok"))
    async with stage(tmp_path, script) as host:
        updates = [SESSION_RULE, broken]
        host.answers["can_use_tool"] = lambda request: {"behavior": "allow", "updatedPermissions": updates}
        await host.turn("go")
        assert len(host.requests("can_use_tool")) == 2
        assert (tmp_path / "project" / "y").exists()


async def test_a_mode_that_is_not_available_does_not_affect_other_updates(tmp_path: Path) -> None:
    script = Script.of(tool_use("Bash", command="touch x"), tool_use("Bash", command="touch y"), text("ok"))
    async with stage(tmp_path, script) as host:
        updates = [{"type": "setMode", "mode": "bypassPermissions", "destination": "session"}, SESSION_RULE]
        host.answers["can_use_tool"] = lambda request: {"behavior": "allow", "updatedPermissions": updates}
        await host.turn("go")
        assert len(host.requests("can_use_tool")) == 1
        assert host.engine.session.mode == "default"


async def test_a_hook_answers_instead_of_the_host(tmp_path: Path) -> None:
    async with stage(tmp_path, TOUCH) as host:
        host.answers.pop("can_use_tool")
        decision = {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}
        host.answers["hook_callback"] = lambda request: {"hookSpecificOutput": decision}
        await host.control("initialize", hooks=hooks_for("PermissionRequest"))
        await host.turn("go")
        assert (tmp_path / "project" / "x").exists()
        assert host.of("control_cancel_request")


async def test_an_undecided_hook_leaves_the_answer_to_the_host(tmp_path: Path) -> None:
    async with stage(tmp_path, TOUCH) as host:
        host.answers.pop("can_use_tool")
        host.answers["hook_callback"] = lambda request: {}
        await host.control("initialize", hooks=hooks_for("PermissionRequest"))
        await host.say("go")
        asked = await host.until_line("control_request", "can_use_tool")
        await host.answer(asked, {"behavior": "allow"})
        await host.result()
        assert (tmp_path / "project" / "x").exists()


@pytest.mark.parametrize(
    "decision",
    [
        {"behavior": "allow", "updatedInput": {"command": "touch other"}},
        {"behavior": "deny", "message": "no", "interrupt": True},
        {"behavior": "allow", "updatedPermissions": [SESSION_RULE]},
    ],
)
async def test_host_wins_if_it_answers_before_the_hook(tmp_path: Path, decision: dict[str, Any]) -> None:
    """Both answers arrive in one read, so that neither was applied when the other arrived."""
    async with stage(tmp_path, TOUCH) as host:
        host.answers.clear()
        await host.control("initialize", hooks=hooks_for("PermissionRequest"))
        rules = host.engine.session.circumstances.rules
        await host.say("go")
        asked = await host.until_line("control_request", "can_use_tool")
        hooked = await host.until_line("control_request", "hook_callback")
        output = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}
        answers = [
            {"subtype": "success", "request_id": request["request_id"], "response": payload}
            for request, payload in ((asked, {"behavior": "allow"}), (hooked, output))
        ]
        lines = [json.dumps({"type": "control_response", "response": answer}).encode() for answer in answers]
        await host.write(b"\n".join(lines))
        assert (await host.result())["is_error"] is False
        assert [path.name for path in (tmp_path / "project").iterdir()] == ["x"]
        assert host.engine.session.circumstances.rules == rules


async def test_a_late_hook_answer_grants_nothing(tmp_path: Path) -> None:
    script = Script.of(tool_use("Bash", command="touch x"), text("ok"), text("later"))
    async with stage(tmp_path, script) as host:
        await host.control("initialize", hooks=hooks_for("PermissionRequest"))
        host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "no"}
        await host.turn("go")
        late = await host.until_line("control_request", "hook_callback")
        decision = {"behavior": "allow", "updatedPermissions": [SESSION_RULE]}
        before = host.engine.session.circumstances.rules
        await host.answer(late, {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})
        await host.turn("and now?")
        assert host.engine.session.circumstances.rules == before


async def test_questions_leave_nothing_running(tmp_path: Path) -> None:
    async with stage(tmp_path, TOUCH) as host:
        await host.turn("go")
        assert not host.engine.thread().permission._beside  # pyright: ignore[reportPrivateUsage]


# The content that was shown is the content that runs


async def test_a_changed_input_that_a_rule_denies_is_denied(tmp_path: Path) -> None:
    async with stage(tmp_path, TOUCH, "--disallowedTools", "Bash(rm:*)") as host:
        (tmp_path / "project" / "dear").touch()
        host.answers["can_use_tool"] = lambda request: {"behavior": "allow", "updatedInput": {"command": "rm dear"}}
        await host.turn("go")
        assert host.results_of_tools()[0]["is_error"]
        assert (tmp_path / "project" / "dear").exists()


async def test_a_dangerous_changed_input_is_asked_about_again(tmp_path: Path) -> None:
    async with stage(tmp_path, TOUCH) as host:
        answers = [
            {"behavior": "allow", "updatedInput": {"command": "rm -rf ~"}},
            {"behavior": "deny", "message": "no, not that"},
        ]
        host.answers["can_use_tool"] = lambda request: answers.pop(0)
        await host.turn("go")
        shown = [request["input"]["command"] for request in host.requests("can_use_tool")]
        assert shown == ["touch x", "rm -rf ~"]
        assert host.results_of_tools()[0]["content"] == "no, not that"


async def test_a_rule_added_while_a_question_is_pending_applies_f38(tmp_path: Path) -> None:
    async with stage(tmp_path, TOUCH) as host:
        settings = tmp_path / "project" / ".claude" / "settings.json"

        def forbid_then_allow(request: dict[str, Any]) -> dict[str, Any]:
            settings.parent.mkdir()
            settings.write_text('{"permissions": {"deny": ["Bash(touch:*)"]}}')
            return {"behavior": "allow"}

        host.answers["can_use_tool"] = forbid_then_allow
        await host.turn("go")
        assert "has been denied" in host.results_of_tools()[0]["content"]
        assert not (tmp_path / "project" / "x").exists()


async def test_a_script_changed_while_a_question_is_pending_is_asked_about_again(tmp_path: Path) -> None:
    run = Script.of(tool_use("Bash", command="./run.sh"), text("ok"))
    async with stage(tmp_path, run) as host:
        script = tmp_path / "project" / "run.sh"
        script.write_text("#!/bin/sh\ntouch shown\n")
        script.chmod(0o755)

        def change_then_allow(request: dict[str, Any]) -> dict[str, Any]:
            if len(host.requests("can_use_tool")) == 1:
                script.write_text("#!/bin/sh\ntouch other\n")
                return {"behavior": "allow"}
            return {"behavior": "deny", "message": "it is another now"}

        host.answers["can_use_tool"] = change_then_allow
        await host.turn("go")
        first, second = (request["files"] for request in host.requests("can_use_tool"))
        assert first[0]["path"] == second[0]["path"] == str(script)
        assert first[0]["sha256"] != second[0]["sha256"]
        assert not (tmp_path / "project" / "other").exists()


@pytest.mark.parametrize(("mode", "runs"), [("acceptEdits", True), ("dontAsk", False)])
async def test_a_mode_that_decides_withdraws_the_question(tmp_path: Path, mode: str, runs: bool) -> None:
    path = tmp_path / "project" / "x"
    script = Script.of(tool_use("Write", file_path=str(path), content="x"), text("ok"))
    async with stage(tmp_path, script) as host:
        host.answers["can_use_tool"] = lambda request: None
        await host.say("go")
        await host.until(lambda: host.requests("can_use_tool"))
        await host.control("set_permission_mode", mode=mode)
        await host.result()
        assert host.of("control_cancel_request")
    assert path.exists() is runs


@pytest.mark.parametrize(
    ("chosen", "mode"), [([{"type": "setMode", "mode": "acceptEdits"}], "acceptEdits"), ([], "default")]
)
async def test_the_mode_chosen_with_a_plan_applies(tmp_path: Path, chosen: list[dict[str, Any]], mode: str) -> None:
    planned = Script.of(tool_use("EnterPlanMode"), tool_use("ExitPlanMode", plan="1. it"), text("ok"))
    async with stage(tmp_path, planned) as host:
        granted = [{**one, "destination": "session"} for one in chosen]

        def accept(request: dict[str, Any]) -> dict[str, Any]:
            updates = {"updatedPermissions": granted} if request["tool_name"] == "ExitPlanMode" else {}
            return {"behavior": "allow", "updatedInput": request["input"], **updates}

        host.answers["can_use_tool"] = accept
        await host.turn("go")
        assert host.of("system", "status")[-1]["permissionMode"] == mode


# Output of the session's own tools


async def test_long_output_of_a_tool_is_read_without_asking(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("first"))) as host:
        folder = host.engine.transcript.folder / "tool-results"
        folder.mkdir(parents=True)
        (folder / "a.txt").write_text("long")
        outcome = await run_quietly(host.engine.thread(), "Read", {"file_path": str(folder / "a.txt")})
    assert not outcome.is_error
    assert not host.requests("can_use_tool")


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("head -c 4 {folder}/tool-results/a.txt", 0),
        ("grep -n long {folder}/tool-results/a.txt | head -3", 0),
        ("cat {folder}/tasks/b1.output", 0),
        ("cat {folder}.jsonl", 1),
        ("cat {folder}/tool-results/link.txt", 1),
        ("cp {folder}/tool-results/a.txt a.txt", 1),
        ("cat a.txt > {folder}/tool-results/a.txt", 1),
    ],
)
async def test_commands_that_only_read_see_the_sessions_own_output(command: str, asked: int, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    async with stage(tmp_path, Script.of(text("first"))) as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "no"}
        folder = host.engine.transcript.folder
        for name in ("tool-results/a.txt", "tasks/b1.output"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("long")
        (folder / "tool-results" / "link.txt").symlink_to(tmp_path / "secret.txt")
        outcome = await run_quietly(host.engine.thread(), "Bash", {"command": command.format(folder=folder)})
        assert len(host.requests("can_use_tool")) == asked
    assert outcome.is_error == bool(asked)
    assert asked or "long" in str(outcome.content)


@pytest.mark.parametrize("way", ["link", "parent", "rule"])
async def test_other_files_are_asked_about_or_denied(way: str, tmp_path: Path) -> None:
    rules = ("--disallowedTools", "Read(//**/tool-results/**)") if way == "rule" else ()
    (tmp_path / "secret.txt").write_text("secret")
    async with stage(tmp_path, Script.of(text("first")), *rules) as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "no"}
        folder = host.engine.transcript.folder / "tool-results"
        folder.mkdir(parents=True)
        (folder / "plain.txt").write_text("x")
        (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
        path = {"link": "link.txt", "parent": "../../../secret.txt", "rule": "plain.txt"}[way]
        outcome = await run_quietly(host.engine.thread(), "Read", {"file_path": f"{folder}/{path}"})
    assert outcome.is_error


@pytest.mark.parametrize(("second", "asked"), [("rm -r up/precious", 1), ("touch beside.txt", 0)])
async def test_a_command_is_decided_in_the_folder_where_the_shell_is(tmp_path: Path, second: str, asked: int):
    outside, kit = tmp_path / "outside", tmp_path / "project" / "kit"
    (outside / "precious").mkdir(parents=True)
    kit.mkdir(parents=True)
    (kit / "up").symlink_to(outside)
    calls = Script.of(tool_use("Bash", command="cd kit"), tool_use("Bash", command=second), text("ok"))
    async with stage(tmp_path, calls, "--permission-mode", "acceptEdits") as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "no"}
        await host.turn("go")
        assert len(host.requests("can_use_tool")) == asked
    assert (outside / "precious").exists()
    assert (kit / "beside.txt").exists() == (asked == 0)
