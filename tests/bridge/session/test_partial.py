"""The answer in the making: whoever joins is brought to where all others are, in few lines."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from handrail.bridge.session.partial import PIECE, Partial

Json = dict[str, Any]
KINDS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def line(parent: str | None = None, **event: Any) -> bytes:
    return json.dumps({"type": "stream_event", "event": event, "parent_tool_use_id": parent, "uuid": "u"}).encode()


def start(parent: str | None = None) -> bytes:
    return line(parent, type="message_start", message={"id": "m"})


def block(index: int = 0, parent: str | None = None) -> bytes:
    return line(parent, type="content_block_start", index=index, content_block={"type": "text", "text": ""})


def delta(text: str, kind: str = "text_delta", parent: str | None = None) -> bytes:
    return line(parent, type="content_block_delta", index=0, delta={"type": kind, KINDS[kind]: text})


def assistant(parent: str | None = None) -> bytes:
    return json.dumps({"type": "assistant", "parent_tool_use_id": parent, "message": {}}).encode()


def told(lines: list[bytes]) -> list[tuple[str, str]]:
    """What deltas add up to, by kind, in order."""
    found: list[tuple[str, str]] = []
    for raw in lines:
        event: Json = json.loads(raw)["event"]
        if event["type"] == "content_block_delta":
            kind, text = event["delta"]["type"], event["delta"][KINDS[event["delta"]["type"]]]
            if text and found and found[-1][0] == kind:
                found[-1] = (kind, found[-1][1] + text)
            elif text:
                found.append((kind, text))
    return found


@given(st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.text(max_size=5)), max_size=30), st.integers(0, 30))
def test_joining_anywhere_adds_up_to_the_same(deltas: list[tuple[str, str]], joined: int):
    partial = Partial()
    lines = [start(), block(), *(delta(text, kind) for kind, text in deltas)]
    for raw in lines[: joined + 2]:
        partial.take(raw)
    so_far = partial.so_far()
    assert told([*so_far, *lines[joined + 2 :]]) == told(lines)


def test_a_thousand_deltas_are_one_line_and_what_was_asked_before_is_not_lost():
    partial = Partial()
    for raw in (start(), block(), *(delta(f"{n} ") for n in range(1000))):
        partial.take(raw)
    before = partial.so_far()
    assert len(before) == 3
    partial.take(delta("more"))
    assert told(partial.so_far()) == [("text_delta", "".join(f"{n} " for n in range(1000)) + "more")]


def test_a_long_block_is_told_in_pieces_that_fit_into_a_frame():
    partial = Partial()
    for raw in (start(), block(), delta("é" * (2 * PIECE + 5))):
        partial.take(raw)
    so_far = partial.so_far()
    assert max(map(len, so_far)) < 7 * PIECE
    assert told(so_far) == [("text_delta", "é" * (2 * PIECE + 5))]


def test_a_block_that_is_on_record_is_not_told_again():
    partial = Partial()
    for raw in (start(), block(), delta("whole")):
        partial.take(raw)
    partial.whole(assistant())
    assert told(partial.so_far()) == []
    assert len(partial.so_far()) == 1
    partial.take(line(type="content_block_stop", index=0))
    partial.take(block(1))
    partial.take(delta("next"))
    assert told(partial.so_far()) == [("text_delta", "next")]


def test_a_subagent_has_an_answer_of_its_own():
    partial = Partial()
    for raw in (start(), block(), delta("main"), start("t1"), block(0, "t1"), delta("sub", parent="t1")):
        partial.take(raw)
    partial.whole(assistant("t1"))
    assert told(partial.so_far()) == [("text_delta", "main")]
    partial.take(line(type="message_stop"))
    assert len(partial.so_far()) == 1
    partial.end()
    assert partial.so_far() == []


def test_lines_of_unknown_shape_do_no_harm():
    partial = Partial()
    for raw in (
        b"{}",
        b"[]",
        b'{"event":3}',
        b"nonsense",
        delta("nobody began"),
        b'{"event":{"type":"message_start"}}',
    ):
        partial.take(raw)
        partial.whole(raw)
    partial.take(line(type="content_block_delta", index=0, delta="text"))
    partial.take(line(type="content_block_delta", index=0, delta={"type": "later_delta", "x": 1}))
    assert len(partial.so_far()) == 3
