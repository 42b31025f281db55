"""What hooks decide."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from handrail.schema.client_answers import HookAnswer, HookSpecificAnswer
from handrail.schema.control import read_answer
from handrail.schema.hook_output import HookOutput


@pytest.mark.parametrize(
    ("output", "wire"),
    [
        (HookOutput(), {}),
        (HookOutput(continue_=False, stop_reason="enough"), {"continue": False, "stopReason": "enough"}),
        (HookOutput(decision="block", reason="no"), {"decision": "block", "reason": "no"}),
        (
            HookOutput(suppress_output=True, system_message="m", terminal_sequence="t"),
            {"suppressOutput": True, "systemMessage": "m", "terminalSequence": "t"},
        ),
        (
            HookOutput(permission_decision="deny", permission_decision_reason="no", updated_input={}),
            {
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "deny",
                    "permissionDecisionReason": "no",
                    "updatedInput": {},
                }
            },
        ),
        (
            HookOutput(permission={"behavior": "allow"}, system_message="m"),
            {
                "systemMessage": "m",
                "hookSpecificOutput": {"hookEventName": "PreToolUse", "decision": {"behavior": "allow"}},
            },
        ),
        (HookOutput(async_=True), {"async": True}),
        (HookOutput(async_=True, async_timeout=15, reason="unheard"), {"async": True, "asyncTimeout": 15}),
    ],
)
def test_an_output_is_written_as_the_cli_reads_it(output: HookOutput, wire: dict[str, Any]):
    assert output.to_wire("PreToolUse") == wire


def test_everything_that_can_be_said_is_read_again_by_the_other_side():
    said = {
        name: True if name in ("continue_", "suppress_output", "retry") else {"a": 1} if name == "permission" else name
        for name in HookOutput.__struct_fields__
        if name
        not in ("async_", "async_timeout", "updated_input", "watch_paths", "suppress_original_prompt", "reload_skills")
    }
    output = HookOutput(**said, updated_input={}, watch_paths=[], suppress_original_prompt=True, reload_skills=True)
    wire = output.to_wire("PreToolUse")
    view = read_answer("hook_callback", msgspec.json.encode(wire))
    assert isinstance(view, HookAnswer)
    assert view.extra == {}
    names = {field.encode_name for field in msgspec.structs.fields(HookSpecificAnswer)}
    assert set(wire["hookSpecificOutput"]) == names
