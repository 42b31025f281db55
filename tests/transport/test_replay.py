"""Replaying the CLI's side of a recording: lines, order, ids, and refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.transport.recording_file import Direction, End, Recording, Row
from handrail.transport.replay import INITIALIZE_ANSWER, NOT_IN_RECORDING, Replay


def line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def ask(id: str, subtype: str, **fields: Any) -> bytes:
    return line({"type": "control_request", "request_id": id, "request": {"subtype": subtype, **fields}})


def answer(id: str, **payload: Any) -> bytes:
    return line({"type": "control_response", "response": {"subtype": "success", "request_id": id, "response": payload}})


def user(text: str, uuid: str | None = None) -> bytes:
    message = {"type": "user", "message": {"role": "user", "content": text}}
    return line(message | ({"uuid": uuid} if uuid else {}))


def say(text: str, **fields: Any) -> bytes:
    return line({"type": "assistant", "text": text, "session_id": "s-1", **fields})


EXIT_0 = End(9.0, 0)


def recording(*rows: tuple[Direction, bytes | None], end: End | None = EXIT_0) -> Recording:
    """Rows a tenth of a second apart; None is the end of input."""
    listed = [Row(i / 10, direction, data or b"", eof=data is None) for i, (direction, data) in enumerate(rows)]
    return Recording(rows=listed, end=end)


def heard(replay: Replay) -> list[Any]:
    """All lines due now, decoded."""
    lines = b""
    while True:
        lines += replay.at_once()
        due = replay.next_due()
        if due is None and not replay.has_at_once:
            return [json.loads(each) for each in lines.splitlines()]
        lines += due.data if due else b""


def texts(replay: Replay) -> list[str]:
    return [each.get("text") or each["type"] for each in heard(replay)]


ONE_TURN = recording(
    ("in", ask("r1", "initialize")),
    ("out", answer("r1", pid=7)),
    ("in", user("hello", "u-recorded")),
    ("out", say("one", user_message_uuid="u-recorded")),
    ("out", ask("q1", "can_use_tool")),
    ("in", answer("q1", behavior="allow")),
    ("out", say("two")),
    ("in", None),
    ("out", say("bye")),
)


def test_lines_are_due_after_the_preceding_client_lines():
    replay = Replay(ONE_TURN)
    assert texts(replay) == []
    replay.feed(ask("live-1", "initialize", hooks=None))
    assert heard(replay) == [json.loads(answer("live-1", pid=7))]
    replay.feed(user("something else", "u-live"))
    assert heard(replay) == [json.loads(say("one", user_message_uuid="u-live")), json.loads(ask("q1", "can_use_tool"))]
    replay.feed(answer("q1", behavior="deny", message="no"))
    assert texts(replay) == ["two"]
    assert not replay.finished
    replay.end_input()
    assert (texts(replay), replay.finished, replay.missed) == (["bye"], True, "")


def test_early_lines_are_remembered():
    replay = Replay(ONE_TURN)
    for each in (ask("a", "initialize"), user("hi"), answer("q1")):
        replay.feed(each)
    assert texts(replay) == ["control_response", "one", "control_request", "two"]


def test_waiting_for_describes_the_expected_line():
    replay = Replay(ONE_TURN)
    assert replay.waiting_for == "request initialize"
    replay.feed(ask("a", "initialize"))
    heard(replay)
    assert replay.waiting_for == "user"
    replay.feed(user("hi"))
    heard(replay)
    assert replay.waiting_for == "answer q1"


def test_handshake_is_answered_even_if_not_recorded():
    replay = Replay(recording(("in", user("hi")), ("out", say("one")), ("in", None)))
    replay.feed(ask("live", "initialize"))
    assert heard(replay) == [json.loads(answer("live", **INITIALIZE_ANSWER))]
    replay.feed(user("hi"))
    assert texts(replay) == ["one"]


@pytest.mark.parametrize("subtype", ["interrupt", "set_model", "of_tomorrow"])
def test_unrecorded_request_is_refused_at_once(subtype: str):
    replay = Replay(ONE_TURN)
    replay.feed(ask("live", subtype))
    refusal = heard(replay)[0]["response"]
    assert (refusal["request_id"], refusal["subtype"], refusal["error_code"]) == ("live", "error", NOT_IN_RECORDING)


def test_request_sent_more_often_than_recorded_is_refused():
    replay = Replay(recording(("in", ask("r1", "mcp_status")), ("out", answer("r1")), ("in", None)))
    replay.feed(ask("a", "mcp_status"))
    replay.feed(ask("b", "mcp_status"))
    outcomes = {each["response"]["request_id"]: each["response"]["subtype"] for each in heard(replay)}
    assert outcomes == {"a": "success", "b": "error"}


def test_early_request_is_answered_at_once_and_only_once():
    replay = Replay(
        recording(
            ("in", user("one")),
            ("out", say("first")),
            ("in", ask("r7", "set_model")),
            ("out", answer("r7", model="m")),
            ("out", say("second")),
            ("in", None),
        )
    )
    replay.feed(ask("live", "set_model"))
    assert heard(replay) == [json.loads(answer("live", model="m"))]
    replay.feed(user("one"))
    assert texts(replay) == ["first", "second"]


def test_omitted_requests_are_skipped_at_the_next_prompt():
    replay = Replay(ONE_TURN)
    replay.feed(user("hi"))
    assert texts(replay) == ["one", "control_request"]
    replay.feed(ask("late", "initialize"))
    assert heard(replay) == [json.loads(answer("late", pid=7))]


def test_interrupt_skips_earlier_answers():
    replay = Replay(
        recording(
            ("in", user("go")),
            ("out", ask("q1", "can_use_tool")),
            ("in", answer("q1")),
            ("out", say("working")),
            ("in", ask("r1", "interrupt")),
            ("out", answer("r1", still_queued=[])),
            ("out", say("stopped")),
            ("in", None),
        )
    )
    replay.feed(user("go"))
    assert texts(replay) == ["control_request"]
    replay.feed(ask("live", "interrupt"))
    assert heard(replay)[-1]["text"] == "stopped"


def test_uuids_are_translated_in_later_lines():
    replay = Replay(
        recording(
            ("in", user("a", "u1")),
            ("in", user("b", "u2")),
            ("out", line({"type": "command_lifecycle", "command_uuid": "u1", "others": ["u2", "u1x"]})),
            ("in", None),
        )
    )
    replay.feed(user("a", "u2"))
    replay.feed(user("b", "u1"))
    assert heard(replay) == [{"type": "command_lifecycle", "command_uuid": "u2", "others": ["u1", "u1x"]}]


def test_only_request_ids_of_the_client_are_translated():
    replay = Replay(
        recording(
            ("in", ask("r1", "side_question")),
            ("out", line({"type": "system", "subtype": "control_request_progress", "request_id": "r1"})),
            ("out", line({"type": "assistant", "request_id": "r1"})),
            ("out", ask("r1", "can_use_tool")),
            ("out", answer("r1")),
            ("in", None),
        )
    )
    replay.feed(ask("live", "side_question"))
    progress, message, question, answered = heard(replay)
    assert [progress["request_id"], message["request_id"], question["request_id"]] == ["live", "r1", "r1"]
    assert answered["response"]["request_id"] == "live"


def test_extra_prompt_gets_a_failed_result():
    replay = Replay(recording(("in", user("a", "u")), ("out", say("one")), ("in", None)))
    replay.feed(user("a", "u"))
    replay.feed(user("b", "extra"))
    said, result = heard(replay)
    assert (said["text"], result["type"], result["is_error"]) == ("one", "result", True)
    assert (result["user_message_uuids"], result["session_id"]) == (["extra"], "s-1")
    assert result["errors"][0].startswith(NOT_IN_RECORDING)


def test_unsolicited_recorded_answers_are_not_expected():
    replay = Replay(
        recording(
            ("in", user("go")),
            ("out", ask("q1", "can_use_tool")),
            ("in", answer("q1")),
            ("in", answer("q1")),
            ("in", answer("never asked")),
            ("out", ask("q2", "can_use_tool")),
            ("out", line({"type": "control_cancel_request", "request_id": "q2"})),
            ("in", answer("q2")),
            ("in", line({"type": "keep_alive"})),
            ("in", b""),
            ("out", say("done")),
            ("in", None),
        )
    )
    replay.feed(user("go"))
    replay.feed(answer("q1"))
    assert texts(replay)[-1] == "done"


def test_recorded_exit_ends_the_replay():
    replay = Replay(recording(("in", user("go")), ("out", say("oh")), end=End(1.0, 1)))
    replay.feed(user("go"))
    assert (texts(replay), replay.finished) == (["oh"], True)


def test_incomplete_recording_waits_for_end_of_input():
    replay = Replay(recording(("in", ask("r1", "mcp_status")), ("in", user("go")), ("out", say("oh")), end=None))
    replay.feed(ask("live", "mcp_status"))
    replay.feed(user("go"))
    said, refusal = heard(replay)
    assert (said["text"], refusal["response"]["error_code"]) == ("oh", NOT_IN_RECORDING)
    assert not replay.finished
    replay.end_input()
    assert (heard(replay), replay.finished) == ([], True)


def test_early_end_of_input_ends_the_replay_and_is_reported():
    replay = Replay(ONE_TURN)
    replay.feed(ask("a", "initialize"))
    replay.end_input()
    assert (texts(replay), replay.finished, replay.missed) == (["control_response"], True, "user")


def test_gap_is_measured_from_the_previous_row():
    replay = Replay(recording(("in", user("go")), ("out", say("a")), ("err", b"careful"), ("in", None)))
    replay.feed(user("go"))
    first, second = replay.next_due(), replay.next_due()
    assert first is not None
    assert second is not None
    assert [round(first.gap, 3), round(second.gap, 3), second.dir, second.data] == [0.1, 0.1, "err", b"careful\n"]


def test_a_cut_line_is_played_without_a_newline():
    replay = Replay(Recording(rows=[Row(0, "out", b"half", cut=True)], end=End(0, 0)))
    due = replay.next_due()
    assert due is not None
    assert due.data == b"half"


def test_malformed_lines_are_matched_by_order():
    replay = Replay(recording(("in", b"not json"), ("err", b"Error"), end=End(1, 1)))
    assert replay.next_due() is None
    replay.feed(b"also not json")
    due = replay.next_due()
    assert due is not None
    assert (due.data, replay.next_due(), replay.finished) == (b"Error\n", None, True)
