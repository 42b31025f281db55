"""What a search finds of a line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.bridge.session.frame_text import MOST, frame_text
from handrail.protocol import Message


def text(line: dict[str, Any]) -> str:
    return frame_text(Message(json.dumps(line).encode(), line["type"], ""))


RESULT = {"type": "tool_result", "content": [{"type": "text", "text": "found"}, {"type": "image", "source": {}}]}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"type": "user", "message": {"content": "hello"}}, "hello"),
        ({"type": "user", "message": {"content": "hello"}, "isReplay": True}, ""),
        ({"type": "assistant", "message": {"content": [{"type": "text", "text": "a"}, {"text": "b"}]}}, "a\nb"),
        ({"type": "user", "message": {"content": [RESULT]}}, "found\n"),
        ({"type": "user", "message": {"content": [{"type": "tool_result", "content": "plain"}]}}, "plain"),
        ({"type": "result", "result": "hello"}, ""),
        ({"type": "user", "message": "no message"}, ""),
        ({"type": "user", "message": {"content": 7}}, ""),
        ({"type": "user", "message": {"content": "x" * (MOST + 5)}}, "x" * MOST),
    ],
)
def test_what_was_said_and_what_tools_gave_is_found(line: dict[str, Any], words: str):
    assert text(line) == words
