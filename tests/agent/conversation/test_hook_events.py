"""Every hook event fires, or a hook for it is reported as one that never runs."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, field

from handrail.agent.hooks.base import EVENTS
from handrail.agent.models.script import Reply, Script, When, http_error, reply, text, tool_use
from tests.agent.mcp.servers import child
from tests.agent.processes import FOREVER, Bell, agent
from tests.agent.stage import hooks_for, stage

JsonObject = dict[str, Any]
ALLOW_ALL = "--dangerously-skip-permissions"
LOG = "(cat; echo) >> $HOME/log"
SUMMARY = reply(text("<summary>We counted.</summary>"), when=When(prompt="Write a summary"))
BASH = tool_use("Bash", command="echo hi")
CREATE = tool_use("TaskCreate", subject="one", description="d")
COMPLETE = tool_use("TaskUpdate", taskId="1", status="completed")
TASKS = ("--tools", "TaskCreate,TaskUpdate,TaskList")
DELEGATE = tool_use("Task", description="look", prompt="look around", run_in_background=False)


def write_hooks(folder: Path, _fields: JsonObject | None = None, **commands: str) -> None:
    """Write a command per event into the user's settings, all with these further fields."""
    place = folder / "home" / ".claude" / "settings.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    hooks = {
        event: [{"hooks": [{"type": "command", "command": command, **(_fields or {})}]}]
        for event, command in commands.items()
    }
    place.write_text(json.dumps({"hooks": hooks}))


def logged(folder: Path) -> list[JsonObject]:
    """The inputs of all hooks that ran LOG."""
    log = folder / "home" / "log"
    return [json.loads(line) for line in log.read_text().splitlines() if line] if log.exists() else []


def printing(event: str, **fields: Any) -> str:
    return f"echo '{json.dumps({'hookSpecificOutput': {'hookEventName': event, **fields}})}'"


def specific(event: str, **fields: Any) -> JsonObject:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


class Scene(Struct, frozen=True):
    """A session in which an event fires, and fields of the input of its hook."""

    replies: tuple[Reply, ...] = (reply(text("ok")),)
    prompts: tuple[str, ...] = ("go",)
    flags: tuple[str, ...] = ()
    expected: JsonObject = field(default_factory=dict[str, Any])
    files: dict[str, str] = field(default_factory=dict[str, str])


def bash_then(command: str) -> tuple[Reply, ...]:
    return (reply(tool_use("Bash", command=command)), reply(text("ok")))


SCENES: dict[str, Scene] = {
    "PreToolUse": Scene(bash_then("echo hi"), expected={"tool_name": "Bash", "tool_input": {"command": "echo hi"}}),
    "PostToolUse": Scene(bash_then("echo hi"), expected={"tool_name": "Bash"}),
    "PostToolUseFailure": Scene(bash_then("exit 3"), expected={"error": "Exit code 3", "is_interrupt": False}),
    "PostToolBatch": Scene(bash_then("echo hi")),
    "PermissionRequest": Scene(bash_then("touch x"), expected={"tool_name": "Bash"}),
    "UserPromptSubmit": Scene(expected={"prompt": "go"}),
    "UserPromptExpansion": Scene(
        prompts=("/tidy all",),
        files={"home/.claude/commands/tidy.md": "Tidy $ARGUMENTS"},
        expected={"command_name": "tidy", "command_args": "all", "expansion_type": "slash_command"},
    ),
    "SessionStart": Scene(expected={"source": "startup"}),
    "SessionEnd": Scene(expected={"reason": "other"}),
    "Stop": Scene(expected={"stop_hook_active": False, "last_assistant_message": "ok"}),
    "StopFailure": Scene((http_error(400, "invalid_request_error", "bad"),) * 6, expected={"error": "unknown"}),
    "SubagentStart": Scene(
        (reply(DELEGATE), reply(text("report")), reply(text("ok"))), expected={"agent_type": "general-purpose"}
    ),
    "SubagentStop": Scene(
        (reply(DELEGATE), reply(text("report")), reply(text("ok"))),
        expected={"agent_type": "general-purpose", "last_assistant_message": "report"},
    ),
    "PreCompact": Scene(
        (reply(text("ok")), SUMMARY), ("go", "/compact names"), expected={"custom_instructions": "names"}
    ),
    "PostCompact": Scene((reply(text("ok")), SUMMARY), ("go", "/compact"), expected={"compact_summary": "We counted."}),
    "TaskCreated": Scene((reply(CREATE), reply(text("ok"))), flags=TASKS, expected={"task_subject": "one"}),
    "TaskCompleted": Scene((reply(CREATE), reply(COMPLETE), reply(text("ok"))), flags=TASKS, expected={"task_id": "1"}),
    "InstructionsLoaded": Scene(
        files={"project/CLAUDE.md": "Be brief."}, expected={"memory_type": "Project", "load_reason": "session_start"}
    ),
    "CwdChanged": Scene(bash_then("mkdir -p sub && cd sub")),
}
ELSEWHERE = {
    *("DirectoryAdded", "Elicitation", "ElicitationResult", "Notification", "PreModelSwitch", "PostModelSwitch"),
    *("WorktreeCreate", "WorktreeRemove"),
}
"""Tested below, with an MCP server in test_elicitation.py, and in tools/test_worktrees.py."""


