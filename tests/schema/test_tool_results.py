"""What tools give back beside the text for the model."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from handrail.schema.content import TextBlock
from handrail.schema.file_results import (
    EditResult,
    GlobResult,
    GrepResult,
    NotebookEditResult,
    PatchHunk,
    ReadFile,
    ReadResult,
    WriteResult,
)
from handrail.schema.questions import Question
from handrail.schema.tool_result_view import ToolError, ToolResultView, ToolText, UnknownToolResult
from handrail.schema.tool_results import (
    TOOL_RESULTS,
    BashResult,
    EnterWorktreeResult,
    ExitPlanModeResult,
    ExitWorktreeResult,
    McpContentResult,
    McpToolResult,
    MessageResult,
    MonitorResult,
    QuestionsResult,
    SendMessageResult,
    StatusChange,
    SubagentResult,
    Task,
    TaskListResult,
    TaskResult,
    TaskStopResult,
    TaskUpdateResult,
    Todo,
    TodoWriteResult,
    ToolSearchResult,
    WebFetchResult,
    WebSearchResult,
    read_tool_result,
)
from handrail.schema.view import as_builtins, as_json

PATCH = [{"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" a", "-b", "+c"]}]
HUNKS = [PatchHunk(old_start=1, old_lines=2, new_start=1, new_lines=2, lines=[" a", "-b", "+c"])]

SAMPLES: list[tuple[str, dict[str, Any], ToolResultView]] = [
    (
        "Bash",
        {"stdout": "o", "stderr": "e", "interrupted": False, "isImage": False, "backgroundTaskId": "b1"},
        BashResult(stdout="o", stderr="e", background_task_id="b1"),
    ),
    (
        "Read",
        {"type": "text", "file": {"filePath": "/f", "content": "c", "numLines": 1, "startLine": 1, "totalLines": 9}},
        ReadResult(type="text", file=ReadFile(file_path="/f", content="c", num_lines=1, start_line=1, total_lines=9)),
    ),
    (
        "Read",
        {"type": "image", "file": {"base64": "AA==", "type": "image/png", "originalSize": 2, "dimensions": {"x": 1}}},
        ReadResult(type="image", file=ReadFile(base64="AA==", type="image/png", original_size=2, dimensions={"x": 1})),
    ),
    (
        "Read",
        {"type": "notebook", "file": {"filePath": "/n", "cells": [{"cellType": "code"}]}},
        ReadResult(type="notebook", file=ReadFile(file_path="/n", cells=[{"cellType": "code"}])),
    ),
    (
        "Write",
        {"type": "create", "filePath": "/f", "content": "c", "structuredPatch": [], "originalFile": None},
        WriteResult(type="create", file_path="/f", content="c"),
    ),
    (
        "Write",
        {"type": "overwrite", "filePath": "/f", "content": "c", "structuredPatch": PATCH, "originalFile": "b"},
        WriteResult(type="overwrite", file_path="/f", content="c", structured_patch=HUNKS, original_file="b"),
    ),
    (
        "Edit",
        {
            "filePath": "/f",
            "oldString": "b",
            "newString": "c",
            "originalFile": "a\nb",
            "structuredPatch": PATCH,
            "userModified": True,
            "replaceAll": False,
        },
        EditResult(
            file_path="/f",
            old_string="b",
            new_string="c",
            original_file="a\nb",
            structured_patch=HUNKS,
            user_modified=True,
        ),
    ),
    (
        "MultiEdit",
        {"filePath": "/f", "edits": [], "structuredPatch": PATCH},
        EditResult(file_path="/f", structured_patch=HUNKS),
    ),
    (
        "NotebookEdit",
        {"notebook_path": "/n", "cell_id": "c", "edit_mode": "replace", "new_source": "x", "old_source": "y"},
        NotebookEditResult(notebook_path="/n", cell_id="c", edit_mode="replace", new_source="x", old_source="y"),
    ),
    (
        "Glob",
        {"filenames": ["a"], "numFiles": 1, "truncated": False, "durationMs": 3},
        GlobResult(filenames=["a"], num_files=1, duration_ms=3),
    ),
    (
        "Grep",
        {"mode": "content", "filenames": [], "numFiles": 0, "content": "a:1", "numLines": 1},
        GrepResult(mode="content", content="a:1", num_lines=1),
    ),
    (
        "AskUserQuestion",
        {"questions": [{"question": "Q?"}], "answers": {"Q?": "A"}, "annotations": {"Q?": {"notes": "n"}}},
        QuestionsResult(questions=[Question(question="Q?")], answers={"Q?": "A"}, annotations={"Q?": {"notes": "n"}}),
    ),
    ("EnterPlanMode", {"message": "m"}, MessageResult(message="m")),
    ("ExitPlanMode", {"plan": None, "isAgent": False, "filePath": "/p.md"}, ExitPlanModeResult(file_path="/p.md")),
    (
        "Task",
        {"isAsync": True, "status": "async_launched", "agentId": "a", "outputFile": "/o", "canReadOutputFile": True},
        SubagentResult(
            is_async=True, status="async_launched", agent_id="a", output_file="/o", can_read_output_file=True
        ),
    ),
    ("Agent", {"status": "completed", "totalTokens": 5}, SubagentResult(status="completed", total_tokens=5)),
    (
        "TaskCreate",
        {"task": {"id": "1", "subject": "s", "description": "d"}},
        TaskResult(task=Task(id="1", subject="s", description="d")),
    ),
    ("TaskGet", {"task": None}, TaskResult()),
    (
        "TaskUpdate",
        {
            "success": True,
            "taskId": "1",
            "updatedFields": ["status"],
            "statusChange": {"from": "pending", "to": "done"},
        },
        TaskUpdateResult(
            success=True, task_id="1", updated_fields=["status"], status_change=StatusChange(from_="pending", to="done")
        ),
    ),
    (
        "TaskList",
        {"tasks": [{"id": "1", "subject": "s", "status": "pending", "blockedBy": ["2"]}]},
        TaskListResult(tasks=[Task(id="1", subject="s", status="pending", blocked_by=["2"])]),
    ),
    (
        "TaskStop",
        {"message": "m", "task_id": "t", "task_type": "local_bash"},
        TaskStopResult(message="m", task_id="t", task_type="local_bash"),
    ),
    ("KillShell", {"message": "m"}, TaskStopResult(message="m")),
    (
        "EnterWorktree",
        {"worktreePath": "/w", "worktreeBranch": "b", "message": "m"},
        EnterWorktreeResult(worktree_path="/w", worktree_branch="b", message="m"),
    ),
    (
        "ExitWorktree",
        {"action": "remove", "discardedFiles": 1, "discardedCommits": 0, "originalCwdMissing": False, "message": "m"},
        ExitWorktreeResult(action="remove", discarded_files=1, discarded_commits=0, message="m"),
    ),
    (
        "ToolSearch",
        {"matches": ["mcp__a__b"], "query": "b", "total_deferred_tools": 40},
        ToolSearchResult(matches=["mcp__a__b"], query="b", total_deferred_tools=40),
    ),
    (
        "SendMessage",
        {"success": True, "message": "m", "resumedAgentId": "a1", "revivedAgentId": "a1"},
        SendMessageResult(success=True, message="m", resumed_agent_id="a1", revived_agent_id="a1"),
    ),
    (
        "Monitor",
        {"taskId": "b1", "timeoutMs": 300000, "persistent": False},
        MonitorResult(task_id="b1", timeout_ms=300000, persistent=False),
    ),
    (
        "TodoWrite",
        {"oldTodos": [], "newTodos": [{"content": "c", "status": "pending", "activeForm": "f"}]},
        TodoWriteResult(new_todos=[Todo(content="c", status="pending", active_form="f")]),
    ),
    (
        "WebFetch",
        {"bytes": 9, "code": 200, "codeText": "OK", "result": "r", "durationMs": 1.5, "url": "http://127.0.0.1/"},
        WebFetchResult(bytes=9, code=200, code_text="OK", result="r", duration_ms=1.5, url="http://127.0.0.1/"),
    ),
    (
        "WebSearch",
        {"query": "q", "results": ["text", {"tool_use_id": "t", "content": []}], "durationSeconds": 0.5},
        WebSearchResult(query="q", results=["text", {"tool_use_id": "t", "content": []}], duration_seconds=0.5),
    ),
    (
        "mcp__calc__add",
        {"content": "5", "structuredContent": {"ok": True}},
        McpToolResult(content_raw=msgspec.Raw(b'"5"'), structured_content={"ok": True}),
    ),
]


def encode(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@pytest.mark.parametrize(("tool", "wire", "view"), SAMPLES)
def test_the_result_of_a_tool_is_read_by_the_tools_name(tool: str, wire: dict[str, Any], view: ToolResultView):
    read = read_tool_result(tool, encode({**wire, "tomorrow": 1}))
    assert (read, type(read), as_builtins(read)) == (view, type(view), {**wire, "tomorrow": 1})


def test_every_row_has_a_sample():
    assert {tool for tool, _, _ in SAMPLES} - {"mcp__calc__add"} == set(TOOL_RESULTS)


@pytest.mark.parametrize(
    ("text", "view"),
    [
        ("Error: Exit code 3\nout", ToolError(text="Error: Exit code 3\nout")),
        ("InputValidationError: JSON parse failed", ToolError(text="InputValidationError: JSON parse failed")),
        ("User rejected tool use", ToolError(text="User rejected tool use")),
        ("total 3", ToolText(text="total 3")),
        ("Errors are fine", ToolText(text="Errors are fine")),
        ("cut \ud83d", ToolText(text="cut \ufffd")),
    ],
)
def test_a_plain_text_is_an_error_where_it_tells_of_one(text: str, view: ToolText):
    raw = encode(text)
    read = read_tool_result("Bash", raw)
    assert (read, type(read), as_json(read)) == (view, type(view), raw)


def test_a_subagent_that_ended_has_text():
    view = read_tool_result("Task", encode({"status": "completed", "content": [{"type": "text", "text": "done"}]}))
    assert isinstance(view, SubagentResult)
    assert (view.content, view.text) == ([TextBlock(text="done")], "done")


def test_the_result_of_an_mcp_tool_has_blocks_also_where_it_is_only_a_list():
    raw = encode([{"type": "text", "text": "5"}])
    listed = read_tool_result("mcp__calc__add", raw)
    assert listed == McpContentResult(content_raw=msgspec.Raw(raw))
    assert isinstance(listed, McpContentResult)
    assert (listed.content, listed.text, as_builtins(listed)) == ([TextBlock(text="5")], "5", json.loads(raw))


@pytest.mark.parametrize(
    ("tool", "raw", "view"),
    [
        ("Hologram", b'{"beams" : 3}', UnknownToolResult(tool_name="Hologram")),
        ("ListMcpResources", b"[]", UnknownToolResult(tool_name="ListMcpResources")),
        (
            "Bash",
            b'{"stdout":5}',
            UnknownToolResult(tool_name="Bash", problem="Expected `str`, got `int` - at `$.stdout`"),
        ),
        ("Edit", b"[1]", UnknownToolResult(tool_name="Edit", problem="Expected `object`, got `array`")),
    ],
)
def test_an_unknown_result_says_why_and_keeps_its_bytes(tool: str, raw: bytes, view: UnknownToolResult):
    read = read_tool_result(tool, raw)
    assert (read, read.raw, as_json(read)) == (view, raw, raw)
