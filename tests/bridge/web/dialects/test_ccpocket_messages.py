"""Decoding of client messages."""

from __future__ import annotations

import json

import pytest

from handrail.bridge.web.dialects.ccpocket import messages


def test_every_message_of_the_table_is_decoded():
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
    found = {type: messages.decode(json.dumps({"type": type, **fields})) for type, fields in rows.items()}
    assert found["start"] == messages.Start(
        project_path="/w", session_id="s", continue_latest=True, permission_mode="plan"
    )
    assert found["reject"] == messages.Reject(id="t", message="no", session_id="s")
    assert found["answer"] == messages.Answer(tool_use_id="t", result="Blue", session_id="s")
    assert [type(one).__name__ for one in found.values()] == [
        "".join(word.title() for word in name.split("_")) for name in rows
    ]


def test_null_and_unknown_fields_are_ignored():
    text = json.dumps({"type": "input", "text": "Hi", "sessionId": None, "images": None, "skills": [1], "baseSeq": 3})
    assert messages.decode(text) == messages.Input(text="Hi")


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
def test_other_texts_are_unsupported(text: str | bytes):
    with pytest.raises(messages.UnsupportedMessage):
        messages.decode(text)
