"""The history that a fork gets from the events of its origin."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.bridge.session.events import event
from handrail.bridge.session.forked_past import forked_past
from handrail.bridge.store.base import Event, NewEvent

RULE = {"type": "addRules", "rules": [{"toolName": "Bash"}]}


def frame(type: str, **fields: Any) -> NewEvent:
    return NewEvent("frame", msgspec.json.encode({"type": type, **fields}))


def said(uuid: str, text: str) -> list[NewEvent]:
    return [event("said", text, uuid=uuid, content=text, by="desk"), event("handed", uuid=uuid)]


def assistant(uuid: str, text: str) -> NewEvent:
    return frame("assistant", uuid=uuid, message={"content": [{"type": "text", "text": text}]})


def past(*events: NewEvent, through: str | None = None) -> list[tuple[str, Any]] | None:
    numbered = [Event(seq, seq * 1000, one.kind, one.data) for seq, one in enumerate(events, 1)]
    copied = forked_past(numbered, through)
    return None if copied is None else [(one.kind, msgspec.json.decode(one.data)) for one in copied]


def texts(*events: NewEvent, through: str | None = None) -> list[str]:
    lines = [data for kind, data in past(*events, through=through) or [] if kind == "frame"]
    return [str(line.get("message", {}).get("content") or line["type"]) for line in lines]


def test_copies_are_marked_and_keep_their_time():
    ((kind, line),) = past(*said("u1", "Hello")) or []
    assert (kind, line["type"], line["imported"], line["uuid"]) == ("frame", "user", True, "u1")
    assert line["timestamp"] == "1970-01-01T00:00:02.000+00:00"


def test_conversation_is_searchable_in_the_fork():
    events = [Event(1, 1000, "frame", assistant("a1", "A rare word").data)]
    assert [one.text for one in forked_past(events) or []] == ["A rare word"]


def test_message_that_was_queued_is_placed_where_its_turn_began():
    events = [*said("u1", "First"), *said("u2", "Second"), assistant("a1", "One"), frame("result")]
    assert texts(*events, assistant("a2", "Two")) == [
        "First",
        "[{'type': 'text', 'text': 'One'}]",
        "result",
        "Second",
        "[{'type': 'text', 'text': 'Two'}]",
    ]
    replay = frame("user", uuid="u2", isReplay=True, message={"content": "Second"})
    assert texts(*events[:4], replay, assistant("a1", "One"))[:2] == ["First", "Second"]
    begun = frame("command_lifecycle", command_uuid="u2", state="started")
    assert texts(*events[:4], begun, assistant("a1", "One"))[:2] == ["First", "Second"]


def test_messages_that_were_never_begun_are_left_out():
    later = [event("said", uuid="u2", content="Later", by="desk")]
    assert texts(*said("u1", "First"), *later) == ["First"]
    for kind in ("withdrawn", "held"):
        assert texts(*later, event(kind, uuid="u2"), event("handed", uuid="u2")) == []
    assert texts(*later, event("doubted", uuid="u2")) == ["Later"]


def test_history_ends_with_the_message():
    events = [*said("u1", "First"), assistant("a1", "One"), frame("result"), *said("u2", "Second")]
    assert texts(*events, through="u1") == ["First"]
    assert texts(*events, through="a1") == ["First", "[{'type': 'text', 'text': 'One'}]"]
    assert past(*events, through="unknown") is None


def test_denials_compactions_and_restored_files_are_kept():
    denied = frame("system", subtype="permission_denied", tool_use_id="t1")
    compacted = frame("system", subtype="compact_boundary")
    rewound = event("rewound", message="u1", files=["a.txt"], by="desk")
    kept = past(denied, compacted, rewound) or []
    assert [(kind, data.get("subtype")) for kind, data in kept] == [
        ("frame", "permission_denied"),
        ("frame", "compact_boundary"),
        ("rewound", None),
    ]


def test_answers_are_kept_without_what_they_granted():
    asked = event("asked", question="q1", kind="permission", request={}, suggestions=[{"index": 0}])
    answered = event("answered", question="q1", by="desk", answer={"behavior": "allow"}, granted=[RULE])
    (_, question), (_, answer) = past(asked, answered) or []
    assert (question["suggestions"], answer["granted"], answer["answer"]) == ([], [], {"behavior": "allow"})


def test_open_and_interrupted_questions_ask_for_nothing():
    asked = event("asked", question="q1", kind="permission", request={}, suggestions=[])
    assert past(asked) == []
    _, (kind, closed) = past(asked, event("closed", question="q1", why="restart", interrupted=True)) or []
    assert (kind, "interrupted" in closed) == ("closed", False)


def test_costs_and_state_stay_with_the_origin():
    result = frame("result", total_cost_usd=3.5, usage={}, modelUsage={}, permission_denials=[1])
    (_, line) = (past(event("state", state="idle"), frame("system", subtype="init"), result) or [])[0]
    assert "total_cost_usd" not in line
    assert line["permission_denials"] == [1]
