"""The newest frames of a session: bounded, both ways, without secrets, and as a recording."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from handrail.bridge.session.wire_ring import LONGEST, MOST_BYTES, MOST_STREAMED, Direction, WireRing
from handrail.protocol import BadLine, Frame, KeepAlive, Message
from handrail.transport.recording_file import read_recording


def line(type: str = "assistant", **fields: Any) -> Message:
    return Message(json.dumps({"type": type, **fields}).encode(), type)


async def frames(*given: tuple[Direction, Frame]) -> AsyncIterator[tuple[Direction, Frame]]:
    for one in given:
        yield one


def test_frames_are_numbered_in_order_and_read_on_from_a_number():
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


def test_streams_do_not_drive_out_the_rest_and_nothing_grows_without_end():
    ring = WireRing()
    ring.put("out", line("system", subtype="init"))
    for n in range(20_000):
        ring.put("out", line("stream_event", text="x" * 100, n=n))
    shown = ring.snapshot().shown()
    assert (shown["first"], shown["last"]) == (1, 20_001)
    assert sum(len(bytes(one["frame"])) for one in shown["frames"]) < MOST_STREAMED
    for _ in range(200):
        ring.put("in", line(text="x" * 10_000))
    assert sum(len(bytes(one["frame"])) for one in ring.snapshot().shown()["frames"]) < MOST_BYTES + MOST_STREAMED


def test_a_long_line_is_told_by_its_size_and_one_that_is_no_json_by_its_text():
    ring = WireRing()
    ring.put("out", line(text="x" * LONGEST))
    ring.put("out", BadLine(b"Segmentation fault \xff", "not JSON", 19))
    long, bad = ring.snapshot().shown()["frames"]
    assert (long["bytes"] > LONGEST, "frame" in long) == (True, False)
    assert bad["text"] == "Segmentation fault \ufffd"


async def test_secrets_are_masked_those_of_the_environment_too():
    ring = WireRing()
    said = line("user", text="my word is opensesame", headers={"authorization": "Bearer abcdefgh12345678"})
    await ring.follow(frames(("in", said)), {"MY_TOKEN": "opensesame"})
    [one] = ring.snapshot().shown()["frames"]
    assert b"opensesame" not in bytes(one["frame"])
    assert b"abcdefgh12345678" not in bytes(one["frame"])
    assert b"opensesame" not in ring.snapshot().recording()


async def test_the_last_process_is_a_recording(tmp_path: Path):
    ring = WireRing(clock=iter(range(10, 99)).__next__)
    await ring.follow(frames(("in", line("user", text="before"))), {})
    await ring.follow(frames(("in", line("user", text="now")), ("out", line(text="x" * LONGEST))), {})
    path = tmp_path / "one.ndjson"
    path.write_bytes(ring.snapshot().recording())
    recorded = read_recording(path)
    assert [row.dir for row in recorded.rows] == ["in", "out"]
    assert json.loads(recorded.rows[0].data)["text"] == "now"
    assert json.loads(recorded.rows[1].data)["type"] == "handrail_omitted"
    assert [row.t for row in recorded.rows] == [0.0, 1.0]
