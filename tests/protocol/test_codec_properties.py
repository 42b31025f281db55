"""Any line decodes to a frame that keeps its bytes, and encoded frames round-trip."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from handrail.protocol.codec import (
    MAX_ID,
    decode,
    encode_cancel,
    encode_failure,
    encode_message,
    encode_request,
    encode_success,
)
from handrail.protocol.frames import BadLine, Message

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.dictionaries(TEXT.filter(lambda key: key not in ("type", "subtype")), JSON, max_size=5)
IDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=MAX_ID)
KINDS = st.sampled_from(["user", "assistant", "stream_event", "system", "result", "tomorrow", ""])
CONTROL_KINDS = st.sampled_from(["control_request", "control_response", "control_cancel_request", "keep_alive"])

ALMOST_FRAMES = st.dictionaries(
    st.sampled_from(["type", "subtype", "request_id", "request", "response", "message", "error", "x"]),
    KINDS
    | CONTROL_KINDS
    | JSON
    | st.dictionaries(st.sampled_from(["subtype", "request_id", "response"]), JSON | KINDS),
)


@given(st.binary())
def test_any_bytes_decode_to_a_frame_with_these_bytes(line: bytes):
    assert decode(line).raw == line


@given(ALMOST_FRAMES, st.booleans())
def test_any_object_decodes_to_a_frame_with_its_bytes(fields: dict[str, Any], escaped: bool):
    line = json.dumps(fields, ensure_ascii=escaped).encode()
    frame = decode(line)
    assert frame.raw == line
    if isinstance(frame, BadLine):
        assert (frame.size, bool(frame.reason)) == (len(line), True)


@given(KINDS, TEXT, FIELDS)
def test_message_round_trips(kind: str, subtype: str, fields: dict[str, Any]):
    frame = encode_message({"type": kind, "subtype": subtype, **fields})
    short = kind == "stream_event" and frame.raw.isascii()  # routed by type only
    assert decode(frame.raw) in (frame, Message(frame.raw, kind) if short else frame)


@given(IDS, TEXT, FIELDS)
def test_request_round_trips(id: str, subtype: str, fields: dict[str, Any]):
    frame = encode_request(id, subtype, fields)
    assert decode(frame.raw) == frame


@given(IDS, st.none() | FIELDS)
def test_success_round_trips(id: str, payload: dict[str, Any] | None):
    frame = encode_success(id, payload)
    assert decode(frame.raw) == frame


@given(IDS, TEXT, TEXT)
def test_failure_round_trips(id: str, error: str, code: str):
    frame = encode_failure(id, error, code)
    assert decode(frame.raw) == frame


@given(IDS)
def test_withdrawal_round_trips(id: str):
    frame = encode_cancel(id)
    assert decode(frame.raw) == frame


@given(st.binary(), st.integers(0, 300), st.integers(0, 255), FIELDS)
def test_damaged_request_decodes_to_a_frame(junk: bytes, place: int, byte: int, fields: dict[str, Any]):
    line = bytearray(encode_request("req_1", "can_use_tool", fields).raw + junk)
    line[place % len(line)] = byte
    assert decode(bytes(line)).raw == bytes(line)
