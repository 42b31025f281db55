"""Events become messages of the early bridge protocol."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.events import KINDS
from handrail.bridge.web.dialects.ccpocket_messages import Shown, Translation, joined

JsonObject = dict[str, Any]
RULE = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "npm test"}], "behavior": "allow"}
EDITS = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


def told(*events: tuple[str, JsonObject]) -> list[JsonObject]:
    """What a client is told of these events, without the id of the session, which all have."""
    translation = Translation("s")
    lines = [line for kind, data in events for line in translation.take(kind, data)]
    assert {line.pop("sessionId") for line in lines} <= {"s"}
    return lines


def asked(*, hash: str = "h", question: str = "q", call: str = "t1", **request: Any) -> tuple[str, JsonObject]:
    request = {"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": call, **request}
    return "asked", {"question": question, "kind": "permission", "hash": hash, "request": request}


def shown(kind: str = "permission", **request: Any) -> Shown:
    return Shown("t1", "q", "h", kind, request)


def frame(type: str, **fields: Any) -> tuple[str, JsonObject]:
    return "frame", {"type": type, **fields}


def delta(type: str, parent: str | None = None, **fields: Any) -> tuple[str, JsonObject]:
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": type, **fields}}
    return "live", {"type": "stream_event", "event": event, "parent_tool_use_id": parent}


def test_an_init_names_model_folder_and_the_cli_s_own_id():
    line = frame("system", subtype="init", session_id="c", model="m", cwd="/w", permissionMode="plan", tools=["Bash"])
    assert told(line) == [
        {
            "type": "system",
            "subtype": "init",
            "claudeSessionId": "c",
            "model": "m",
            "projectPath": "/w",
            "permissionMode": "plan",
        }
    ]


def test_other_lines_of_the_system_are_not_told():
    assert told(frame("system", subtype="status", status="requesting"), frame("command_lifecycle")) == []


def test_an_assistant_message_stays_as_it_is():
    message = {"id": "m1", "role": "assistant", "content": [{"type": "text", "text": "Hello"}]}
    assert told(frame("assistant", message=message, uuid="u", parent_tool_use_id=None)) == [
        {"type": "assistant", "message": message, "messageUuid": "u"}
    ]


def test_every_result_of_parallel_tools_is_told_with_the_name_of_its_tool():
    uses = [{"type": "tool_use", "id": f"t{n}", "name": f"Tool{n}", "input": {}} for n in range(3)]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"r{n}"} for n in range(3)]
    lines = told(
        frame("assistant", message={"content": uses}), frame("user", message={"role": "user", "content": results})
    )
    assert lines[1:] == [
        {"type": "tool_result", "toolUseId": f"t{n}", "content": f"r{n}", "toolName": f"Tool{n}"} for n in range(3)
    ]


def test_a_result_of_blocks_is_its_text_and_its_pictures():
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    content = [{"type": "text", "text": "one"}, picture, {"type": "text", "text": "two"}]
    block = {"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": True}
    assert told(frame("user", message={"content": [block]})) == [
        {
            "type": "tool_result",
            "toolUseId": "t",
            "content": "one\ntwo",
            "images": [{"id": "t-0", "url": "data:image/png;base64,AAAA", "mimeType": "image/png"}],
            "isError": True,
        }
    ]


def test_a_result_has_cost_duration_and_tokens():
    usage = {"input_tokens": 5, "cache_read_input_tokens": 3, "output_tokens": 7}
    numbers = {"total_cost_usd": 0.5, "duration_ms": 20, "stop_reason": "end_turn", "usage": usage}
    assert told(frame("result", subtype="success", is_error=False, result="Done", **numbers)) == [
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
def test_a_result_that_is_an_error_says_which(fields: JsonObject, error: str):
    (line,) = told(frame("result", subtype="error_during_execution", is_error=True, **fields))
    assert (line["subtype"], line["error"]) == ("error_during_execution", error)
    assert "result" not in line


def test_a_crash_is_a_result_too():
    data = {"type": "result", "subtype": "error_during_execution", "is_error": True, "errors": ["gone"], "code": 3}
    assert told(("crashed", data)) == [{"type": "result", "subtype": "error_during_execution", "error": "gone"}]


def test_deltas_that_follow_one_another_are_told_as_one():
    translation = Translation("s")
    events = [
        delta("thinking_delta", thinking="Hm"),
        delta("thinking_delta", thinking="m."),
        delta("signature_delta", signature="x"),
        delta("text_delta", text="He"),
        delta("text_delta", text="llo"),
        delta("input_json_delta", partial_json="{"),
    ]
    assert joined(line for kind, data in events for line in translation.take(kind, data)) == [
        {"type": "thinking_delta", "text": "Hmm.", "sessionId": "s"},
        {"type": "stream_delta", "text": "Hello", "sessionId": "s"},
    ]


def test_deltas_of_a_subagent_are_not_mixed_into_the_answer():
    assert told(delta("text_delta", "t1", text="aside")) == []


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
def test_a_state_is_one_of_three(state: str, status: str):
    assert told(("state", {"state": state, "error": ""})) == [{"type": "status", "status": status}]


def test_a_failure_is_an_error_and_then_idle():
    assert told(("state", {"state": "starting"}), ("state", {"state": "failed", "error": "no such CLI"})) == [
        {"type": "status", "status": "running"},
        {"type": "error", "message": "no such CLI", "errorCode": "session_failed"},
        {"type": "status", "status": "idle"},
    ]


def test_a_status_is_told_when_it_has_changed():
    states = ["starting", "running", "compacting", "idle", "hibernated", "starting"]
    lines = told(*(("state", {"state": state}) for state in states))
    assert [line["status"] for line in lines] == ["running", "idle", "running"]


def test_a_question_is_asked_and_closed_by_its_tool_use():
    lines = told(asked(), ("answered", {"question": "q", "by": "desk", "answer": {}}))
    assert lines == [
        {"type": "permission_request", "toolUseId": "t1", "toolName": "Bash", "input": {"command": "ls"}},
        {"type": "system", "subtype": "permission_resolved", "toolUseId": "t1", "by": "desk"},
    ]


def test_a_question_that_is_withdrawn_is_closed_with_the_reason():
    lines = told(asked(), ("closed", {"question": "q", "why": "withdrawn"}), ("closed", {"question": "q"}))
    assert lines[1:] == [
        {"type": "system", "subtype": "permission_resolved", "toolUseId": "t1", "message": "withdrawn"}
    ]


def test_the_same_call_asked_with_another_input_is_known_by_another_id():
    lines = told(asked(), ("closed", {"question": "q"}), asked(hash="other", question="q2", input={"command": "rm"}))
    assert [line["toolUseId"] for line in lines] == ["t1", "t1", "q2"]


def test_an_elicitation_is_asked_like_a_tool():
    request = {"subtype": "elicitation", "mcp_server_name": "shop", "message": "Which size?"}
    data = {"question": "q", "kind": "elicitation", "hash": "h", "request": request}
    assert told(("asked", data)) == [
        {"type": "permission_request", "toolUseId": "q", "toolName": "shop", "input": request}
    ]


def test_what_could_be_granted_is_shown():
    (line,) = told(asked(permission_suggestions=[RULE, EDITS]))
    assert line["permissionSuggestions"] == [RULE, EDITS]


@pytest.mark.parametrize(
    ("suggestions", "lasting"),
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
def test_an_approval_for_the_session_grants_rules_before_modes(suggestions: Any, lasting: list[int]):
    assert shown(permission_suggestions=suggestions).lasting == lasting


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
def test_an_answer_is_words_or_json_by_question(text: str, answers: JsonObject):
    one = shown("questions", input={"questions": [{"question": "Which?"}]})
    assert one.reply(text) == {"answers": answers}


def test_words_do_not_answer_several_questions():
    with pytest.raises(CommandRefused, match="2 questions"):
        shown("questions", input=QUESTIONS).reply("Blue")


def test_a_permission_has_no_answer():
    with pytest.raises(CommandRefused, match="approve or reject"):
        shown("permission").reply("yes")


def test_an_elicitation_is_answered_by_content():
    assert shown("elicitation").reply('{"size": 3}') == {"content": {"size": 3}}
    assert shown("elicitation").reply("yes") == {}


def test_what_the_user_said_is_told_whoever_said_it():
    blocks = [{"type": "image", "source": {}}, {"type": "text", "text": "Look"}]
    lines = told(("said", {"uuid": "u", "content": "Hi", "by": "desk"}), ("said", {"uuid": "v", "content": blocks}))
    assert [(line["subtype"], line["text"]) for line in lines] == [("user_input", "Hi"), ("user_input", "Look")]


def test_rules_that_lapsed_are_named():
    assert told(("lapsed", {"rules": [RULE]})) == [{"type": "system", "subtype": "rules_lapsed", "rules": [RULE]}]


def test_words_of_an_imported_session_are_told_and_echoes_are_not():
    lines = told(
        frame("user", message={"content": "Hi"}, imported=True),
        frame("user", message={"content": "aside"}, imported=True, isMeta=True),
        frame("user", message={"content": "Hi"}, isReplay=True),
    )
    assert [line["text"] for line in lines] == ["Hi"]


def test_who_comes_in_the_middle_is_told_the_status_and_what_waits():
    translation = Translation("s")
    translation.take(*asked())
    assert [line["type"] for line in translation.now("waiting_approval")] == ["status", "permission_request"]
    assert translation.take("state", {"state": "waiting_approval"}) == []


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
def test_no_line_is_too_odd(events: list[tuple[str, JsonObject]]):
    translation = Translation("s")
    for kind, data in events:
        assert all(line["sessionId"] == "s" for line in translation.take(kind, data))