def test_every_event_is_tested_or_marked_as_one_that_never_fires() -> None:
    never = {event for event, about in EVENTS.items() if about.never}
    assert set(EVENTS) == set(SCENES) | ELSEWHERE | never
    assert not never & (set(SCENES) | ELSEWHERE)


@pytest.mark.parametrize("event", SCENES)
async def test_the_event_fires(event: str, tmp_path: Path) -> None:
    scene = SCENES[event]
    write_hooks(tmp_path, **{event: LOG})
    for name, content in scene.files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    async with stage(tmp_path, Script(replies=scene.replies), *scene.flags) as host:
        for prompt in scene.prompts:
            await host.turn(prompt)
    (seen,) = logged(tmp_path)
    assert seen["hook_event_name"] == event
    assert {name: seen[name] for name in scene.expected} == scene.expected
    assert {"session_id", "transcript_path", "cwd"} <= set(seen)


async def test_an_added_folder_is_announced(tmp_path: Path) -> None:
    write_hooks(tmp_path, DirectoryAdded=LOG)
    (tmp_path / "project" / "sub").mkdir(parents=True)
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        await host.control("register_repo_root", directory="sub")
    (seen,) = logged(tmp_path)
    assert seen["directory"] == str(tmp_path / "project" / "sub")
    assert seen["source"] == "register_repo_root"


@pytest.mark.parametrize("event", [event for event, about in EVENTS.items() if about.never])
async def test_a_hook_for_an_event_that_never_fires_is_reported(event: str, tmp_path: Path, capsys: Any) -> None:
    write_hooks(tmp_path, **{event: LOG})
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        await host.control("initialize", hooks=hooks_for(event))
        await host.turn("go")
    settings, handshake = capsys.readouterr().err.splitlines()
    assert "settings.json" in settings
    assert f"the event {event} never fires in handrail-agent" in settings
    assert handshake.startswith(f"initialize: hooks.{event}: this hook does not run")


@pytest.mark.parametrize("kind", ["prompt", "agent", "http", "mcp_tool"])
async def test_a_hook_of_another_type_is_reported(kind: str, tmp_path: Path, capsys: Any) -> None:
    write_hooks(tmp_path, {"type": kind}, Stop=LOG)
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        await host.turn("go")
    assert f"hooks of type '{kind}' are not supported" in capsys.readouterr().err
    assert not logged(tmp_path)


async def test_a_pending_permission_request_notifies(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("ok"))) as host:
        del host.answers["can_use_tool"]
        host.answers["hook_callback"] = lambda request: {}
        await host.control("initialize", hooks=hooks_for("Notification"))
        host.engine.thread().permission.notify_after = 0
        await host.say("go")
        asked = await host.until_line("control_request", "can_use_tool")
        seen = (await host.until_line("control_request", "hook_callback"))["request"]["input"]
        await host.answer(asked, {"behavior": "allow"})
        await host.result()
    assert (seen["notification_type"], seen["message"]) == (
        "permission_prompt",
        "Claude needs your permission to use Bash",
    )


async def test_a_permission_request_answered_at_once_does_not_notify(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("ok"))) as host:
        host.answers["hook_callback"] = lambda request: {}
        await host.control("initialize", hooks=hooks_for("Notification"))
        await host.turn("go")
        assert not host.requests("hook_callback")


SWITCHES = ("PreModelSwitch", "PostModelSwitch")


