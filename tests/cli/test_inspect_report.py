"""What is read out of a recording is true: pairs, turns, costs, totals."""

from __future__ import annotations

import json
from typing import Any

from handrail.cli.inspect_report import Pair, Turn, report_of
from handrail.transport.recording_file import Direction, End, Recording, Row


def row(t: float, direction: Direction, **value: Any) -> Row:
    return Row(t, direction, json.dumps(value).encode())


def request(t: float, direction: Direction, id: str, subtype: str) -> Row:
    return row(t, direction, type="control_request", request_id=id, request={"subtype": subtype})


def answer(t: float, direction: Direction, id: str, outcome: str = "success") -> Row:
    return row(t, direction, type="control_response", response={"subtype": outcome, "request_id": id, "error": "no"})


def result(t: float, cost: float, **fields: Any) -> Row:
    usage = {"output_tokens": 5}
    return row(t, "out", type="result", subtype="success", is_error=False, total_cost_usd=cost, usage=usage, **fields)


def test_requests_of_both_sides_are_paired_with_answers():
    rows = [
        request(1.0, "in", "1", "initialize"),
        request(1.5, "out", "1", "can_use_tool"),
        answer(2.0, "out", "1"),
        answer(2.5, "in", "1", "error"),
        request(3.0, "out", "2", "hook_callback"),
        row(3.5, "out", type="control_cancel_request", request_id="2"),
        request(4.0, "in", "3", "interrupt"),
    ]
    report = report_of(Recording(rows=rows, end=End(5.0, 0)))
    assert [(pair.subtype, pair.by, pair.latency, pair.outcome) for pair in report.pairs] == [
        ("initialize", "client", 1.0, "success"),
        ("can_use_tool", "CLI", 1.0, "error"),
        ("hook_callback", "CLI", None, "cancelled"),
        ("interrupt", "client", None, "unanswered"),
    ]
    assert isinstance(report.pairs[0], Pair)
    assert [entry.kind for entry in report.entries][2:4] == ["answer initialize", "refusal can_use_tool"]
    assert (report.totals.requests, report.totals.unanswered, report.totals.median_latency) == (4, 1, 1.0)


def test_a_turn_runs_from_its_prompt_to_its_result_and_has_its_own_cost():
    tool = {"content": [{"type": "tool_use", "name": "Read", "input": {}}]}
    rows = [
        row(1.0, "in", type="user", message={"content": "one"}),
        row(1.25, "out", type="assistant", message=tool),
        result(2.0, 0.5),
        row(3.0, "in", type="user", message={"content": "two"}),
        result(4.0, 0.75),
        row(5.0, "in", type="user", message={"content": "after /clear"}),
        result(6.0, 0.25),
        result(7.0, 0.25),
        row(8.0, "in", type="user", message={"content": "cut off"}),
    ]
    report = report_of(Recording(rows=rows))
    assert report.turns == [
        Turn(1, "“one”", 1.0, 0.25, 1.0, 0.5, 5, 1, "success"),
        Turn(2, "“two”", 3.0, None, 1.0, 0.25, 5, 0, "success"),
        Turn(3, "“after /clear”", 5.0, None, 1.0, 0.25, 5, 0, "success"),
        Turn(4, "(begun by the CLI)", 7.0, None, 0.0, 0.0, 5, 0, "success"),
        Turn(5, "“cut off”", 8.0),
    ]
    assert (report.totals.cost, report.totals.ending) == (1.0, "incomplete: the recording breaks off")


def test_prompts_that_were_merged_end_with_one_result():
    rows = [
        row(1.0, "in", type="user", uuid="a", message={"content": "one"}),
        row(2.0, "in", type="user", uuid="b", message={"content": "two"}),
        result(3.0, 0.5, user_message_uuids=["a", "b"]),
    ]
    report = report_of(Recording(rows=rows, end=End(3.0, None, "SIGTERM")))
    assert [(turn.seconds, turn.cost, turn.outcome) for turn in report.turns] == [
        (2.0, 0.5, "success"),
        (1.0, None, "success"),
    ]
    assert report.totals.ending == "killed by SIGTERM"


def test_lines_of_any_shape_are_read():
    shapes: list[Any] = [
        {"type": "assistant", "message": None},
        {"type": "assistant", "message": {"content": [1, {"type": 7}, None]}},
        {"type": "user", "message": {"content": {"a": 1}}},
        {"type": "result", "usage": [], "total_cost_usd": "much", "user_message_uuids": 3},
        {"type": "stream_event", "event": 5},
        {"type": "system", "subtype": "init", "tools": 3},
        {"type": "control_request", "request_id": "1", "request": {"subtype": "mcp_message", "message": []}},
        {"type": "control_response", "response": {"subtype": "success", "request_id": "1", "response": [1]}},
    ]
    rows = [row(0.0, "out", **shape) for shape in shapes]
    rows += [Row(0, "in", b"\xff"), Row(0, "in", b""), Row(0, "err", b"\xff"), Row(0, "out", b"[" * 9999)]
    report = report_of(Recording(rows=rows))
    assert (len(report.entries), report.totals.bad) == (len(rows), 2)
