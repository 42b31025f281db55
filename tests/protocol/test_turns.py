"""Which turn a message belongs to, from sequences as the CLI sends them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.protocol.codec import encode_message
from handrail.protocol.frames import Message
from handrail.protocol.turns import Step, TurnTable, is_of_subagent

SESSION = "9a7e8ee6-c40a-47dd-9220-9b4dcf7502ed"
INIT = encode_message({"type": "system", "subtype": "init", "cwd": "/project", "session_id": SESSION})
STATUS = encode_message({"type": "system", "subtype": "status", "status": "requesting", "session_id": SESSION})
DELTA = encode_message({"type": "stream_event", "event": {"type": "message_start"}, "session_id": SESSION})
ASSISTANT = encode_message({"type": "assistant", "message": {"role": "assistant", "content": []}})
TOOL_RESULT = encode_message({"type": "user", "message": {"role": "user", "content": []}})
NOTIFICATION = encode_message({"type": "system", "subtype": "task_notification", "status": "completed"})


def lifecycle(uuid: str, state: str) -> Message:
    return encode_message({"type": "command_lifecycle", "command_uuid": uuid, "state": state, "session_id": SESSION})


def result(*uuids: str, **fields: Any) -> Message:
    named = {"user_message_uuids": list(uuids), "user_message_uuid": uuids[-1]} if uuids else {}
    return encode_message({"type": "result", "subtype": "success", "session_id": SESSION, **named, **fields})


def play(table: TurnTable, *messages: Message) -> list[Step]:
    return [table.receive(message) for message in messages]


def test_prompt_is_queued_started_and_ended():
    table = TurnTable()
    table.send("a")
    assert table.pending == ("a",)
    steps = play(table, lifecycle("a", "queued"), lifecycle("a", "started"), INIT, ASSISTANT, result("a"))
    assert steps == [
        Step(("a",)),
        Step(("a",), began=("a",)),
        Step(("a",)),
        Step(("a",)),
        Step(("a",), ended=("a",)),
    ]
    assert (table.running, table.pending) == ((), ())
    assert table.receive(lifecycle("a", "completed")) == Step()


def test_queued_prompts_are_merged_into_one_turn():
    table = TurnTable()
    table.send("a")
    play(table, lifecycle("a", "queued"), lifecycle("a", "started"), INIT)
    table.send("b")
    table.send("c")
    assert play(table, lifecycle("b", "queued"), lifecycle("c", "queued")) == [Step(("a", "b")), Step(("a", "c"))]
    assert (table.running, table.pending) == (("a",), ("b", "c"))
    assert play(table, ASSISTANT, result("a"), lifecycle("a", "completed")) == [
        Step(("a",)),
        Step(("a",), ended=("a",)),
        Step(),
    ]
    steps = play(table, lifecycle("b", "started"), lifecycle("c", "started"), INIT, ASSISTANT, result("b", "c"))
    assert steps == [
        Step(("b",), began=("b",)),
        Step(("b", "c"), began=("c",)),
        Step(("b", "c")),
        Step(("b", "c")),
        Step(("b", "c"), ended=("b", "c")),
    ]
    assert play(table, lifecycle("b", "completed"), lifecycle("c", "completed")) == [Step(), Step()]


def test_prompt_is_folded_into_the_running_turn():
    table = TurnTable()
    table.send("a")
    play(table, lifecycle("a", "queued"), lifecycle("a", "started"), INIT)
    table.send("b")
    steps = play(
        table,
        ASSISTANT,
        lifecycle("b", "queued"),
        TOOL_RESULT,
        lifecycle("b", "started"),
        ASSISTANT,
        lifecycle("b", "completed"),
        result("a", "b"),
        lifecycle("a", "completed"),
    )
    assert steps == [
        Step(("a",)),
        Step(("a", "b")),
        Step(("a",)),
        Step(("a", "b"), began=("b",)),
        Step(("a", "b")),
        Step(("a", "b")),
        Step(("a", "b"), ended=("a", "b")),
        Step(),
    ]


def test_interrupted_turn_ends_and_the_next_begins():
    table = TurnTable()
    table.send("a")
    play(table, lifecycle("a", "queued"), lifecycle("a", "started"), INIT, STATUS, DELTA)
    table.send("b")
    steps = play(
        table,
        lifecycle("b", "queued"),
        DELTA,
        result("a", subtype="error_during_execution"),
        lifecycle("a", "cancelled"),
        lifecycle("b", "started"),
        INIT,
        STATUS,
        DELTA,
        ASSISTANT,
        result("b"),
    )
    assert steps == [
        Step(("a", "b")),
        Step(("a",)),
        Step(("a",), ended=("a",)),
        Step(),
        Step(("b",), began=("b",)),
        Step(("b",)),
        Step(("b",)),
        Step(("b",)),
        Step(("b",)),
        Step(("b",), ended=("b",)),
    ]


@pytest.mark.parametrize("state", ["cancelled", "completed"])
def test_prompt_completed_before_it_started_is_cancelled(state: str):
    table = TurnTable()
    table.send("a")
    table.send("b")
    play(table, lifecycle("a", "queued"), lifecycle("b", "queued"), lifecycle("a", "started"))
    assert table.receive(lifecycle("b", state)) == Step(("a", "b"), cancelled=("b",))
    assert (table.running, table.pending) == (("a",), ())


def test_end_of_a_background_task_starts_a_turn():
    table = TurnTable()
    table.send("a")
    play(table, lifecycle("a", "queued"), lifecycle("a", "started"), INIT, ASSISTANT, result("a"))
    steps = play(table, NOTIFICATION, INIT, ASSISTANT, result(origin={"kind": "task-notification"}))
    assert steps == [
        Step(),
        Step(("cli_1",), began=("cli_1",)),
        Step(("cli_1",)),
        Step(("cli_1",), ended=("cli_1",)),
    ]


def test_turn_of_the_cli_does_not_take_a_queued_prompt():
    table = TurnTable()
    table.send("a")
    play(table, lifecycle("a", "queued"), lifecycle("a", "started"), result("a"))
    table.send("b")
    steps = play(table, INIT, ASSISTANT, result(), lifecycle("b", "queued"), lifecycle("b", "started"), result("b"))
    assert steps == [
        Step(("cli_1",), began=("cli_1",)),
        Step(("cli_1",)),
        Step(("cli_1",), ended=("cli_1",)),
        Step(("b",)),
        Step(("b",), began=("b",)),
        Step(("b",), ended=("b",)),
    ]


@pytest.mark.parametrize("first", [INIT, ASSISTANT, DELTA], ids=["init", "assistant", "stream_event"])
def test_first_message_begins_the_oldest_prompt_without_lifecycle(first: Message):
    table = TurnTable()
    table.send("a")
    table.send("b")
    assert play(table, STATUS, first, ASSISTANT, result()) == [
        Step(),
        Step(("a",), began=("a",)),
        Step(("a",)),
        Step(("a",), ended=("a",)),
    ]
    assert table.pending == ("b",)


def test_withdrawn_prompt_begins_no_turn():
    table = TurnTable()
    for uuid in ("a", "b"):
        table.send(uuid)
    table.withdraw("a")
    table.withdraw("unknown")
    assert play(table, INIT) == [Step(("b",), began=("b",))]


def test_prompt_without_a_query_has_its_own_turn():
    table = TurnTable()
    table.send("context")
    assert play(table, INIT, result(num_turns=0)) == [
        Step(("context",), began=("context",)),
        Step(("context",), ended=("context",)),
    ]
    table.send("question")
    assert play(table, INIT, ASSISTANT, result(num_turns=1)) == [
        Step(("question",), began=("question",)),
        Step(("question",)),
        Step(("question",), ended=("question",)),
    ]


def test_a_result_alone_is_a_whole_turn():
    table = TurnTable()
    table.send("a")
    assert play(table, result(), result()) == [
        Step(("a",), began=("a",), ended=("a",)),
        Step(("cli_1",), began=("cli_1",), ended=("cli_1",)),
    ]


def test_result_begins_and_ends_the_prompts_it_names():
    table = TurnTable()
    table.send("a")
    table.send("b")
    play(table, lifecycle("a", "queued"), lifecycle("a", "started"))
    assert table.receive(result("a", "b")) == Step(("a", "b"), began=("b",), ended=("a", "b"))


def test_older_field_for_one_prompt_is_read():
    table = TurnTable()
    table.send("a")
    table.send("b")
    named = encode_message({"type": "result", "user_message_uuid": "b"})
    assert table.receive(named) == Step(("b",), began=("b",), ended=("b",))
    assert table.pending == ("a",)


def test_end_of_stream_loses_running_and_pending_turns():
    table = TurnTable()
    table.send("a")
    table.send("b")
    play(table, lifecycle("a", "queued"), lifecycle("a", "started"))
    assert table.close() == ("a", "b")
    assert (table.running, table.pending, table.close()) == ((), (), ())


@pytest.mark.parametrize(
    "message",
    [
        lifecycle("stranger", "queued"),
        lifecycle("stranger", "started"),
        lifecycle("stranger", "cancelled"),
        lifecycle("a", "some new state"),
        Message(b'{"type":"command_lifecycle","command_uuid":7}', "command_lifecycle"),
        Message(b'{"type":"command_lifecycle"}', "command_lifecycle"),
    ],
    ids=["queued", "started", "cancelled", "a new state", "no string", "nothing at all"],
)
def test_invalid_lifecycle_is_ignored(message: Message):
    table = TurnTable()
    table.send("a")
    play(table, lifecycle("a", "queued"), lifecycle("a", "started"))
    assert table.receive(message) == Step(("a",))
    assert table.running == ("a",)


def test_unknown_lifecycle_state_belongs_to_its_prompt():
    table = TurnTable()
    table.send("a")
    assert table.receive(lifecycle("a", "held")) == Step(("a",))
    assert table.pending == ("a",)


@pytest.mark.parametrize("uuids", [7, [7], {"a": 1}])
def test_result_with_unreadable_prompts_ends_the_running_turn(uuids: Any):
    table = TurnTable()
    table.send("a")
    play(table, lifecycle("a", "queued"), lifecycle("a", "started"))
    line = json.dumps({"type": "result", "user_message_uuids": uuids}).encode()
    assert table.receive(Message(line, "result")) == Step(("a",), ended=("a",))


@pytest.mark.parametrize("raw", [b"no json", b'"\xff"'])
def test_unreadable_line_belongs_to_the_main_conversation(raw: bytes):
    assert not is_of_subagent(Message(raw, "result"))