async def test_hooks_run_around_a_model_switch(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        host.answers["hook_callback"] = lambda request: {}
        await host.control("initialize", hooks=hooks_for(*SWITCHES))
        before = host.engine.session.model
        assert (await host.control("set_model", model="haiku"))["subtype"] == "success"
        after = host.engine.session.model
        await host.control("set_model", model="haiku")
        seen = [request["input"] for request in host.requests("hook_callback")]
    assert before != after
    assert [(one["hook_event_name"], one["from_model"], one["to_model"]) for one in seen] == [
        (event, before, after) for event in SWITCHES
    ]


async def test_a_hook_blocks_a_model_switch(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        host.answers["hook_callback"] = lambda request: {"decision": "block", "reason": "too costly"}
        await host.control("initialize", hooks=hooks_for(*SWITCHES))
        before = host.engine.session.model
        answer = await host.control("set_model", model="haiku")
        assert (answer["subtype"], host.engine.session.model) == ("error", before)
        assert "too costly" in answer["error"]


# The end of a session


async def end_of_input(process: Any) -> int:
    return await process.end()


def by_signal(number: int) -> Callable[[Any], Any]:
    async def end(process: Any) -> int:
        process.process.send_signal(number)
        return await process.exit_code()

    return end


async def by_request(process: Any) -> int:
    await process.write({"type": "control_request", "request_id": "1", "request": {"subtype": "end_session"}})
    return await process.exit_code()


async def by_bad_line(process: Any) -> int:
    process.stdin.write(b"not json\n")
    return await process.exit_code()


ENDS = {
    "end of input": (end_of_input, 0),
    "SIGTERM": (by_signal(signal.SIGTERM), 143),
    "SIGHUP": (by_signal(signal.SIGHUP), 129),
    "SIGINT": (by_signal(signal.SIGINT), 0),
    "end_session": (by_request, 0),
    "bad line": (by_bad_line, 1),
}


@pytest.mark.parametrize("end", ENDS)
async def test_session_end_hooks_run_however_the_process_ends(end: str, tmp_path: Path) -> None:
    write_hooks(tmp_path, SessionEnd=LOG)
    ending, code = ENDS[end]
    async with agent(tmp_path, Script.of(text("ok"))) as process:
        await process.turn("go")
        assert await ending(process) == code
    (seen,) = logged(tmp_path)
    assert (seen["hook_event_name"], seen["reason"]) == ("SessionEnd", "other")


async def test_session_end_hooks_run_when_a_signal_ends_a_running_command(tmp_path: Path) -> None:
    write_hooks(tmp_path, SessionEnd=LOG)
    async with Bell(tmp_path) as bell:
        script = Script.of(tool_use("Bash", command=f"{bell.path} up; {FOREVER}"), text("ok"))
        async with agent(tmp_path, script) as process:
            await process.say("go")
            assert await bell.line() == "up"
            process.process.send_signal(signal.SIGTERM)
            assert await process.exit_code() == 143
    assert [seen["reason"] for seen in logged(tmp_path)] == ["other"]


async def test_a_session_end_hook_that_hangs_does_not_keep_the_process(tmp_path: Path) -> None:
    write_hooks(tmp_path, SessionEnd=f"echo started >> $HOME/began; {FOREVER}")
    limit = {"CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS": "200"}
    async with agent(tmp_path, Script.of(text("ok")), environment=limit) as process:
        await process.turn("go")
        assert await process.end() == 0
        assert "was killed after 0.2 seconds" in await process.stderr()
    assert (tmp_path / "home" / "began").read_text() == "started\n"


async def test_host_callbacks_are_not_called_when_the_process_starts_or_exits(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        host.answers["hook_callback"] = lambda request: {}
        await host.control("initialize", hooks=hooks_for("SessionStart", "SessionEnd"))
        await host.turn("go")
        await host.turn("/clear")
    told = [(request["callback_id"], request["input"].get("reason")) for request in host.requests("hook_callback")]
    assert told == [("SessionEnd", "clear"), ("SessionStart", None)]


# The start of a session


async def test_a_compaction_starts_the_session_again_and_its_context_reaches_the_model(tmp_path: Path) -> None:
    write_hooks(tmp_path, SessionStart=f"{LOG}; echo REMEMBER")
    script = Script(replies=(SUMMARY,), afterwards=reply(text("ok")))
    async with stage(tmp_path, script) as host:
        await host.turn("one")
        await host.turn("/compact")
        await host.turn("two")
        assert str(host.model.asked[-1]["messages"]).count("REMEMBER") == 1
    assert [seen["source"] for seen in logged(tmp_path)] == ["startup", "compact"]


async def test_a_hook_may_block_a_compaction(tmp_path: Path) -> None:
    write_hooks(tmp_path, PreCompact="echo not now >&2; exit 2")
    script = Script(replies=(SUMMARY,), afterwards=reply(text("ok")))
    async with stage(tmp_path, script) as host:
        await host.turn("one")
        await host.turn("/compact")
        assert "not now" in host.of("result")[-1]["result"]
        assert "not now" in host.of("system", "status")[-1]["compact_error"]
        assert not host.of("system", "compact_boundary")


EXPORTS = {
    "plain": ("export NAME=yes", "yes"),
    "without export": ("NAME=yes", "yes"),
    "with spaces and quotes": ("export NAME='a \"b\" c'", 'a "b" c'),
    "from another variable": ("export BASE=x; export NAME=$BASE/y", "x/y"),
    "before an exit": ("export NAME=yes; exit 3", "yes"),
    "in spite of a syntax error": ("export NAME=yes\nif", "yes"),
}


@pytest.mark.parametrize("case", EXPORTS)
async def test_variables_that_a_session_start_hook_exports_reach_bash(case: str, tmp_path: Path) -> None:
    line, value = EXPORTS[case]
    (tmp_path / "lines").write_text(line + "\n")
    write_hooks(tmp_path, SessionStart=f'cat {tmp_path}/lines >> "$CLAUDE_ENV_FILE"')
    script = Script.of(tool_use("Bash", command='printf "<%s>" "$NAME"'), text("ok"))
    async with stage(tmp_path, script, ALLOW_ALL) as host:
        await host.turn("go")
        assert host.results_of_tools()[0]["content"] == f"<{value}>"


async def test_several_hooks_extend_the_same_variable(tmp_path: Path) -> None:
    place = tmp_path / "home" / ".claude" / "settings.json"
    place.parent.mkdir(parents=True)
    hooks = [
        {"type": "command", "command": f'echo \'export PATH="$PATH:/{name}"\' >> "$CLAUDE_ENV_FILE"'} for name in "ab"
    ]
    place.write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": hooks}]}}))
    script = Script.of(tool_use("Bash", command="echo $PATH"), text("ok"))
    async with stage(tmp_path, script, ALLOW_ALL) as host:
        await host.turn("go")
        assert host.results_of_tools()[0]["content"].endswith(":/a:/b")


async def test_no_file_is_left_behind_and_other_events_get_none(tmp_path: Path) -> None:
    write_hooks(
        tmp_path,
        SessionStart='ln -s "$CLAUDE_ENV_FILE" $HOME/named; echo "export A=1" >> "$CLAUDE_ENV_FILE"',
        Stop='echo "<$CLAUDE_ENV_FILE>" > $HOME/unnamed',
    )
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        await host.turn("go")
    named = tmp_path / "home" / "named"
    assert named.is_symlink()
    assert not named.exists()
    assert (tmp_path / "home" / "unnamed").read_text() == "<>\n"


# Answers that change something


async def test_a_hook_names_the_session(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        host.answers["hook_callback"] = lambda request: specific("UserPromptSubmit", sessionTitle=" A title ")
        await host.control("initialize", hooks=hooks_for("UserPromptSubmit"))
        await host.turn("go")
        assert [line["title"] for line in host.of("system", "session_title_changed")] == ["A title"]
        assert '"customTitle":"A title"' in host.engine.transcript.path.read_text()


BASH_OUTPUT = {"stdout": "OTHER", "stderr": "", "interrupted": False, "isImage": False}
OUTPUTS: dict[str, tuple[Any, Any]] = {
    "output of Bash": (BASH_OUTPUT, "OTHER"),
    "both streams": ({**BASH_OUTPUT, "stderr": "E"}, "OTHER\nE"),
}


@pytest.mark.parametrize("case", OUTPUTS)
async def test_a_hook_replaces_the_output_of_a_tool(case: str, tmp_path: Path) -> None:
    output, shown = OUTPUTS[case]
    async with stage(tmp_path, Script.of(BASH, text("ok"))) as host:
        host.answers["hook_callback"] = lambda request: specific("PostToolUse", updatedToolOutput=output)
        await host.control("initialize", hooks=hooks_for("PostToolUse"))
        await host.turn("go")
        (line,) = [line for line in host.of("user") if "tool_use_result" in line]
        assert line["tool_use_result"] == output
        assert host.results_of_tools()[0]["content"] == shown
        assert "hi" not in str(host.model.asked[-1]["messages"][-1])


@pytest.mark.parametrize("output", ["OTHER", ["OTHER"], {"a": 1}, 5, {**BASH_OUTPUT, "stdout": 1}])
async def test_an_output_of_another_shape_is_ignored(output: Any, tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(BASH, text("ok"))) as host:
        host.answers["hook_callback"] = lambda request: specific("PostToolUse", updatedToolOutput=output)
        await host.control("initialize", hooks=hooks_for("PostToolUse"))
        await host.turn("go")
        assert host.results_of_tools()[0]["content"] == "hi"


OUTPUTS_OF_MCP: list[tuple[Any, Any]] = [
    ("OTHER", "OTHER"),
    ([{"type": "text", "text": "OTHER"}], [{"type": "text", "text": "OTHER"}]),
    ({"content": [{"type": "text", "text": "OTHER"}]}, [{"type": "text", "text": "OTHER"}]),
    ({"a": [1]}, '{"a":[1]}'),
    ([{"type": "image", "data": "x"}], '[{"type":"image","data":"x"}]'),
]


@pytest.mark.parametrize(("output", "shown"), OUTPUTS_OF_MCP)
@pytest.mark.parametrize("field", ["updatedToolOutput", "updatedMCPToolOutput"])
async def test_a_hook_replaces_the_output_of_an_mcp_tool(field: str, output: Any, shown: Any, tmp_path: Path) -> None:
    config = json.dumps({"mcpServers": {"one": child(tmp_path)}})
    script = Script.of(tool_use("mcp__one__go"), text("ok"))
    async with stage(tmp_path, script, ALLOW_ALL, "--mcp-config", config) as host:
        host.answers["hook_callback"] = lambda request: specific("PostToolUse", **{field: output})
        await host.control("initialize", hooks=hooks_for("PostToolUse"))
        await host.turn("go")
        assert host.results_of_tools()[0]["content"] == shown


async def test_output_for_mcp_tools_does_not_replace_that_of_others(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(BASH, text("ok"))) as host:
        host.answers["hook_callback"] = lambda request: specific("PostToolUse", updatedMCPToolOutput="OTHER")
        await host.control("initialize", hooks=hooks_for("PostToolUse"))
        await host.turn("go")
        assert host.results_of_tools()[0]["content"] == "hi"


async def test_a_field_of_an_answer_that_is_ignored_is_reported_once(tmp_path: Path, capsys: Any) -> None:
    async with stage(tmp_path, Script.of(BASH, BASH, text("ok"))) as host:
        host.answers["hook_callback"] = lambda request: specific("PostToolUse", watchPaths=["/a"])
        await host.control("initialize", hooks=hooks_for("PostToolUse"))
        await host.turn("go")
    assert capsys.readouterr().err.count("watchPaths") == 1


async def test_context_of_a_subagent_hook_reaches_the_subagent_alone(tmp_path: Path) -> None:
    write_hooks(tmp_path, SubagentStart=printing("SubagentStart", additionalContext="HOUSE RULES"))
    script = Script.of(DELEGATE, text("report"), text("ok"))
    async with stage(tmp_path, script) as host:
        await host.turn("go")
        _, sub, last = host.model.asked
        assert "HOUSE RULES" in str(sub["messages"])
        assert "HOUSE RULES" not in str(last["messages"])


REFUSING = f"{LOG}; echo 'tests are red' >&2; exit 2"


async def test_a_hook_refuses_the_completion_of_a_task(tmp_path: Path) -> None:
    write_hooks(tmp_path, TaskCompleted=REFUSING)
    script = Script.of(CREATE, COMPLETE, COMPLETE, tool_use("TaskList"), text("ok"))
    async with stage(tmp_path, script, *TASKS) as host:
        await host.turn("go")
        _, completed, _, listed = host.results_of_tools()
    assert not completed["is_error"]
    assert completed["content"].startswith("TaskCompleted hook feedback:")
    assert "tests are red" in completed["content"]
    assert listed["content"] == "#1 [pending] one"
    assert len(logged(tmp_path)) == 2


async def test_a_completed_task_is_not_completed_again(tmp_path: Path) -> None:
    write_hooks(tmp_path, TaskCompleted=LOG)
    async with stage(tmp_path, Script.of(CREATE, COMPLETE, COMPLETE, text("ok")), *TASKS) as host:
        await host.turn("go")
    assert len(logged(tmp_path)) == 1


async def test_a_hook_refuses_a_new_task(tmp_path: Path) -> None:
    write_hooks(tmp_path, TaskCreated=REFUSING)
    async with stage(tmp_path, Script.of(CREATE, tool_use("TaskList"), text("ok")), *TASKS) as host:
        await host.turn("go")
        created, listed = host.results_of_tools()
    assert created["is_error"]
    assert listed["content"] == "No tasks found"


async def test_a_hook_blocks_a_slash_command(tmp_path: Path) -> None:
    write_hooks(tmp_path, UserPromptExpansion="echo not here >&2; exit 2")
    (tmp_path / "home" / ".claude" / "commands").mkdir()
    (tmp_path / "home" / ".claude" / "commands" / "tidy.md").write_text("Tidy up")
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        result = await host.turn("/tidy")
        assert "not here" in result["result"]
        assert not host.model.asked


async def test_without_a_host_to_ask_a_hook_decides(tmp_path: Path) -> None:
    decision = {"behavior": "allow"}
    write_hooks(tmp_path, PermissionRequest=printing("PermissionRequest", decision=decision))
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("ok")), asks=False) as host:
        await host.turn("go")
    assert (tmp_path / "project" / "x").exists()


async def test_without_a_host_and_a_decision_the_call_is_denied(tmp_path: Path) -> None:
    write_hooks(tmp_path, PermissionRequest=LOG)
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("ok")), asks=False) as host:
        await host.turn("go")
    assert len(logged(tmp_path)) == 1
    assert not (tmp_path / "project" / "x").exists()


