from __future__ import annotations

from typing import Any

import pytest

from handrail.agent.hooks.base import HookResult, InvalidHookOutput, merge, read_output, read_printed

PRE = "PreToolUse"


def specific(event: str = PRE, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


@pytest.mark.parametrize(
    ("output", "result"),
    [
        ({}, HookResult()),
        (None, HookResult()),
        (specific(permissionDecision="allow"), HookResult(decision="allow")),
        (
            specific(permissionDecision="deny", permissionDecisionReason="no"),
            HookResult(decision="deny", reason="no"),
        ),
        (specific(permissionDecision="ask"), HookResult(decision="ask")),
        (specific(permissionDecision="defer"), HookResult(decision="defer")),
        (specific(updatedInput={"a": 1}), HookResult(updated_input={"a": 1})),
        (specific(additionalContext="more"), HookResult(additional_context=("more",))),
        ({"decision": "block", "reason": "old"}, HookResult(decision="deny", reason="old", block="old")),
        ({"decision": "block"}, HookResult(decision="deny", block="a hook blocked it")),
        ({"decision": "approve"}, HookResult(decision="allow")),
        ({"continue": False, "stopReason": "all"}, HookResult(continue_=False, stop_reason="all")),
        ({"systemMessage": "note"}, HookResult(system_messages=("note",))),
        ({"suppressOutput": True}, HookResult(suppress_output=True)),
        ({"async": True, "asyncTimeout": 5000}, HookResult(is_async=True)),
        ({"somethingNew": 1}, HookResult()),
        (specific(watchPaths=["/a"]), HookResult(specific={"watchPaths": ["/a"]})),
    ],
)
def test_an_answer_is_read(output: Any, result: HookResult):
    assert read_output(output, PRE) == result


@pytest.mark.parametrize(
    "output",
    [
        [],
        "text",
        5,
        {"continue": "no"},
        {"decision": "maybe"},
        {"decision": []},
        {"reason": 5, "decision": "block"},
        {"systemMessage": {}},
        {"hookSpecificOutput": []},
        specific("Stop", additionalContext="x"),
        {"hookSpecificOutput": {"permissionDecision": "deny"}},
        {"hookSpecificOutput": {"hookEventName": 5}},
        specific(permissionDecision="yes"),
        specific(permissionDecision=["deny"]),
        specific(updatedInput=[]),
        specific(updatedInput=None),
        specific(additionalContext=5),
    ],
)
def test_an_invalid_answer_is_rejected(output: Any):
    with pytest.raises(InvalidHookOutput):
        read_output(output, PRE)


@pytest.mark.parametrize(
    ("decision", "read"),
    [
        ({"behavior": "allow"}, {"behavior": "allow"}),
        ({"behavior": "deny"}, {"behavior": "deny", "message": "a hook denied it"}),
        (
            {"behavior": "deny", "message": "no", "interrupt": True},
            {"behavior": "deny", "message": "no", "interrupt": True},
        ),
    ],
)
def test_an_answer_to_a_permission_request_is_read(decision: dict[str, Any], read: dict[str, Any]):
    event = "PermissionRequest"
    assert read_output(specific(event, decision=decision), event).permission == read
    with pytest.raises(InvalidHookOutput):
        read_output(specific(event, decision={"behavior": "maybe"}), event)


@pytest.mark.parametrize(
    ("code", "printed", "errors", "event", "result"),
    [
        (0, "", "", PRE, HookResult()),
        (0, "just words", "", PRE, HookResult()),
        (0, "just words\n", "", "UserPromptSubmit", HookResult(additional_context=("just words",))),
        (0, "{not json", "", "SessionStart", HookResult(additional_context=("{not json",))),
        (0, '{"decision":"block","reason":"r"}', "", "Stop", HookResult(decision="deny", reason="r", block="r")),
        (2, "", "nope\n", PRE, HookResult(decision="deny", reason="[c]: nope\n", block="[c]: nope\n")),
        (2, "", "", "Stop", HookResult(reason="[c]: No stderr output", block="[c]: No stderr output")),
        (1, "", "oh", PRE, HookResult(failures=("PreToolUse: the hook [c] failed with exit code 1: oh",))),
        (
            0,
            '{"continue": 1}',
            "",
            PRE,
            HookResult(
                failures=("PreToolUse: the hook [c] printed an invalid answer: continue must be true or false",)
            ),
        ),
    ],
)
def test_the_output_of_a_command_is_read(code: int, printed: str, errors: str, event: str, result: HookResult):
    assert read_printed(code, printed, errors, event=event, command="c") == result


def said(decision: Any, reason: str = "") -> HookResult:
    return HookResult(decision=decision, reason=reason)


@pytest.mark.parametrize(
    ("several", "decision", "reason"),
    [
        ([said(None), said("allow", "a")], "allow", "a"),
        ([said("allow", "a"), said("deny", "d"), said("ask", "k")], "deny", "d"),
        ([said("allow", "a"), said("ask", "k")], "ask", "k"),
        ([said("defer"), said("allow", "a")], "allow", "a"),
        ([said("deny", "first"), said("deny", "second")], "deny", "first"),
        ([], None, ""),
    ],
)
def test_the_strictest_decision_applies(several: list[HookResult], decision: str | None, reason: str):
    merged = merge(several)
    assert (merged.decision, merged.reason) == (decision, reason)


def test_other_fields_are_merged_in_order():
    merged = merge(
        [
            HookResult(additional_context=("a",), system_messages=("m",), failures=("f",), updated_input={"x": 1}),
            HookResult(is_async=True),
            HookResult(additional_context=("b",), continue_=False, stop_reason="s", updated_input={"x": 2}),
            HookResult(block="no", permission={"behavior": "allow"}, no_verdict=True, specific={"k": 1}),
            HookResult(permission={"behavior": "deny", "message": "m"}),
        ]
    )
    assert merged == HookResult(
        additional_context=("a", "b"),
        system_messages=("m",),
        failures=("f",),
        updated_input={"x": 2},
        continue_=False,
        stop_reason="s",
        block="no",
        permission={"behavior": "deny", "message": "m"},
        no_verdict=True,
        specific={"k": 1},
    )
