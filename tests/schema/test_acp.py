"""The messages of the Agent Client Protocol can be read and written."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from handrail.schema.acp import messages as acp


@pytest.mark.parametrize(
    "type", [*(type for pair in acp.REQUESTS.values() for type in pair), *acp.NOTIFICATIONS.values()]
)
def test_every_message_has_types_that_can_be_decoded(type: type[msgspec.Struct]):
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b"[]", type=type)


@pytest.mark.parametrize(
    ("update", "type"),
    [
        ({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a"}}, acp.AgentMessageChunk),
        ({"sessionUpdate": "tool_call", "toolCallId": "a", "title": "b", "rawInput": {"c": 1}}, acp.ToolCall),
        ({"sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "completed"}, acp.ToolCallChange),
        ({"sessionUpdate": "plan", "entries": []}, acp.Plan),
        ({"sessionUpdate": "current_mode_update", "currentModeId": "plan", "_meta": {"a": 1}}, acp.CurrentModeUpdate),
    ],
)
def test_update_is_recognised_by_its_tag_and_written_unchanged(update: dict[str, Any], type: type):
    given = {"sessionId": "s", "update": update}
    read = msgspec.convert(given, acp.SessionNotification)
    assert isinstance(read.update, type)
    assert msgspec.to_builtins(read) == given


def test_unknown_fields_are_ignored_and_missing_ones_named():
    read = msgspec.convert({"sessionId": "s", "modeId": "m", "later": True}, acp.SetSessionModeRequest)
    assert (read.session_id, read.mode_id) == ("s", "m")
    with pytest.raises(msgspec.ValidationError, match="modeId"):
        msgspec.convert({"sessionId": "s"}, acp.SetSessionModeRequest)
