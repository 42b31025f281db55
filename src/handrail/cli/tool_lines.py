"""Describes tool calls in the terminal: a label, the main argument, the outcome, and the whole input."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, cast

from handrail.schema.content import ToolResultBlock
from handrail.schema.file_results import EditResult, GlobResult, GrepResult, PatchHunk, ReadResult, WriteResult
from handrail.schema.questions import read_questions
from handrail.schema.tool_result_view import ToolResultView
from handrail.schema.tool_results import (
    BashResult,
    QuestionsResult,
    SubagentResult,
    TodoWriteResult,
    WebFetchResult,
    read_tool_result,
)

__all__ = ["SUBAGENT_TOOLS", "input_lines", "key_argument", "outcome", "short_path", "tool_label"]

SUBAGENT_TOOLS = ("Task", "Agent")
KEY_ARGUMENTS = {
    "Bash": "command",
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "Glob": "pattern",
    "Grep": "pattern",
    "WebFetch": "url",
    "WebSearch": "query",
    "Task": "description",
    "Agent": "description",
    "Skill": "skill",
    "TaskCreate": "subject",
    "TaskStop": "task_id",
    "Monitor": "command",
    "SendMessage": "to",
    "EnterWorktree": "name",
    "ExitWorktree": "action",
    "ToolSearch": "query",
}
REJECTED = "The user doesn't want to proceed with this tool use."
PATHS = ("file_path", "notebook_path", "path")
StyledLine = tuple[str, str]
"""Text and the name of a style, or an empty one."""


def tool_label(name: str) -> str:
    """The name as people say it: `mcp__docs__find` is `docs: find`."""
    if name.startswith("mcp__") and name.count("__") >= 2:
        _, server, tool = name.split("__", 2)
        return f"{server}: {tool}"
    return name


def key_argument(name: str, input: Mapping[str, Any], cwd: str = "") -> str:
    """The main argument of a call. Control characters are not yet removed."""
    if name == "AskUserQuestion":
        return ", ".join(question.header or question.question for question in read_questions(input))
    if name == "ExitPlanMode":
        return "the plan"
    key = KEY_ARGUMENTS.get(name) or next((key for key, value in input.items() if isinstance(value, str)), "")
    value = input.get(key)
    if not isinstance(value, str):
        return json.dumps(input, ensure_ascii=False) if input else ""
    return short_path(value, cwd) if key in PATHS else value


def short_path(path: str, cwd: str) -> str:
    """The path as seen from the working folder, where it is inside."""
    folder = cwd.rstrip("/") + "/"
    return path[len(folder) :] if cwd and path.startswith(folder) and len(path) > len(folder) else path


def outcome(name: str, block: ToolResultBlock, raw: bytes) -> tuple[bool, str]:
    """Whether a call succeeded, and its outcome in a few words. `raw` is its `tool_use_result`, or empty."""
    if block.is_error or block.error_text:
        text = block.error_text
        return False, "rejected" if text.startswith(REJECTED) else text or "failed"
    result = read_tool_result(name, raw) if raw else None
    tell = _OUTCOMES.get(type(result))
    return True, tell(result) if tell is not None else _first_line(block.text)


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines()]
    if not lines:
        return "done"
    more = len(lines) - 1
    return f"{lines[0]} (+{_count(more, 'line')})" if more else lines[0]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _bash(result: BashResult) -> str:
    if result.background_task_id:
        return f"runs in the background as {result.background_task_id}"
    text = "\n".join(filter(None, (result.stdout, result.stderr)))
    return "interrupted" if result.interrupted else _last_line(text, "done, no output")


def _last_line(text: str, nothing: str) -> str:
    """Of an output and of a report, the last line is mostly the one that tells."""
    lines = text.strip().splitlines()
    if len(lines) < 2:
        return lines[0] if lines else nothing
    return f"{lines[-1]} ({len(lines)} lines)"


def _read(result: ReadResult) -> str:
    file = result.file
    if file is None or result.type != "text":
        return result.type or "read"
    if file.num_lines < file.total_lines:
        return f"{file.num_lines} of {_count(file.total_lines, 'line')}"
    return _count(file.num_lines, "line")


def _write(result: WriteResult) -> str:
    if result.type == "create":
        return f"created, {_count(len(result.content.splitlines()), 'line')}"
    return _changes(result.structured_patch)


def _changes(hunks: list[PatchHunk]) -> str:
    lines = [line for hunk in hunks for line in hunk.lines]
    added = sum(line.startswith("+") for line in lines)
    return f"+{added} −{sum(line.startswith('-') for line in lines)}"


def _grep(result: GrepResult) -> str:
    if result.mode == "files_with_matches" or result.num_lines is None:
        return _count(result.num_files, "file")
    return _count(result.num_lines, "line")


def _subagent(result: SubagentResult) -> str:
    if result.is_async or result.status == "async_launched":
        return "works in the background"
    used = f" ({_count(result.total_tool_use_count, 'tool')}, {result.total_tokens:,} tokens)"
    return _last_line(result.text, "done") + used


def _todos(result: TodoWriteResult) -> str:
    done = sum(todo.status == "completed" for todo in result.new_todos)
    return f"{done} of {len(result.new_todos)} done"


def _answers(result: QuestionsResult) -> str:
    return "; ".join(str(answer) for answer in result.answers.values()) or "not answered"


_OUTCOMES: Mapping[type[ToolResultView | None], Callable[[Any], str]] = {
    BashResult: _bash,
    ReadResult: _read,
    WriteResult: _write,
    EditResult: lambda result: _changes(cast(EditResult, result).structured_patch),
    GlobResult: lambda result: _count(cast(GlobResult, result).num_files, "file"),
    GrepResult: _grep,
    SubagentResult: _subagent,
    TodoWriteResult: _todos,
    QuestionsResult: _answers,
    WebFetchResult: lambda result: f"{result.code} {result.code_text}, {_count(result.bytes, 'byte')}",
}


def input_lines(name: str, input: Mapping[str, Any]) -> list[StyledLine]:
    """Everything that a call would do, for a person who must decide. Nothing of the input is left out."""
    tell = _INPUTS.get(name)
    shown, rest = tell(input) if tell is not None else ([], dict(input))
    if rest:
        shown = [*shown, *((line, "") for line in json.dumps(rest, ensure_ascii=False, indent=2).splitlines())]
    return shown


Shown = tuple[list[StyledLine], dict[str, Any]]
"""The lines, and what of the input they do not tell."""


def _without(input: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in input.items() if key not in keys}


def _texts(input: Mapping[str, Any], *keys: str) -> list[str] | None:
    values = [input.get(key) for key in keys]
    return cast("list[str]", values) if all(isinstance(value, str) for value in values) else None


def _bash_input(input: Mapping[str, Any]) -> Shown:
    found = _texts(input, "command")
    if found is None:
        return [], dict(input)
    return [(line, "bold") for line in found[0].split("\n")], _without(input, "command", "description")


def _edit_input(input: Mapping[str, Any]) -> Shown:
    found = _texts(input, "file_path", "old_string", "new_string")
    if found is None:
        return [], dict(input)
    _, old, new = found
    lines = list(difflib.unified_diff(old.split("\n"), new.split("\n"), n=3, lineterm=""))[2:]
    shown = [(line, _DIFF_STYLES.get(line[:1], "")) for line in lines if not line.startswith("@@")]
    if not shown:
        shown = [("(only line ends or nothing differ)", "dim")]
    rest = _without(input, "file_path", "old_string", "new_string")
    if rest.get("replace_all") is True:
        shown.append(("everywhere in the file", "yellow"))
    return shown, _without(rest, "replace_all")


def _write_input(input: Mapping[str, Any]) -> Shown:
    found = _texts(input, "file_path", "content")
    if found is None:
        return [], dict(input)
    path, content = found
    exists = os.path.exists(path)
    shown = [("the file exists and would be replaced by:" if exists else "a new file:", "dim")]
    shown += [(f"+{line}", "green") for line in content.removesuffix("\n").split("\n")]
    return shown, _without(input, "file_path", "content")


def _path_input(input: Mapping[str, Any]) -> Shown:
    found = _texts(input, "file_path")
    return ([], dict(input)) if found is None else ([(found[0], "bold")], _without(input, "file_path"))


_DIFF_STYLES = {"+": "green", "-": "red"}
_INPUTS: Mapping[str, Callable[[Mapping[str, Any]], Shown]] = {
    "Bash": _bash_input,
    "Edit": _edit_input,
    "Write": _write_input,
    "Read": _path_input,
}
