"""A tool in one line, and its input in full."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from handrail.cli.tool_lines import input_lines, key_argument, outcome, short_path, tool_label
from handrail.schema.content import ToolResultBlock, write_blocks


@pytest.mark.parametrize(
    ("name", "input", "argument"),
    [
        ("Bash", {"command": "make test", "description": "Run"}, "make test"),
        ("Read", {"file_path": "/p/src/a.py"}, "src/a.py"),
        ("Read", {"file_path": "/elsewhere/a.py"}, "/elsewhere/a.py"),
        ("mcp__docs__find", {"limit": 3, "text": "hooks"}, "hooks"),
        ("Odd", {"n": 1}, '{"n": 1}'),
        ("Odd", {}, ""),
        ("Bash", {"command": 7}, '{"command": 7}'),
        ("AskUserQuestion", {"questions": [{"question": "Which?", "header": "Colour"}]}, "Colour"),
        ("ExitPlanMode", {}, "the plan"),
    ],
)
def test_the_key_argument_of_a_tool(name: str, input: dict[str, Any], argument: str):
    assert key_argument(name, input, "/p") == argument


def test_names_and_paths_are_said_shortly():
    assert tool_label("mcp__docs__find_it") == "docs: find_it"
    assert tool_label("mcp__odd") == "mcp__odd"
    assert short_path("/project/a", "/pro") == "/project/a"
    assert short_path("/project", "/project") == "/project"


@pytest.mark.parametrize(
    ("name", "result", "words"),
    [
        ("Bash", {"stdout": "one\ntwo\nOK", "stderr": ""}, "OK (3 lines)"),
        ("Bash", {"stdout": "", "stderr": ""}, "done, no output"),
        ("Bash", {"backgroundTaskId": "b1"}, "runs in the background as b1"),
        ("Read", {"type": "text", "file": {"numLines": 6, "totalLines": 6}}, "6 lines"),
        ("Read", {"type": "text", "file": {"numLines": 6, "totalLines": 60}}, "6 of 60 lines"),
        ("Read", {"type": "image", "file": {}}, "image"),
        ("Write", {"type": "create", "content": "a\nb\n"}, "created, 2 lines"),
        ("Edit", {"structuredPatch": [{"lines": [" x", "-a", "+b", "+c"]}]}, "+2 −1"),
        ("Glob", {"numFiles": 1}, "1 file"),
        ("Grep", {"mode": "content", "numLines": 4}, "4 lines"),
        ("Task", {"isAsync": True}, "works in the background"),
        ("AskUserQuestion", {"answers": {"Which?": "Red"}}, "Red"),
        ("Unheard", {"x": 1}, "first (+1 line)"),
    ],
)
def test_outcome_of_a_tool_in_words(name: str, result: dict[str, Any], words: str):
    block = ToolResultBlock(tool_use_id="t", content_raw=write_blocks("first\nsecond"))
    assert outcome(name, block, msgspec.json.encode(result)) == (True, words)


def test_a_failure_tells_its_reason_without_the_marks():
    marked = ToolResultBlock(tool_use_id="t", content_raw=write_blocks("<tool_use_error>no such file</tool_use_error>"))
    assert outcome("Read", marked, b'"Error: no such file"') == (False, "no such file")
    refused = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    rejected = ToolResultBlock(tool_use_id="t", is_error=True, content_raw=write_blocks(refused))
    assert outcome("Bash", rejected, b"") == (False, "rejected")


def test_every_part_of_an_input_is_shown_to_who_decides():
    lines = [text for text, _ in input_lines("Bash", {"command": "a\nb", "description": "d", "timeout": 5})]
    assert lines == ["a", "b", "{", '  "timeout": 5', "}"]


def test_an_edit_is_shown_as_a_difference():
    edit = {"file_path": "/a", "old_string": "x\ny", "new_string": "x\nz", "replace_all": True}
    assert input_lines("Edit", edit) == [
        (" x", ""),
        ("-y", "red"),
        ("+z", "green"),
        ("everywhere in the file", "yellow"),
    ]


def test_a_written_file_is_shown_whole(tmp_path: Any):
    write = {"file_path": str(tmp_path / "new"), "content": "a\nb"}
    assert [text for text, _ in input_lines("Write", write)] == ["a new file:", "+a", "+b"]
    (tmp_path / "new").touch()
    assert input_lines("Write", write)[0][0] == "the file exists and would be replaced by:"


@pytest.mark.parametrize("name", ["Bash", "Edit", "Write", "Read", "Odd"])
def test_an_input_of_another_shape_is_shown_as_it_is(name: str):
    assert [text for text, _ in input_lines(name, {"command": 1})] == ["{", '  "command": 1', "}"]
