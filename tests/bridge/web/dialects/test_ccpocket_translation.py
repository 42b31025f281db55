"""Translation of session events into ccpocket messages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.events import KINDS
from handrail.bridge.web.dialects.ccpocket.translation import ShownQuestion, Translation, joined

JsonObject = dict[str, Any]
RULE = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "npm test"}], "behavior": "allow"}
EDITS = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


def messages(*events: tuple[str, JsonObject]) -> list[JsonObject]:
    """The messages for these events, without their sessionId."""
    translation = Translation("s")
    lines = [line for kind, data in events for line in translation.translate(kind, data)]
    assert {line.pop("sessionId") for line in lines} <= {"s"}
    return lines


def asked(*, hash: str = "h", question: str = "q", call: str = "t1", **request: Any) -> tuple[str, JsonObject]:
    request = {"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": call, **request}
    return "asked", {"question": question, "kind": "permission", "hash": hash, "request": request}


def shown(kind: str = "permission", **request: Any) -> ShownQuestion:
    return ShownQuestion("t1", "q", "h", kind, request)


def question(suggestions: Any, grantable: Any) -> ShownQuestion:
    """A question with these suggestions, of which the bridge offers some."""
    translation, (kind, data) = Translation("s"), asked(permission_suggestions=suggestions)
    translation.translate(kind, {**data, "suggestions": grantable})
    return translation.open["t1"]


def frame(type: str, **fields: Any) -> tuple[str, JsonObject]:
    return "frame", {"type": type, **fields}


def delta(type: str, parent: str | None = None, **fields: Any) -> tuple[str, JsonObject]:
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": type, **fields}}
    return "live", {"type": "stream_event", "event": event, "parent_tool_use_id": parent}


def test_init_has_model_folder_and_cli_session_id():
    line = frame("system", subtype="init", session_id="c", model="m", cwd="/w", permissionMode="plan", tools=["Bash"])
    assert messages(line) == [
        {
            "type": "system",
            "subtype": "init",
            "claudeSessionId": "c",
            "model": "m",
            "projectPath": "/w",
            "permissionMode": "plan",
        }
    ]


def test_other_system_frames_are_dropped():
    assert messages(frame("system", subtype="status", status="requesting"), frame("command_lifecycle")) == []


def test_assistant_message_is_unchanged():
    message = {"id": "m1", "role": "assistant", "content": [{"type": "text", "text": "Hello"}]}
    assert messages(frame("assistant", message=message, uuid="u", parent_tool_use_id=None)) == [
        {"type": "assistant", "message": message, "messageUuid": "u"}
    ]


def test_parallel_tool_results_name_their_tools():
    uses = [{"type": "tool_use", "id": f"t{n}", "name": f"Tool{n}", "input": {}} for n in range(3)]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"r{n}"} for n in range(3)]
    lines = messages(
        frame("assistant", message={"content": uses}), frame("user", message={"role": "user", "content": results})
    )
    assert lines[1:] == [
        {"type": "tool_result", "toolUseId": f"t{n}", "content": f"r{n}", "toolName": f"Tool{n}"} for n in range(3)
    ]


def test_result_blocks_become_text_and_images():
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    content = [{"type": "text", "text": "one"}, picture, {"type": "text", "text": "two"}]
    block = {"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": True}
    assert messages(frame("user", message={"content": [block]})) == [
        {
            "type": "tool_result",
            "toolUseId": "t",
            "content": "one\ntwo",
            "images": [{"id": "t-0", "url": "data:image/png;base64,AAAA", "mimeType": "image/png"}],
            "isError": True,
        }
    ]


def test_result_has_cost_duration_and_tokens():
    usage = {"input_tokens": 5, "cache_read_input_tokens": 3, "output_tokens": 7}
    numbers = {"total_cost_usd": 0.5, "duration_ms": 20, "stop_reason": "end_turn", "usage": usage}
    assert messages(frame("result", subtype="success", is_error=False, result="Done", **numbers)) == [
        {
            "type": "result",
            "subtype": "success",
            "result": "Done",
            "cost": 0.5,
            "duration": 20,
            "stopReason": "end_turn",
            "inputTokens": 5,
            "cachedInputTokens": 3,
            "outputTokens": 7,
        }
    ]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"errors": ["a", "b"]}, "a\nb"),
        ({"result": "why"}, "why"),
        ({"error": "old"}, "old"),
        ({}, "the turn failed"),
    ],
)
def test_error_result_has_its_reason(fields: JsonObject, error: str):
    (line,) = messages(frame("result", subtype="error_during_execution", is_error=True, **fields))
    assert (line["subtype"], line["error"]) == ("error_during_execution", error)
    assert "result" not in line


def test_crash_becomes_a_result():
    data = {"type": "result", "subtype": "error_during_execution", "is_error": True, "errors": ["gone"], "code": 3}
    assert messages(("crashed", data)) == [{"type": "result", "subtype": "error_during_execution", "error": "gone"}]


def test_adjacent_deltas_are_merged():
    translation = Translation("s")
    events = [
        delta("thinking_delta", thinking="Hm"),
        delta("thinking_delta", thinking="m."),
        delta("signature_delta", signature="x"),
        delta("text_delta", text="He"),
        delta("text_delta", text="llo"),
        delta("input_json_delta", partial_json="{"),
    ]
    assert joined(line for kind, data in events for line in translation.translate(kind, data)) == [
        {"type": "thinking_delta", "text": "Hmm.", "sessionId": "s"},
        {"type": "stream_delta", "text": "Hello", "sessionId": "s"},
    ]


def test_subagent_deltas_are_dropped():
    assert messages(delta("text_delta", "t1", text="aside")) == []


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("starting", "running"),
        ("running", "running"),
        ("compacting", "running"),
        ("waiting_approval", "waiting_approval"),
        ("idle", "idle"),
        ("hibernated", "idle"),
    ],
)
def test_state_maps_to_one_of_three_statuses(state: str, status: str):
    assert messages(("state", {"state": state, "error": ""})) == [{"type": "status", "status": status}]


def test_failed_session_is_an_error_and_then_idle():
    assert messages(("state", {"state": "starting"}), ("state", {"state": "failed", "error": "no such CLI"})) == [
        {"type": "status", "status": "running"},
        {"type": "error", "message": "no such CLI", "errorCode": "session_failed"},
        {"type": "status", "status": "idle"},
    ]


def test_status_is_sent_only_when_it_changes():
    states = ["starting", "running", "compacting", "idle", "hibernated", "starting"]
    lines = messages(*(("state", {"state": state}) for state in states))
    assert [line["status"] for line in lines] == ["running", "idle", "running"]


def test_question_is_identified_by_its_tool_use_id():
    lines = messages(asked(), ("answered", {"question": "q", "by": "desk", "answer": {}}))
    assert lines == [
        {"type": "permission_request", "toolUseId": "t1", "toolName": "Bash", "input": {"command": "ls"}},
        {"type": "system", "subtype": "permission_resolved", "toolUseId": "t1", "by": "desk"},
    ]


def test_withdrawn_question_is_closed_with_the_reason():
    lines = messages(asked(), ("closed", {"question": "q", "why": "withdrawn"}), ("closed", {"question": "q"}))
    assert lines[1:] == [
        {"type": "system", "subtype": "permission_resolved", "toolUseId": "t1", "message": "withdrawn"}
    ]


def test_same_call_with_another_input_has_another_id():
    lines = messages(
        asked(), ("closed", {"question": "q"}), asked(hash="other", question="q2", input={"command": "rm"})
    )
    assert [line["toolUseId"] for line in lines] == ["t1", "t1", "q2"]


def test_elicitation_is_a_permission_request():
    request = {"subtype": "elicitation", "mcp_server_name": "shop", "message": "Which size?"}
    data = {"question": "q", "kind": "elicitation", "hash": "h", "request": request}
    assert messages(("asked", data)) == [
        {"type": "permission_request", "toolUseId": "q", "toolName": "shop", "input": request}
    ]


def test_suggestions_are_shown():
    (line,) = messages(asked(permission_suggestions=[RULE, EDITS]))
    assert line["permissionSuggestions"] == [RULE, EDITS]


@pytest.mark.parametrize(
    ("suggestions", "grants"),
    [
        ([RULE, EDITS], [0]),
        ([EDITS, RULE, RULE], [1, 2]),
        ([EDITS], [0]),
        ([{"type": "addDirectories", "directories": ["/w"]}, EDITS], [0, 1]),
        ([{**EDITS, "mode": "bypassPermissions"}], []),
        ([{**EDITS, "mode": "dontAsk"}, {**RULE, "behavior": "deny"}], []),
        ([], []),
        (None, []),
    ],
)
def test_approve_always_prefers_rules_to_modes(suggestions: Any, grants: list[int]):
    grantable = [{"index": at, "destinations": ["session"]} for at in range(len(suggestions or ()))]
    assert question(suggestions, grantable).session_grants == grants


def test_approve_always_grants_only_offered_suggestions():
    assert question([RULE, RULE], [{"index": 1, "destinations": ["session"]}]).session_grants == [1]
    assert question([RULE], [{"index": 0, "destinations": ["userSettings"]}]).session_grants == []
    assert question([RULE], None).session_grants == []


@pytest.mark.parametrize(
    ("kind", "request_fields", "every_time"),
    [
        ("permission", {}, False),
        ("permission", {"requires_user_interaction": True}, True),
        ("permission", {"suppress_always_allow_rule": True}, True),
        ("permission", {"server_policy_ask_only": True}, True),
        ("questions", {}, True),
        ("plan", {}, True),
        ("elicitation", {}, True),
    ],
)
def test_questions_for_a_person_are_asked_every_time(kind: str, request_fields: JsonObject, every_time: bool):
    assert shown(kind, **request_fields).asked_every_time is every_time


QUESTIONS = {"questions": [{"question": "Which?"}, {"question": "When?"}]}


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("Blue", {"Which?": "Blue"}),
        ("42", {"Which?": "42"}),
        ('["a"]', {"Which?": '["a"]'}),
        ('{"Which?": "Blue"}', {"Which?": "Blue"}),
        ('{"answers": {"Which?": ["Red", "Blue"]}}', {"Which?": ["Red", "Blue"]}),
    ],
)
def test_answer_is_text_or_json_by_question(text: str, answers: JsonObject):
    one = shown("questions", input={"questions": [{"question": "Which?"}]})
    assert one.answer_fields(text) == {"answers": answers}


def test_plain_text_cannot_answer_several_questions():
    with pytest.raises(CommandRefused, match="2 questions"):
        shown("questions", input=QUESTIONS).answer_fields("Blue")


def test_answer_to_a_permission_request_is_refused():
    with pytest.raises(CommandRefused, match="approve or reject"):
        shown("permission").answer_fields("yes")


def test_elicitation_is_answered_by_content():
    assert shown("elicitation").answer_fields('{"size": 3}') == {"content": {"size": 3}}
    assert shown("elicitation").answer_fields("yes") == {}


def test_prompts_of_all_devices_are_sent():
    blocks = [{"type": "image", "source": {}}, {"type": "text", "text": "Look"}]
    lines = messages(("said", {"uuid": "u", "content": "Hi", "by": "desk"}), ("said", {"uuid": "v", "content": blocks}))
    assert [(line["subtype"], line["text"]) for line in lines] == [("user_input", "Hi"), ("user_input", "Look")]


def test_expired_rules_are_listed():
    assert messages(("lapsed", {"rules": [RULE]})) == [{"type": "system", "subtype": "rules_lapsed", "rules": [RULE]}]


def test_imported_prompts_are_sent_and_echoes_dropped():
    lines = messages(
        frame("user", message={"content": "Hi"}, imported=True),
        frame("user", message={"content": "aside"}, imported=True, isMeta=True),
        frame("user", message={"content": "Hi"}, isReplay=True),
    )
    assert [line["text"] for line in lines] == ["Hi"]


def test_snapshot_has_status_and_open_questions():
    translation = Translation("s")
    translation.translate(*asked())
    assert [line["type"] for line in translation.snapshot("waiting_approval")] == ["status", "permission_request"]
    assert translation.translate("state", {"state": "waiting_approval"}) == []
    assert [line["type"] for line in translation.snapshot("waiting_approval", without="t1")] == ["status"]


ODD: list[Any] = [None, True, 3, "", "x", [], {}, [None], [[]], [{}], [{"type": "tool_result"}], [{"type": "image"}]]
ODD += [{"content": one} for one in ODD] + [
    {"type": "tool_result", "content": [{"source": 3}]},
    {"delta": {"type": []}},
]
JSON = st.sampled_from(ODD)
FIELDS = st.sampled_from(
    "message content delta event input request questions errors usage source tool_use_id question state text".split()
)
LINES = st.fixed_dictionaries(
    {"type": st.sampled_from(["system", "assistant", "user", "result", "stream_event"])},
    optional={"message": st.dictionaries(FIELDS, JSON, max_size=3), "subtype": st.just("init")},
)


EVENTS = st.tuples(st.sampled_from([*KINDS, "live"]), LINES | st.dictionaries(FIELDS, JSON, max_size=4))


@settings(max_examples=60)
@given(st.lists(EVENTS, max_size=4))
def test_malformed_events_do_not_raise(events: list[tuple[str, JsonObject]]):
    translation = Translation("s")
    for kind, data in events:
        assert all(line["sessionId"] == "s" for line in translation.translate(kind, data))