async def test_a_deny_rule_beats_a_hook_without_a_host(tmp_path: Path) -> None:
    write_hooks(tmp_path, PermissionRequest=printing("PermissionRequest", decision={"behavior": "allow"}))
    script = Script.of(tool_use("Bash", command="touch x"), text("ok"))
    async with stage(tmp_path, script, "--disallowedTools", "Bash(touch:*)", asks=False) as host:
        await host.turn("go")
    assert not (tmp_path / "project" / "x").exists()


async def test_a_command_hook_that_takes_too_long_does_not_block(tmp_path: Path) -> None:
    write_hooks(tmp_path, {"timeout": 0.2}, PreToolUse=FOREVER, Stop=FOREVER, UserPromptSubmit=FOREVER)
    async with stage(tmp_path, Script.of(BASH, text("ok")), ALLOW_ALL) as host:
        assert (await host.turn("go"))["result"] == "ok"
        assert host.results_of_tools()[0]["content"] == "hi"
        warnings = [line["content"] for line in host.of("system", "informational")]
    assert [warning.partition(":")[0] for warning in warnings] == ["UserPromptSubmit", "PreToolUse", "Stop"]


async def test_a_batch_hook_stops_the_turn(tmp_path: Path) -> None:
    write_hooks(tmp_path, PostToolBatch="echo enough >&2; exit 2")
    async with stage(tmp_path, Script.of(BASH, text("ok"))) as host:
        result = await host.turn("go")
        assert (result["terminal_reason"], result["is_error"]) == ("hook_stopped", False)
        assert len(host.model.asked) == 1


