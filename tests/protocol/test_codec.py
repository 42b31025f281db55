"""Decoding and encoding frames; no byte of a line is ever changed."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from handrail.protocol.codec import (
    SHORT,
    are_partials,
    decode,
    encode_cancel,
    encode_failure,
    encode_message,
    encode_request,
    encode_success,
)
from handrail.protocol.frames import BadLine, CancelRequest, Failure, Frame, KeepAlive, Message, Request, Success

LONG = "x" * SHORT


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    ("line", "frame_type", "subtype"),
    [
        (b'{"type":"assistant","message":{"content":[]}}', "assistant", ""),
        (b'{"type":"system","subtype":"init","cwd":"/"}', "system", "init"),
        (b'{"subtype":"success","result":"ok","type":"result"}', "result", "success"),
        (b'{"type":"stream_event","event":{"type":"message_stop"}}', "stream_event", ""),
        (f'{{"type":"stream_event","x":"{LONG}"}}'.encode(), "stream_event", ""),
        ('{"type":"stream_event","x":"é\u2028\u0085"}'.encode(), "stream_event", ""),
        (b'{"type":"tomorrow","subtype":"new"}', "tomorrow", "new"),
        (b'{"no":"type"}', "", ""),
        (b"{}", "", ""),
        (b' { "type" : "user" } ', "user", ""),
        (b'{"type":"user","subtype":7}', "user", ""),
        (b'{"type":"user","subtype":null}', "user", ""),
    ],
)
def test_line_of_any_other_type_is_a_message(line: bytes, frame_type: str, subtype: str):
    assert decode(line) == Message(line, frame_type, subtype)


def test_message_keeps_duplicate_keys_and_number_formats():
    line = b'{"type":"user","a":1,"a":2,"n":[1.0,1e2,-0,12345678901234567890123]}'
    assert decode(line) == Message(line, "user")


def test_unpaired_surrogate_is_legal_in_a_message():
    line = b'{"type":"user","text":"cut \\ud83e"}'
    assert decode(line) == Message(line, "user")


def test_unpaired_surrogate_is_legal_in_keys_and_subtype_of_a_message():
    line = b'{"type":"system","subtype":"init","\\ud83e":1}'
    assert decode(line) == Message(line, "system", "init")


def test_request_keeps_the_bytes_of_its_body():
    body = b'{ "subtype":"can_use_tool", "input":{"n":1.50} }'
    line = b'{"type":"control_request","request_id":"r1","request":' + body + b',"new":[1]}'
    assert decode(line) == Request(line, "r1", "can_use_tool", body)


def test_wrapped_request_of_older_clients_is_accepted():
    body = (
        b'{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls -la"},'
        b'"permission_suggestions":[{"behavior":"allow","message":"Safe to run"}],"tool_use_id":"toolu_xyz"}'
    )
    inner = b'{"type":"control_request","request_id":"unique-request-id","request":' + body + b"}"
    line = b'{"type":"control_request","message":' + inner + b"}"
    assert decode(line) == Request(line, "unique-request-id", "can_use_tool", body)


def test_body_with_an_unpaired_surrogate_is_encoded_again():
    line = b'{"type":"control_request","request_id":"r1","request":{"subtype":"s","x":"\\ud83e"}}'
    assert decode(line) == Request(line, "r1", "s", b'{"subtype": "s", "x": "\\ud83e"}')


def test_wrapped_request_may_contain_an_unpaired_surrogate():
    line = b'{"type":"control_request","message":{"request_id":"r1","request":{"subtype":"s","x":"\\ud83e"}}}'
    assert decode(line) == Request(line, "r1", "s", b'{"subtype": "s", "x": "\\ud83e"}')


@pytest.mark.parametrize(
    ("response", "frame"),
    [
        (b'{"subtype":"success","request_id":"r1","response":{"a" : 1}}', ("r1", b'{"a" : 1}')),
        (b'{"subtype":"success","request_id":"r1"}', ("r1", b"")),
        (b'{"subtype":"success","request_id":"r1","response":null}', ("r1", b"")),
        (b'{"subtype":"success","request_id":"","response":[]}', ("", b"[]")),
        (b'{"subtype":"success","request_id":"r1","response":"\\ud83e"}', ("r1", b'"\\ud83e"')),
    ],
)
def test_success_keeps_the_bytes_of_its_payload(response: bytes, frame: tuple[str, bytes]):
    line = b'{"type":"control_response","response":' + response + b"}"
    assert decode(line) == Success(line, *frame)


@pytest.mark.parametrize(
    ("response", "frame"),
    [
        (b'{"subtype":"error","request_id":"r1","error":"no"}', ("r1", "no", "")),
        (b'{"subtype":"error","request_id":"r1","error":"no","error_code":"why"}', ("r1", "no", "why")),
        (b'{"subtype":"error","request_id":"r1","error":"no","error_code":7}', ("r1", "no", "")),
        (b'{"subtype":"error","request_id":"r1","error":{"text":"no"}}', ("r1", '{"text": "no"}', "")),
        (b'{"subtype":"error","request_id":"r1"}', ("r1", "null", "")),
    ],
)
def test_failure_accepts_errors_of_any_type(response: bytes, frame: tuple[str, str, str]):
    line = b'{"type":"control_response","response":' + response + b"}"
    assert decode(line) == Failure(line, *frame)


def test_cancel_has_the_id_of_its_request():
    line = b'{"type":"control_cancel_request","request_id":"r1"}'
    assert decode(line) == CancelRequest(line, "r1")


def test_keep_alive_is_decoded():
    line = b'{"type":"keep_alive"}'
    assert decode(line) == KeepAlive(line)


def test_number_near_zero_is_accepted():
    line = b'{"type":"user","x":1e-999}'
    assert decode(line) == Message(line, "user")


def test_depth_check_of_a_long_string_uses_no_memory():
    line = f'{{"type":"user","y":{nested(60)},"x":'.encode() + b'"' + rb"ab\n" * 250_000 + b'","z":[[],[],[],[],[]]}'
    tracemalloc.start()
    try:
        frame = decode(line)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert frame == Message(line, "user")
    assert peak < 2 * len(line)


def test_short_stream_event_is_routed_by_its_envelope():
    """It is harmless to pass on, and its view validates the rest when it is used."""
    for line in (b'{"type":"stream_event","x":1e999}', f'{{"type":"stream_event","x":{nested(400)}}}'.encode()):
        assert len(line) < SHORT
        assert decode(line) == Message(line, "stream_event")


PARTIAL = b'{"type":"stream_event","event":{"type":"ping"}}'


@pytest.mark.parametrize(
    ("lines", "partials"),
    [
        ([], True),
        ([PARTIAL, PARTIAL], True),
        (['{"x":"é","type":"stream_event"}'.encode(), PARTIAL], True),
        ([PARTIAL, b'{"type":"assistant"}'], False),
        ([PARTIAL, f'{{"type":"stream_event","x":"{LONG}"}}'.encode()], False),
        ([PARTIAL, b'{"type":"stream_event"'], False),
        ([b'{"type":"stream_event","x":"\xff"}'], False),
        ([PARTIAL, BadLine(b"", "too long", 3)], False),
    ],
)
def test_a_chunk_of_short_stream_events_is_recognised(lines: list[bytes | BadLine], partials: bool):
    assert are_partials(lines) is partials


@pytest.mark.parametrize(
    ("fields", "frame_type", "subtype"),
    [
        ({"type": "user", "message": {"content": "hello"}}, "user", ""),
        ({"type": "system", "subtype": "init"}, "system", "init"),
        ({"type": "system", "subtype": None}, "system", ""),
        ({"text": "no type"}, "", ""),
    ],
)
def test_encoded_message_decodes_to_itself(fields: dict[str, Any], frame_type: str, subtype: str):
    frame = encode_message(fields)
    assert frame == decode(frame.raw) == Message(frame.raw, frame_type, subtype)
    assert json.loads(frame.raw) == fields


@pytest.mark.parametrize(
    ("frame", "line"),
    [
        (
            encode_request("req_1", "set_model", {"model": "opus"}),
            {"type": "control_request", "request_id": "req_1", "request": {"subtype": "set_model", "model": "opus"}},
        ),
        (
            encode_success("req_1", {"mode": "plan"}),
            {"type": "control_response"}
            | {"response": {"subtype": "success", "request_id": "req_1", "response": {"mode": "plan"}}},
        ),
        (
            encode_success("req_1", {"mode": "plan"}, {"pending": []}),
            {"type": "control_response"}
            | {"response": {"subtype": "success", "request_id": "req_1", "response": {"mode": "plan"}, "pending": []}},
        ),
        (
            encode_success("req_1", None),
            {"type": "control_response", "response": {"subtype": "success", "request_id": "req_1"}},
        ),
        (
            encode_failure("req_1", "no", "why"),
            {"type": "control_response"}
            | {"response": {"subtype": "error", "request_id": "req_1", "error": "no", "error_code": "why"}},
        ),
        (
            encode_failure("req_1", "no"),
            {"type": "control_response", "response": {"subtype": "error", "request_id": "req_1", "error": "no"}},
        ),
        (encode_cancel("req_1"), {"type": "control_cancel_request", "request_id": "req_1"}),
    ],
)
def test_encoded_control_frame_decodes_to_itself(frame: Frame, line: dict[str, Any]):
    assert json.loads(frame.raw) == line
    assert decode(frame.raw) == frame


def test_encoded_lines_contain_no_newline():
    assert b"\n" not in encode_message({"type": "user", "text": "one\ntwo\r\nthree"}).raw


def test_request_id_may_contain_any_character():
    line = '{"type":"control_cancel_request","request_id":"für"}'.encode()
    assert decode(line) == CancelRequest(line, "für")
