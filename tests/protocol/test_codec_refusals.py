"""Malformed lines: each becomes a BadLine with a reason."""

from __future__ import annotations

import json

import pytest

from handrail.protocol.codec import (
    MAX_DEPTH,
    MAX_ID,
    SHORT,
    decode,
)
from handrail.protocol.frames import BadLine, CancelRequest, Message

LONG = "x" * SHORT


def bad(line: bytes, reason: str) -> BadLine:
    return BadLine(line, reason, len(line))


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize("line", [b"[]", b"1", b"null", b'"text"', b"true", b"1.5"])
def test_other_json_values_are_rejected(line: bytes):
    assert decode(line) == bad(line, "not a JSON object")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "not JSON: Input data was truncated"),
        (b"[SandboxDebug] x", "not JSON: Expected `object`, got `array`"),
        (b"\x1b[31mred\x1b[0m", "not JSON: JSON is malformed: invalid character (byte 0)"),
        (b'{"type":"user"', "not JSON: Input data was truncated"),
        (b'{"type":"user"} {}', "not JSON: JSON is malformed: trailing characters (byte 17)"),
        (b'{"type":"user","x":"\x01"}', "not JSON: JSON is malformed: invalid character (byte 20)"),
        (b'{"type":"stream_event","x":[1,]}', "not JSON: JSON is malformed: trailing comma in array (byte 30)"),
        (b'{"type":"user","x":[}', "not JSON: JSON is malformed: invalid character (byte 20)"),
    ],
)
def test_invalid_json_is_rejected_with_the_reason(line: bytes, reason: str):
    assert decode(line) == bad(line, reason)


@pytest.mark.parametrize("kind", ["user", "stream_event", "control_request", "keep_alive"])
@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_nan_and_infinity_are_rejected(kind: str, constant: str):
    line = f'{{"type":"{kind}","request_id":"r","request":{{"subtype":"s","x":{constant}}}}}'.encode()
    assert decode(line) == bad(line, f"{constant} is not JSON")


@pytest.mark.parametrize("kind", ["user", "control_request"])
@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" * 400 + ".5"])
def test_number_out_of_range_is_rejected(kind: str, number: str):
    line = f'{{"type":"{kind}","request_id":"r","request":{{"subtype":"s","x":{number}}}}}'.encode()
    assert decode(line) == bad(line, "a number is out of range")


@pytest.mark.parametrize("kind", ["user", "stream_event", "control_request", "control_response"])
def test_integer_of_5000_digits_is_rejected(kind: str):
    line = f'{{"type":"{kind}","request_id":"r","request":{{"subtype":"s","x":{"1" * 5000}}}}}'.encode()
    frame = decode(line)
    assert isinstance(frame, BadLine)
    assert frame.reason.startswith("not JSON: ")


@pytest.mark.parametrize("kind", ["user", "stream_event", "control_request"])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"\xff", "not UTF-8: invalid start byte at byte {}"),
        (b"\xc3", "not UTF-8: invalid continuation byte at byte {}"),
        (b"\xed\xa0\x80", "not UTF-8: invalid continuation byte at byte {}"),
    ],
)
def test_invalid_utf8_is_rejected_with_its_position(kind: str, text: bytes, reason: str):
    head = f'{{"type":"{kind}","x":"'.encode()
    line = head + text + b'"}'
    assert decode(line) == bad(line, reason.format(len(head)))


@pytest.mark.parametrize("kind", [b"user", b"stream_event", b"control_request"])
def test_nul_byte_is_rejected(kind: bytes):
    line = b'{"type":"' + kind + b'","x":"a\0b"}'
    assert decode(line) == bad(line, "the line contains a NUL byte")


def test_byte_order_mark_is_rejected():
    line = b'\xef\xbb\xbf{"type":"user"}'
    assert decode(line) == bad(line, "the line starts with a byte order mark")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf16_and_utf32_are_rejected(encoding: str):
    line = '{"type":"user"}'.encode(encoding)
    assert decode(line) == bad(line, "the line contains a NUL byte")


def test_valid_line_after_a_bad_one_is_read():
    lines = [b'{"type":"user","x":"\xff"}', b'{"type":"user"}']
    assert [type(decode(line)) for line in lines] == [BadLine, Message]


@pytest.mark.parametrize("type_", ["1", "null", "[]", "{}", "true"])
def test_type_must_be_a_string(type_: str):
    line = f'{{"type":{type_}}}'.encode()
    assert decode(line) == bad(line, "`type` is not a string")


@pytest.mark.parametrize("depth", [MAX_DEPTH - 1, MAX_DEPTH])
def test_nesting_up_to_the_limit_is_accepted(depth: int):
    line = f'{{"type":"user","x":{nested(depth - 1)}}}'.encode()
    assert decode(line) == Message(line, "user")