async def test_a_stop_hook_ends_the_turn_for_good(tmp_path: Path) -> None:
    write_hooks(tmp_path, Stop="""echo '{"continue": false, "decision": "block", "reason": "more"}'""")
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        result = await host.turn("go")
        assert (result["terminal_reason"], result["result"]) == ("stop_hook_prevented", "ok")


async def test_a_message_for_the_user_names_its_hook(tmp_path: Path) -> None:
    message = """echo '{"systemMessage": "careful"}'"""
    write_hooks(tmp_path, PreToolUse=message, Stop=message)
    async with stage(tmp_path, Script.of(BASH, text("ok"))) as host:
        await host.turn("go")
        said = [line["content"] for line in host.of("system", "informational")]
    assert said == ["PreToolUse:Bash says: careful", "Stop says: careful"]


# Conditions


CONDITIONS: list[tuple[str, str, bool]] = [
    ("Bash(git *)", "git status", True),
    ("Bash(git *)", "echo a", False),
    ("Bash(git *)", "echo a && git log", True),
    ("Bash(git *)", "FOO=1 git log", True),
    ("Bash(git *)", "echo $(git log)", True),
    ("Bash(git:*)", "git", True),
    ("Bash", "echo a", True),
    ("Read(./x)", "cat x", False),
    ("Write", "echo a", False),
    ("Bash(echo a)", "echo a", True),
    ("Bash(echo a)", "echo b", False),
]


