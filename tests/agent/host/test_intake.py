from __future__ import annotations

import json

import pytest

from handrail.agent.host.intake import read_line
from handrail.protocol import BadLine, KeepAlive, Message, Request
from handrail.protocol.codec import encode_failure, encode_success
from handrail.protocol.frames import InternalId


@pytest.mark.parametrize("line", [b"{", b"hello", b'{"type":', b"[" * 100_000])
def test_invalid_json_ends_the_session(line: bytes) -> None:
    frame = read_line(line)
    assert isinstance(frame, BadLine)
    assert "SyntaxError" in frame.reason


def test_null_ends_the_session() -> None:
    frame = read_line(b"null")
    assert isinstance(frame, BadLine)
    assert "TypeError" in frame.reason


@pytest.mark.parametrize("line", [b"[]", b'"text"', b"1", b"true"])
def test_values_that_are_no_objects_are_passed_over(line: bytes) -> None:
    assert isinstance(read_line(line), KeepAlive)


def test_a_prompt_is_a_message() -> None:
    frame = read_line(b'{"type":"user","message":{"role":"user","content":"hi"}}')
    assert isinstance(frame, Message)
    assert frame.type == "user"


def test_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    frame = read_line(b'{"type":"user","message":{"role":"user","content":"a\xffb"}}')
    assert isinstance(frame, Message)
    assert "a\ufffdb".encode() in frame.raw


def test_a_request_without_its_body_ends_the_session() -> None:
    frame = read_line(b'{"type":"control_request","request_id":"1"}')
    assert isinstance(frame, BadLine)
    assert "Missing request" in frame.reason


def test_a_request_without_an_id_or_subtype_is_still_answered() -> None:
    frame = read_line(b'{"type":"control_request","request":{"x":1}}')
    assert isinstance(frame, Request)
    assert (type(frame.id), frame.subtype) == (InternalId, "undefined")
    assert "request_id" not in json.loads(encode_success(frame.id, {}).raw)["response"]


def test_empty_answer_is_ignored() -> None:
    assert isinstance(read_line(b'{"type":"control_response"}'), KeepAlive)


@pytest.mark.parametrize("id", [7, 1.5, None, ["a"]])
def test_a_request_is_answered_with_the_id_it_came_with(id: object) -> None:
    line = {"type": "control_request", "request_id": id, "request": {"subtype": "mcp_status"}}
    frame = read_line(json.dumps(line).encode())
    assert isinstance(frame, Request)
    assert json.loads(encode_failure(frame.id, "no").raw)["response"]["request_id"] == id


@pytest.mark.parametrize("request_", ["interrupt", [], [1], 5])
def test_a_request_that_is_not_an_object_has_no_subtype(request_: object) -> None:
    frame = read_line(json.dumps({"type": "control_request", "request_id": "r", "request": request_}).encode())
    assert isinstance(frame, Request)
    assert (frame.id, frame.subtype, frame.body) == ("r", "undefined", b"{}")


@pytest.mark.parametrize("request_", [None, "", 0, False])
def test_an_empty_request_ends_the_session(request_: object) -> None:
    line = json.dumps({"type": "control_request", "request_id": "r", "request": request_}).encode()
    assert isinstance(read_line(line), BadLine)


def test_a_byte_order_mark_is_skipped() -> None:
    line = b'{"type":"user","message":{"role":"user","content":"hi"}}'
    assert read_line(b"\xef\xbb\xbf" + line) == read_line(line)
    assert isinstance(read_line(b"\xef\xbb\xbf\xef\xbb\xbf" + line), BadLine)