@pytest.mark.parametrize(
    "line",
    [
        f'{{"type":"user","x":{nested(MAX_DEPTH)}}}'.encode(),
        f'{{"type":"control_request","request_id":"r","request":{{"subtype":"s","x":{nested(MAX_DEPTH)}}}}}'.encode(),
        f'{{"type":"stream_event","x":{nested(MAX_DEPTH)},"y":"{LONG}"}}'.encode(),
        b'{"a":' * 900 + b"1" + b"}" * 900,
        b'{"a":[' * 450 + b"1" + b"]}" * 450,
        b"[" * 100_000 + b"]" * 100_000,
        b"[" * 100_000,
    ],
    ids=["message", "request", "stream event", "900 objects", "both kinds", "100,000 arrays", "100,000 unclosed"],
)
def test_deeper_nesting_is_rejected(line: bytes):
    assert decode(line) == bad(line, f"nested deeper than {MAX_DEPTH}")


def test_brackets_in_strings_do_not_count():
    text = json.dumps('\\"' + "[{" * 500)
    line = f'{{"type":"user","x":{text},"y":{nested(9)}}}'.encode()
    assert decode(line) == Message(line, "user")


def test_sibling_brackets_do_not_count_as_depth():
    line = f'{{"type":"user","x":[{",".join(["[{}]"] * 500)}]}}'.encode()
    assert decode(line) == Message(line, "user")


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"control_request","request_id":"r","request":{"subtype":"s"},"request":{"subtype":"t"}}',
        b'{"type":"control_request","request_id":"r","request_id":"q","request":{"subtype":"s"}}',
        b'{"type":"control_request","request_id":"r","request":{"subtype":"s","input":{"a":1,"b":2,"a":3}}}',
        b'{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"a":"deny","a":"allow"}}}',
        b'{"type":"control_cancel_request","request_id":"r","request_id":"q"}',
        b'{"type":"control_request","request_id":"r","request":{"subtype":"s","a":1,"\\u0061":2}}',
    ],
)
def test_duplicate_key_in_a_control_line_is_rejected(line: bytes):
    frame = decode(line)
    assert isinstance(frame, BadLine)
    assert frame.reason.startswith("duplicate key ")


def test_error_contains_the_duplicate_key():
    line = b'{"type":"control_request","request_id":"r","request":{"subtype":"s","a":1,"b":2,"b":3}}'
    assert decode(line) == bad(line, "duplicate key 'b'")


@pytest.mark.parametrize("id", ["", ',"request_id":7', ',"request_id":null', ',"request_id":["r"]'])
@pytest.mark.parametrize(
    "line",
    [
        '{{"type":"control_request","request":{{"subtype":"s"}}{id}}}',
        '{{"type":"control_response","response":{{"subtype":"success"{id}}}}}',
        '{{"type":"control_response","response":{{"subtype":"error","error":"no"{id}}}}}',
        '{{"type":"control_cancel_request"{id}}}',
    ],
)
def test_control_line_needs_a_valid_id(line: str, id: str):
    spelled = line.format(id=id).encode()
    assert decode(spelled) == bad(spelled, "`request_id` is missing or not a string")


@pytest.mark.parametrize(("size", "accepted"), [(MAX_ID, True), (MAX_ID + 1, False), (1_000_000, False)])
def test_length_of_an_id_is_limited(size: int, accepted: bool):
    id = "é" * size
    line = f'{{"type":"control_cancel_request","request_id":"{id}"}}'.encode()
    refused = bad(line, f"`request_id` is longer than {MAX_ID} characters")
    assert decode(line) == (CancelRequest(line, id) if accepted else refused)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"type":"control_request","request_id":"r"}', "control_request without a `request` object"),
        (b'{"type":"control_request","request_id":"r","request":[]}', "control_request without a `request` object"),
        (b'{"type":"control_request","message":{"request_id":"r"}}', "control_request without a `request` object"),
        (b'{"type":"control_request","message":"hello"}', "control_request without a `request` object"),
        (b'{"type":"control_request","request_id":"r","request":{}}', "control_request without a `subtype`"),
        (b'{"type":"control_request","request_id":"r","request":{"subtype":1}}', "control_request without a `subtype`"),
        (b'{"type":"control_response"}', "control_response without a `response` object"),
        (b'{"type":"control_response","response":"r"}', "control_response without a `response` object"),
        (
            b'{"type":"control_response","response":{"request_id":"r"}}',
            "control_response of unknown subtype None",
        ),
        (
            b'{"type":"control_response","response":{"subtype":"maybe","request_id":"r"}}',
            "control_response of unknown subtype 'maybe'",
        ),
    ],
)
def test_incomplete_control_line_is_rejected(line: bytes, reason: str):
    assert decode(line) == bad(line, reason)


def test_request_id_with_an_unpaired_surrogate_is_rejected():
    line = b'{"type":"control_cancel_request","request_id":"\\ud83d"}'
    assert decode(line) == BadLine(line, "`request_id` contains an unpaired surrogate", len(line))
