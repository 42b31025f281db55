"""The recordings in `golden` are read without a loss, and the check says so where one is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.recordings.check import check, main

GOLDEN = Path(__file__).parent / "golden"
EXPECTED = """
message assistant, message user, message result, message stream_event, message system/init, message system/status,
message system/task_started, message system/compact_boundary, message system/api_retry, message conversation_reset,
block text, block thinking, block redacted_thinking, block tool_use, block tool_result, event content_block_delta,
request can_use_tool, request hook_callback, request mcp_message, request elicitation, request initialize,
answer can_use_tool, answer hook_callback, answer mcp_message, answer elicitation, answer initialize, answer interrupt,
hook PreToolUse, hook PermissionRequest, suggestion addRules, suggestion setMode, suggestion addDirectories,
tool result Bash, tool result Edit, tool result AskUserQuestion, tool result Task, frame CancelRequest, frame Failure
"""


def write(folder: Path, *messages: Any) -> None:
    rows = [json.dumps({"t": 0.0, "dir": "out", "msg": message}) for message in messages]
    (folder / "one.ndjson").write_text("\n".join(rows))


def test_no_line_of_the_recordings_loses_anything():
    kinds, failures = check(GOLDEN)
    expected = {kind.strip() for kind in EXPECTED.replace("\n", " ").split(",")}
    assert (failures, expected - set(kinds)) == ([], set())


@pytest.mark.parametrize(
    ("message", "failure"),
    [
        ({"type": "hologram"}, "unknown message hologram"),
        ({"type": "system", "subtype": "init", "tools": 5}, "unknown message system (Expected `array`"),
        ({"type": "assistant", "message": {"content": [{"type": "hologram"}]}}, "unknown block hologram"),
        (
            {"type": "control_request", "request_id": "1", "request": {"subtype": "hologram"}},
            "unknown request hologram",
        ),
    ],
)
def test_unknown_types_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], message: Any, failure: str):
    write(tmp_path, message)
    assert main([str(tmp_path)]) == 1
    assert f"one.ndjson:1: {failure}" in capsys.readouterr().out


def test_deliberately_unknown_type_is_not_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write(tmp_path, {"type": "banana"}, {"__raw__": "this is not json"})
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 views of 2 kinds, 0 failures"


def test_a_folder_without_recordings_is_a_failure_and_no_folder_a_mistake(tmp_path: Path):
    assert (main([str(tmp_path)]), main([]), main([str(tmp_path / "none")])) == (1, 2, 2)
