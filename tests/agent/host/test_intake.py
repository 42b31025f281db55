from __future__ import annotations

import json

import pytest

from handrail.agent.host.intake import read_line
from handrail.protocol import BadLine, KeepAlive, Message, Request
from handrail.protocol.codec import encode_success
from handrail.protocol.frames import Unnamed


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
    assert (type(frame.id), frame.subtype) == (Unnamed, "undefined")
    assert "request_id" not in json.loads(encode_success(frame.id, {}).raw)["response"]


def test_empty_answer_is_ignored() -> None:
    assert isinstance(read_line(b'{"type":"control_response"}'), KeepAlive)