@pytest.mark.parametrize(("condition", "command", "runs"), CONDITIONS)
async def test_a_hook_runs_if_its_condition_matches(condition: str, command: str, runs: bool, tmp_path: Path) -> None:
    write_hooks(tmp_path, {"if": condition}, PreToolUse=LOG)
    async with stage(tmp_path, Script.of(tool_use("Bash", command=command), text("ok")), ALLOW_ALL) as host:
        await host.turn("go")
    assert bool(logged(tmp_path)) is runs


@pytest.mark.parametrize(
    ("condition", "runs"),
    [("Write(*.txt)", True), ("Write(*.py)", False), ("Edit(*.txt)", False), ("Edit", False), ("Write", True)],
)
async def test_conditions_match_files(condition: str, runs: bool, tmp_path: Path) -> None:
    write_hooks(tmp_path, {"if": condition}, PostToolUse=LOG)
    path = str(tmp_path / "project" / "a.txt")
    script = Script.of(tool_use("Write", file_path=path, content="x"), text("ok"))
    async with stage(tmp_path, script, ALLOW_ALL) as host:
        await host.turn("go")
    assert bool(logged(tmp_path)) is runs


async def test_a_condition_for_an_event_without_a_tool_is_reported(tmp_path: Path, capsys: Any) -> None:
    write_hooks(tmp_path, {"if": "Bash"}, Stop=LOG)
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        await host.turn("go")
    assert "`if` is for events about tool calls" in capsys.readouterr().err
    assert not logged(tmp_path)


