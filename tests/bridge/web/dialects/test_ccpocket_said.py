"""What a client of the early bridge protocol may say."""

from __future__ import annotations

import json

import pytest

from handrail.bridge.web.dialects import ccpocket_said as said


def test_every_type_of_the_table_is_read_with_its_fields():
    rows = {
        "start": {"projectPath": "/w", "sessionId": "s", "continue": True, "permissionMode": "plan"},
        "input": {"text": "Hi", "sessionId": "s"},
        "approve": {"id": "t", "sessionId": "s"},
        "approve_always": {"id": "t", "sessionId": "s"},
        "reject": {"id": "t", "message": "no", "sessionId": "s"},
        "answer": {"toolUseId": "t", "result": "Blue", "sessionId": "s"},
        "list_sessions": {},
        "stop_session": {"sessionId": "s"},
        "get_history": {"sessionId": "s"},
        "list_recent_sessions": {"limit": 5},
        "resume_session": {"sessionId": "s", "projectPath": "/w", "permissionMode": "default"},
    }
    found = {type: said.read(json.dumps({"type": type, **fields})) for type, fields in rows.items()}
    assert found["start"] == said.Start(project_path="/w", session_id="s", newest=True, permission_mode="plan")
    assert found["reject"] == said.Reject(id="t", message="no", session_id="s")
    assert found["answer"] == said.Answer(tool_use_id="t", result="Blue", session_id="s")
    assert [type(one).__name__ for one in found.values()] == [
        "".join(word.title() for word in name.split("_")) for name in rows
    ]


def test_fields_that_are_not_there_may_be_null_and_others_are_passed_over():
    text = json.dumps({"type": "input", "text": "Hi", "sessionId": None, "images": None, "skills": [1], "baseSeq": 3})
    assert said.read(text) == said.Input(text="Hi")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "[]",
        "null",
        "{}",
        '{"type": null}',
        '{"type": "dance"}',
        '{"type": "interrupt", "sessionId": "s"}',
        '{"type": "start"}',
        '{"type": "start", "projectPath": 3}',
        '{"type": "start", "projectPath": ""}',
        '{"type": "input"}',
        '{"type": "approve", "id": ""}',
        '{"type": "list_recent_sessions", "limit": -1}',
        '{"type": "input", "text": "\\ud800"}',
        b"\xff\xfe",
        b'{"type": "input", "text": "\xff"}',
        '{"type": "list_sessions", "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
)
def test_anything_else_is_unsupported(text: str | bytes):
    with pytest.raises(said.Unsupported):
        said.read(text)
