"""The streamed answer so far, in few lines, for a client that joins in the middle."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from handrail.bridge.session.partial import MOST_CHARACTERS, Partial

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


def told(lines: list[bytes]) -> list[tuple[str, str]]:
    """The text of deltas, by kind, in order."""
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
def test_a_client_that_joins_anywhere_gets_the_same_text(deltas: list[tuple[str, str]], joined: int):
    partial = Partial()
    lines = [start(), block(), *(delta(text, kind) for kind, text in deltas)]
    for raw in lines[: joined + 2]:
        partial.take(raw)
    so_far = partial.so_far()
    assert told([*so_far, *lines[joined + 2 :]]) == told(lines)


def test_a_thousand_deltas_become_one_line():
    partial = Partial()
    for raw in (start(), block(), *(delta(f"{n} ") for n in range(1000))):
        partial.take(raw)
    before = partial.so_far()
    assert len(before) == 3
    partial.take(delta("more"))
    assert told(partial.so_far()) == [("text_delta", "".join(f"{n} " for n in range(1000)) + "more")]


def test_a_long_block_is_split_to_fit_into_frames():
    partial = Partial()
    for raw in (start(), block(), delta("é" * (2 * MOST_CHARACTERS + 5))):
        partial.take(raw)
    so_far = partial.so_far()
    assert max(map(len, so_far)) < 7 * MOST_CHARACTERS
    assert told(so_far) == [("text_delta", "é" * (2 * MOST_CHARACTERS + 5))]


def test_a_persisted_block_is_not_repeated():
    partial = Partial()
    for raw in (start(), block(), delta("whole")):
        partial.take(raw)
    partial.finish_block(None)
    assert told(partial.so_far()) == []
    assert len(partial.so_far()) == 1
    partial.take(line(type="content_block_stop", index=0))
    partial.take(block(1))
    partial.take(delta("next"))
    assert told(partial.so_far()) == [("text_delta", "next")]


def test_subagents_stream_separately():
    partial = Partial()
    for raw in (start(), block(), delta("main"), start("t1"), block(0, "t1"), delta("sub", parent="t1")):
        partial.take(raw)
    partial.finish_block("t1")
    assert told(partial.so_far()) == [("text_delta", "main")]
    partial.take(line(type="message_stop"))
    assert len(partial.so_far()) == 1
    partial.end()
    assert partial.so_far() == []


def test_unknown_shapes_are_ignored():
    partial = Partial()
    for raw in (
        b"{}",
        b"[]",
        b'{"event":3}',
        b"nonsense",
        delta("no start"),
        b'{"event":{"type":"message_start"}}',
    ):
        partial.take(raw)
    partial.take(line(type="content_block_delta", index=0, delta="text"))
    partial.take(line(type="content_block_delta", index=0, delta={"type": "later_delta", "x": 1}))
    assert len(partial.so_far()) == 2
