"""Secrets that are spread over several deltas are masked in recordings and frames."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from handrail.protocol import Message
from handrail.protocol.codec import decode
from handrail.transport.delta_masking import LONGEST, MOST_HELD, DeltaMasker
from handrail.transport.masking import MASK, Masker
from handrail.transport.recording_writer import RecordingWriter

KINDS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
BODY = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA"
TOKEN = f"ghp_{BODY}"


def event(type: str, *, parent: str | None = None, **fields: Any) -> bytes:
    shown = {"type": "stream_event", "event": {"type": type, **fields}, "parent_tool_use_id": parent, "uuid": "u"}
    return json.dumps(shown).encode()


def delta(text: str, kind: str = "text_delta", *, index: int = 0, parent: str | None = None) -> bytes:
    return event("content_block_delta", parent=parent, index=index, delta={"type": kind, KINDS[kind]: text})


def stop(index: int = 0) -> bytes:
    return event("content_block_stop", index=index)


def masked(*lines: bytes, environment: dict[str, str] | None = None) -> list[bytes]:
    masker = DeltaMasker[int](Masker(environment))
    found = [pair for at, line in enumerate(lines) for pair in masker.put(line, at)] + masker.flush()
    assert [at for at, _ in found] == list(range(len(lines)))
    return [line for _, line in found]


def joined(lines: list[bytes], *, index: int = 0, parent: str | None = None) -> str:
    views = [json.loads(line) for line in lines if line.startswith(b"{")]
    events = [view["event"] for view in views if view.get("parent_tool_use_id") == parent and "event" in view]
    deltas = [one["delta"] for one in events if one.get("delta") and one["index"] == index]
    return "".join(one[KINDS[one["type"]]] for one in deltas)


def pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@pytest.mark.parametrize("size", [1, 3, 7, 100])
@pytest.mark.parametrize("kind", KINDS)
def test_a_secret_is_masked_however_it_is_cut(size: int, kind: str):
    lines = masked(*(delta(part, kind) for part in pieces(f"use {TOKEN} now\nand go on", size)), stop())
    assert BODY[:6] not in joined(lines)
    assert joined(lines).startswith("use ***")
    assert joined(lines).endswith(" now\nand go on")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"password: {BODY[:12]}", BODY[:12]),
        (f"Authorization: Bearer {BODY}", BODY),
        (f"https://me:{BODY}@example.org", BODY),
        (f"-----BEGIN PRIVATE KEY-----\n{BODY}\n{BODY}\n-----END PRIVATE KEY-----\nfine", BODY),
        ("the value is my-own-value", "my-own-value"),
    ],
)
def test_context_in_earlier_deltas_counts(text: str, secret: str):
    lines = masked(*(delta(part) for part in pieces(text, 4)), stop(), environment={"SOME_SECRET": "my-own-value"})
    assert secret not in joined(lines)
    assert MASK in joined(lines)


def test_text_without_secrets_is_unchanged():
    lines = [delta(part) for part in pieces("a plain text\nwith two lines", 5)]
    assert masked(*lines, stop()) == [*lines, stop()]


def test_a_line_is_released_when_its_line_of_text_is_complete():
    masker = DeltaMasker[int](Masker())
    assert masker.put(delta("one "), 1) == []
    assert [at for at, _ in masker.put(delta("two\n"), 2)] == [1, 2]
    assert masker.put(delta("three"), 3) == []
    assert masker.put(b"not json", 4) == []
    assert [at for at, _ in masker.put(stop(), 5)] == [3, 4, 5]


def test_interleaved_blocks_are_joined_separately():
    first, second = pieces(TOKEN, 9), pieces("harmless words only in this one", 9)
    lines = [line for a, b in zip(first, second, strict=False) for line in (delta(a), delta(b, parent="toolu_1"))]
    found = masked(*lines, stop())
    assert BODY[:6] not in joined(found)
    assert joined(found, parent="toolu_1") == "".join(second[: len(first)])


def test_other_deltas_and_lines_keep_their_place():
    lines = [
        delta("a"),
        event("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "x"}),
        b'{"type":"user","note":"stream_event"}',
        b'{"type":"stream_event","event":5}',
        b'{"type":"not","about":"\\"stream_event\\""}',
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": 5}),
        delta("b"),
    ]
    assert masked(*lines) == lines


def test_held_lines_are_bounded():
    masker = DeltaMasker[int](Masker())
    released = [at for at in range(MOST_HELD + 1) for _ in masker.put(delta("x", index=at), at)]
    assert len(released) == MOST_HELD + 1
    assert masker.put(delta("y" * LONGEST + "y"), 0)


def test_a_recording_contains_no_part_of_a_secret():
    file = io.BytesIO()
    writer = RecordingWriter(file)
    for part in pieces(f"key {TOKEN}", 5):
        writer.take("out", delta(part) + b"\n")
    writer.take("in", b'{"type":"control_request"}\n')
    writer.release()
    rows = [json.loads(line) for line in file.getvalue().splitlines()[1:]]
    assert BODY[:6] not in joined([row["raw"].encode() for row in rows])
    assert rows[-1]["dir"] == "in"
    assert writer.lines == len(rows)


def test_frames_shown_by_the_server_contain_no_part_of_a_secret():
    from handrail.bridge.session.wire_ring import WireRing

    ring = WireRing()
    for part in pieces(f"key {TOKEN}", 5):
        frame = decode(delta(part))
        assert isinstance(frame, Message)
        ring.put("out", frame)
    shown = ring.snapshot().shown(after=3)["frames"]
    assert all(part not in str(bytes(one["frame"])) for one in shown for part in pieces(BODY, 5))
    assert [one["n"] for one in shown] == list(range(4, 4 + len(shown)))
    assert BODY[:5].encode() not in ring.snapshot().recording()
