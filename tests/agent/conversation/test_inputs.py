"""The inputs of calls: which the model may write, and what the host and the conversation show of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, ToolUse, text, tool_use
from tests.agent.stage import StagedHost, hooks_for, stage

_TASK = {"subject": "s", "description": "d", "metadata": {"a": 1}, "activeForm": "f"}


async def played(folder: Path, call: ToolUse, *flags: str) -> StagedHost:
    """The host after one call that it allowed."""
    async with stage(folder, Script.of(call, text("ok")), *flags) as host:
        host.answers["hook_callback"] = lambda request: {}
        host.answers["can_use_tool"] = lambda request: {"behavior": "allow", "updatedInput": request["input"]}
        await host.control("initialize", hooks=hooks_for("PreToolUse"))
        await host.turn("go")
    return host


def hooked(host: StagedHost) -> dict[str, Any] | None:
    found = host.requests("hook_callback")
    return found[0]["input"]["tool_input"] if found else None


def shown(host: StagedHost) -> dict[str, Any]:
    [block] = [block for line in host.of("assistant") for block in line["message"]["content"] if "input" in block]
    return block["input"]


@pytest.mark.parametrize(
    "call",
    [
        tool_use("Bash", command="touch x", surprise=1),
        tool_use("Bash", command="touch x", timeout=None),
        tool_use("Read", file_path="a.txt", path="a.txt"),
        tool_use("Write", file_path="a.txt", path="b.txt", content="x"),
        tool_use("WebSearch", query="words", surprise=1),
        tool_use("Bash", command="touch x", timeout="soon"),
        tool_use("Bash", command="touch x", timeout="1e3"),
        tool_use("Bash", command="touch x", run_in_background="no"),
        tool_use("Read", file_path="a.txt", limit="1.5"),
    ],
    ids=lambda call: json.dumps(call.input),
)
async def test_unknown_fields_and_wrong_types_are_refused(tmp_path: Path, call: ToolUse) -> None:
    host = await played(tmp_path, call)
    assert "InputValidationError" in host.results_of_tools()[0]["content"]
    assert hooked(host) is None
    assert shown(host) == call.input


@pytest.mark.parametrize(
    ("call", "known"),
    [
        (tool_use("Task", description="d", prompt="p", subagent_type="none", surprise=1), "subagent_type"),
        (tool_use("TaskCreate", subject="s", description="d", surprise=1), "subject"),
        (tool_use("Monitor", command="true", description="d", surprise=1), "timeout_ms"),
    ],
    ids=["Task", "TaskCreate", "Monitor"],
)
async def test_some_tools_ignore_unknown_fields(tmp_path: Path, call: ToolUse, known: str) -> None:
    host = await played(tmp_path, call, "--tools", "Bash,Task,TaskCreate,Monitor")
    assert known in (hooked(host) or {})
    assert "surprise" not in (hooked(host) or {})


@pytest.mark.parametrize(
    ("call", "repaired"),
    [
        (tool_use("Bash", command="touch x", timeout="5000"), {"timeout": 5000}),
        (tool_use("Bash", command="touch x", timeout=" 5000.5"), {"timeout": 5000.5}),
        (tool_use("Bash", command="touch x", run_in_background="false"), {"run_in_background": False}),
        (tool_use("TodoWrite", todos="[]"), {"todos": []}),
        (tool_use("Read", file_path="/none", offset="2"), {"offset": 2}),
    ],
    ids=["number", "fraction", "boolean", "list", "integer"],
)
async def test_values_written_as_strings_are_read(tmp_path: Path, call: ToolUse, repaired: dict[str, Any]) -> None:
    host = await played(tmp_path, call, "--tools", call.name)
    assert hooked(host) == shown(host) == {**call.input, **repaired}


async def test_some_strings_stay_in_the_conversation(tmp_path: Path) -> None:
    call = tool_use("Grep", pattern="x", head_limit="1", **{"-i": "true"})
    host = await played(tmp_path, call, "--tools", "Grep")
    assert shown(host) == call.input
    assert hooked(host) == {"pattern": "x", "head_limit": 1, "-i": True}
    call = tool_use("Read", file_path="/none", limit="2")
    host = await played(tmp_path, call)
    assert shown(host) == call.input
    assert hooked(host) == {"file_path": "/none", "limit": 2}


async def test_a_number_for_a_string_is_not_repaired(tmp_path: Path) -> None:
    host = await played(tmp_path, tool_use("Write", file_path="a.txt", content="5"))
    assert hooked(host) == {"file_path": str(tmp_path / "project" / "a.txt"), "content": "5"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("n.txt", "project/n.txt"),
        ("~/n.txt", "home/n.txt"),
        ("sub/../n.txt", "project/n.txt"),
        ("../n.txt", "n.txt"),
        (" n.txt ", "project/n.txt"),
        ("~other/n.txt", "project/~other/n.txt"),
    ],
)
async def test_the_host_is_asked_about_an_absolute_path(tmp_path: Path, written: str, meant: str) -> None:
    host = await played(tmp_path, tool_use("Write", file_path=written, content="x"))
    path = tmp_path / meant
    assert hooked(host) == host.requests("can_use_tool")[0]["input"] == {"file_path": str(path), "content": "x"}
    assert shown(host)["file_path"] == written
    assert path.read_text() == "x"


async def test_a_path_through_a_link_is_the_one_that_was_asked_about(tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "link").symlink_to(tmp_path / "elsewhere" / "deep")
    host = await played(tmp_path, tool_use("Write", file_path="link/../n.txt", content="x"))
    assert host.requests("can_use_tool")[0]["input"]["file_path"] == str(tmp_path / "project" / "n.txt")
    assert (tmp_path / "project" / "n.txt").exists()
    assert not (tmp_path / "elsewhere" / "n.txt").exists()


async def test_other_names_of_fields_are_understood(tmp_path: Path) -> None:
    host = await played(tmp_path, tool_use("Write", path="n.txt", content="x"))
    assert hooked(host) == {"file_path": str(tmp_path / "project" / "n.txt"), "content": "x"}
    host = await played(tmp_path, tool_use("Write", file_path="m.txt", file_text="x"))
    assert hooked(host) == {"file_path": str(tmp_path / "project" / "m.txt"), "content": "x"}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"old_string": "", "new_string": "y"}, {"replace_all": False}),
        ({"old_string": "", "new_string": "y", "replace_all": "true"}, {"replace_all": True}),
        ({"old_str": "", "new_str": "y"}, {"old_string": "", "new_string": "y", "replace_all": False}),
        (
            {"old_str": "x", "old_string": "", "new_str": "y"},
            {"old_string": "", "new_string": "y", "replace_all": False},
        ),
    ],
)
async def test_an_edit_is_shown_with_all_its_fields(
    tmp_path: Path, given: dict[str, Any], meant: dict[str, Any]
) -> None:
    host = await played(tmp_path, tool_use("Edit", file_path="m.txt", **given))
    fields = {name: value for name, value in given.items() if name in ("old_string", "new_string")} | meant
    assert shown(host) == {"file_path": "m.txt", **fields}
    assert hooked(host) == {"file_path": str(tmp_path / "project" / "m.txt"), **fields}


@pytest.mark.parametrize(
    "given",
    [
        {"old_str": "", "new_string": 5},
        {"old_str": "", "new_str": "y", "surprise": 1},
        {"old_str": ""},
        {"old_string": "", "new_string": "y", "replace_all": None},
        {"old_string": "", "new_string": "y", "replace_all": "yes"},
    ],
)
async def test_an_invalid_edit_is_shown_as_it_was_written(tmp_path: Path, given: dict[str, Any]) -> None:
    call = tool_use("Edit", file_path="m.txt", **given)
    host = await played(tmp_path, call)
    assert (shown(host), hooked(host)) == (call.input, None)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"description": "d"}, {"subject": "d", "description": "d"}),
        ({"subject": "s"}, {"subject": "s", "description": "s"}),
        ({"title": "s", "description": "d"}, {"subject": "s", "description": "d"}),
        ({"content": "s"}, {"subject": "s", "description": "s"}),
        ({"subject": "s", "description": "d", "activeForm": 1}, {"subject": "s", "description": "d"}),
        ({"subject": "s", "description": "d", "activeForm": None}, {"subject": "s", "description": "d"}),
        ({"subject": "s", "description": "d", "metadata": '{"a": 1}'}, {"subject": "s", "description": "d"}),
        ({"subject": "s", "description": "d", "metadata": []}, {"subject": "s", "description": "d"}),
        (_TASK, _TASK),
    ],
)
async def test_a_task_is_created_from_what_is_valid(
    tmp_path: Path, given: dict[str, Any], meant: dict[str, Any]
) -> None:
    host = await played(tmp_path, tool_use("TaskCreate", **given), "--tools", "TaskCreate")
    assert (shown(host), hooked(host)) == (given, meant)
    assert not host.results_of_tools()[0]["is_error"]


@pytest.mark.parametrize("given", [{}, {"subject": None, "description": "d"}, {"subject": "s", "description": 5}])
async def test_a_task_without_texts_is_refused(tmp_path: Path, given: dict[str, Any]) -> None:
    host = await played(tmp_path, tool_use("TaskCreate", **given), "--tools", "TaskCreate")
    assert hooked(host) is None
    assert host.results_of_tools()[0]["is_error"]


@pytest.mark.parametrize("name", ["id", "task_id"])
async def test_other_names_of_a_task_number_are_understood(tmp_path: Path, name: str) -> None:
    host = await played(tmp_path, tool_use("TaskUpdate", status="pending", **{name: "1"}), "--tools", "TaskUpdate")
    assert hooked(host) == {"taskId": "1", "status": "pending"}


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
async def test_reading_a_device_fails_before_anyone_is_asked(tmp_path: Path, path: str) -> None:
    async with stage(tmp_path, Script.of(tool_use("Read", file_path=path), text("ok"))) as host:
        host.answers["hook_callback"] = lambda request: {}
        await host.control("initialize", hooks=hooks_for("PreToolUse"))
        result = await host.turn("go")
        assert (hooked(host), result["permission_denials"]) == (None, [])
        assert "cannot be read" in host.results_of_tools()[0]["content"]


async def test_the_host_may_add_unknown_fields(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Bash", command="echo a"), text("ok")), "--tools", "Bash") as host:
        host.answers["can_use_tool"] = lambda request: {
            "behavior": "allow",
            "updatedInput": {"command": "touch y", "timeout": "5000", "surprise": 1},
        }
        host.answers["hook_callback"] = lambda request: {
            "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}
        }
        await host.control("initialize", hooks=hooks_for("PreToolUse"))
        await host.turn("go")
        assert not host.results_of_tools()[0]["is_error"]
        assert (tmp_path / "project" / "y").exists()


async def test_values_that_choose_no_part_of_a_file_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.txt").write_text("one\ntwo\n")
    host = await played(tmp_path, tool_use("Read", file_path="a.txt", limit=0, offset=-1, pages=""))
    assert hooked(host) == {"file_path": str(tmp_path / "project" / "a.txt")}
    assert host.results_of_tools()[0]["content"] == "1\tone\n2\ttwo\n3\t"


async def test_an_empty_path_searches_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.txt").write_text("one\n")
    for call in (tool_use("Grep", pattern="one", path=""), tool_use("Glob", pattern="*", path="")):
        host = await played(tmp_path, call, "--tools", "Grep,Glob")
        assert (hooked(host), host.requests("can_use_tool")) == (call.input, [])
        assert "a.txt" in host.results_of_tools()[0]["content"]
