"""The newest frames of a session: bounded, masked, and available as a recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from handrail.bridge.session.wire_ring import LONGEST, MOST_BYTES, MOST_STREAMED, WireRing
from handrail.protocol import BadLine, KeepAlive, Message
from handrail.transport.recording_file import read_recording


def line(type: str = "assistant", **fields: Any) -> Message:
    return Message(json.dumps({"type": type, **fields}).encode(), type)


def test_frames_are_numbered_and_read_after_a_number():
    ring = WireRing(clock=lambda: 1.5)
    assert ring.snapshot().shown() == {"first": 1, "last": 0, "frames": []}
    for direction, frame in (("in", line("user")), ("out", line("stream_event")), ("out", KeepAlive(b'{"a": 1}'))):
        ring.put(direction, frame)  # type: ignore[arg-type]
    shown = json.loads(json.dumps(ring.snapshot().shown(1), default=lambda raw: json.loads(bytes(raw))))
    assert (shown["first"], shown["last"]) == (1, 3)
    assert shown["frames"] == [
        {"n": 2, "time": 1500, "direction": "from_cli", "frame": {"type": "stream_event"}},
        {"n": 3, "time": 1500, "direction": "from_cli", "frame": {"a": 1}},
    ]


def test_rings_are_bounded_and_deltas_do_not_displace_other_frames():
    ring = WireRing()
    ring.put("out", line("system", subtype="init"))
    for n in range(20_000):
        ring.put("out", line("stream_event", text="x" * 100, n=n))
    shown = ring.snapshot().shown()
    assert (shown["first"], shown["last"]) == (1, 20_001)
    assert sum(len(bytes(frame["frame"])) for frame in shown["frames"]) < MOST_STREAMED
    for _ in range(200):
        ring.put("in", line(text="x" * 10_000))
    assert sum(len(bytes(frame["frame"])) for frame in ring.snapshot().shown()["frames"]) < MOST_BYTES + MOST_STREAMED


def test_long_line_has_a_size_and_invalid_line_has_text():
    ring = WireRing()
    ring.put("out", line(text="x" * LONGEST))
    ring.put("out", BadLine(b"Segmentation fault \xff", "not JSON", 19))
    long, bad = ring.snapshot().shown()["frames"]
    assert (long["bytes"] > LONGEST, "frame" in long) == (True, False)
    assert bad["text"] == "Segmentation fault \ufffd"


def test_secrets_are_masked_including_the_environment():
    ring = WireRing()
    said = line("user", text="my password is opensesame", headers={"authorization": "Bearer abcdefgh12345678"})
    ring.begin({"MY_TOKEN": "opensesame"})
    ring.put("in", said)
    [shown] = ring.snapshot().shown()["frames"]
    assert b"opensesame" not in bytes(shown["frame"])
    assert b"abcdefgh12345678" not in bytes(shown["frame"])
    assert b"opensesame" not in ring.snapshot().recording()


def test_recording_contains_the_last_process(tmp_path: Path):
    ring = WireRing(clock=iter(range(10, 99)).__next__)
    ring.begin({})
    ring.put("in", line("user", text="before"))
    ring.begin({})
    ring.put("in", line("user", text="now"))
    ring.put("out", line(text="x" * LONGEST))
    path = tmp_path / "one.ndjson"
    path.write_bytes(ring.snapshot().recording())
    recorded = read_recording(path)
    assert [row.dir for row in recorded.rows] == ["in", "out"]
    assert json.loads(recorded.rows[0].data)["text"] == "now"
    assert json.loads(recorded.rows[1].data)["type"] == "handrail_omitted"
    assert [row.t for row in recorded.rows] == [0.0, 1.0]