async def test_a_hook_with_an_invalid_condition_runs_always_and_is_reported(tmp_path: Path, capsys: Any) -> None:
    write_hooks(tmp_path, {"if": "Bash("}, PreToolUse=LOG)
    async with stage(tmp_path, Script.of(BASH, text("ok")), ALLOW_ALL) as host:
        await host.turn("go")
    assert "runs for every call" in capsys.readouterr().err
    assert logged(tmp_path)


async def test_context_of_a_stop_hook_starts_another_round(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("first"), text("second"))) as host:
        host.answers["hook_callback"] = lambda request: (
            {}
            if request["input"]["stop_hook_active"]
            else {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "look again"}}
        )
        await host.control("initialize", hooks=hooks_for("Stop"))
        result = await host.turn("go")
        assert (result["result"], result["num_turns"]) == ("second", 1)
        assert "look again" in str(host.model.asked[-1]["messages"])
        assert not host.of("user")


async def test_a_prompt_hook_that_does_not_answer_blocks_the_prompt(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("unasked"))) as host:
        await host.control("initialize", hooks=hooks_for("UserPromptSubmit", timeout=0.05))
        result = await host.turn("go")
        assert (result["subtype"], result["num_turns"]) == ("success", 0)
        assert "did not answer within 0.05 seconds" in result["result"]
        assert not host.model.asked


@pytest.mark.parametrize(("named", "asks"), [("PostToolUse", 0), ("", 1)])
async def test_an_answer_to_another_event_keeps_the_tool_from_running(named: str, asks: int, tmp_path: Path) -> None:
    answer = {"permissionDecision": "allow", **({"hookEventName": named} if named else {})}
    async with stage(tmp_path, Script.of(tool_use("Bash", command="touch x"), text("done"))) as host:
        host.answers["hook_callback"] = lambda request: {"hookSpecificOutput": answer}
        await host.control("initialize", hooks=hooks_for("PreToolUse"))
        await host.turn("go")
        assert len(host.requests("can_use_tool")) == asks
        assert [block.get("is_error", False) for block in host.results_of_tools()] == [not asks]
