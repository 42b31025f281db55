"""The input of hooks."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from handrail.schema.hooks import (
    HOOK_INPUTS,
    HookInput,
    PermissionRequestInput,
    PostToolBatchInput,
    PostToolUseInput,
    PreToolUseInput,
    StopInput,
    SubagentStopInput,
    ToolCall,
    UnknownHookInput,
    UserPromptSubmitInput,
    read_hook_input,
)
from handrail.schema.permission_types import PermissionUpdate
from handrail.schema.view import as_builtins, as_json
from tests.schema.known_fields import EVERY_HOOK_FIELDS, HOOK_FIELDS


def read(**wire: Any) -> HookInput:
    view = read_hook_input(json.dumps(wire).encode())
    assert as_builtins(view) == wire
    return view


def test_there_is_a_row_for_every_event():
    assert (len(HOOK_INPUTS.table), set(HOOK_INPUTS.table)) == (33, set(HOOK_FIELDS))


@pytest.mark.parametrize("event", HOOK_FIELDS)
def test_every_field_of_an_event_has_a_name(event: str):
    names = {field.encode_name for field in msgspec.structs.fields(HOOK_INPUTS.table[event])}
    assert set((HOOK_FIELDS[event] + " " + EVERY_HOOK_FIELDS).split()) - names == set()


@pytest.mark.parametrize("event", HOOK_INPUTS.table)
def test_every_row_is_read_by_its_own_event(event: str):
    cls = HOOK_INPUTS.table[event]
    required = {field.encode_name: "x" for field in msgspec.structs.fields(cls) if field.required}
    view = read(hook_event_name=event, session_id="s", **required, tomorrow=1)
    assert (type(view), view.hook_event_name, view.session_id, view.extra) == (cls, event, "s", {"tomorrow": 1})
    assert as_builtins(cls(**required)) == {"hook_event_name": event, **required}


@pytest.mark.parametrize(
    ("wire", "view"),
    [
        (
            {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t"},
            PreToolUseInput(tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="t"),
        ),
        (
            {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": {"stdout": ""}, "duration_ms": 5},
            PostToolUseInput(tool_name="Bash", tool_response={"stdout": ""}, duration_ms=5),
        ),
        (
            {
                "hook_event_name": "PostToolBatch",
                "tool_calls": [{"tool_name": "Bash", "tool_input": {}, "tool_use_id": "t"}],
            },
            PostToolBatchInput(tool_calls=[ToolCall(tool_name="Bash", tool_input={}, tool_use_id="t")]),
        ),
        (
            {"hook_event_name": "UserPromptSubmit", "prompt": "hi", "effort": {"level": "high"}},
            UserPromptSubmitInput(prompt="hi", effort={"level": "high"}),
        ),
        (
            {"hook_event_name": "Stop", "stop_hook_active": True, "last_assistant_message": "bye"},
            StopInput(stop_hook_active=True, last_assistant_message="bye"),
        ),
        (
            {"hook_event_name": "SubagentStop", "agent_id": "a", "agent_transcript_path": "/t"},
            SubagentStopInput(agent_id="a", agent_transcript_path="/t"),
        ),
        ({"hook_event_name": "Hologram", "cwd": "/p", "beams": 3}, HookInput(hook_event_name="Hologram", cwd="/p")),
        ({"cwd": "/p"}, HookInput(cwd="/p")),
    ],
)
def test_an_input_is_read_by_its_event(wire: dict[str, Any], view: HookInput):
    assert (read(**wire), type(read(**wire))) == (view, type(view))


def test_the_suggestions_of_a_permission_request_are_typed():
    update = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    view = read(hook_event_name="PermissionRequest", tool_name="Write", permission_suggestions=[update])
    assert isinstance(view, PermissionRequestInput)
    assert view.suggestions == [PermissionUpdate(type="setMode", mode="acceptEdits")]


@pytest.mark.parametrize(
    ("raw", "view"),
    [
        (
            b'{"hook_event_name":"PreToolUse"}',
            UnknownHookInput(hook_event_name="PreToolUse", problem="Object missing required field `tool_name`"),
        ),
        (
            b'{"hook_event_name":"Hologram","cwd":5}',
            UnknownHookInput(hook_event_name="Hologram", problem="Expected `str`, got `int` - at `$.cwd`"),
        ),
        (b"[]", UnknownHookInput(problem="Expected `object`, got `array`")),
    ],
)
def test_an_input_that_does_not_fit_says_why_and_keeps_its_bytes(raw: bytes, view: UnknownHookInput):
    read = read_hook_input(raw)
    assert (read, read.raw, as_json(read)) == (view, raw, raw)
