"""Decodes lines to frames and encodes frames to lines. A frame keeps its raw bytes.

Of conversation lines only `type` and `subtype` are decoded, for routing. Control lines are decoded strictly, because
they decide things: duplicate keys are rejected. A malformed line becomes a BadLine with a reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard, cast

import msgspec

from handrail.protocol.frames import (
    BadLine,
    CancelRequest,
    Failure,
    Frame,
    InternalId,
    KeepAlive,
    Message,
    Request,
    Success,
)

__all__ = [
    "MAX_DEPTH",
    "MAX_ID",
    "SHORT",
    "are_partials",
    "decode",
    "encode_cancel",
    "encode_failure",
    "encode_message",
    "encode_request",
    "encode_success",
]

MAX_DEPTH = 64
"""Maximum nesting of objects and arrays."""
MAX_ID = 512
"""Maximum length of a request id, in characters."""

SHORT = 1024
"""Stream events shorter than this are not validated beyond the envelope: there are hundreds of thousands of them, they
are too short to nest dangerously deep, and their view validates the rest when it is used."""

Object = dict[str, Any]
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)  # possessive: no backtracking on long strings
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SQUARE = bytes.maketrans(b"{}", b"[]")
_BOM = b"\xef\xbb\xbf"


class _Head(msgspec.Struct, gc=False):
    type: str = ""
    subtype: str = ""


class _Refused(ValueError):
    """The line is malformed; the text says why."""


_decode_head = msgspec.json.Decoder(_Head).decode
_encode = msgspec.json.Encoder().encode


def decode(line: bytes) -> Frame:
    """Decode a line, given without its newline. Malformed lines become BadLine."""
    try:
        head = _decode_head(line)
        if head.type == "stream_event" and len(line) < SHORT and line.isascii():
            return Message(line, "stream_event")
        if not line.isascii():
            line.decode()
        if line.count(b"[") + line.count(b"{") > MAX_DEPTH:
            _check_depth(line)
        if (read := _CONTROL.get(head.type)) is not None:
            return read(line)
        msgspec.json.decode(line)
    except (ValueError, RecursionError) as error:
        return _decode_slowly(line, error)
    return Message(line, head.type, head.subtype)


def are_partials(lines: Sequence[bytes | BadLine]) -> TypeGuard[list[bytes]]:
    """Whether all lines are short stream events. They come in floods, and a frame would say no more than the line."""
    try:
        for line in lines:
            if _decode_head(line).type != "stream_event" or len(line) >= SHORT:  # type: ignore[arg-type]
                return False
        joined = b"\n".join(lines)  # type: ignore[arg-type]
        if not joined.isascii():
            joined.decode()
    except (ValueError, TypeError):  # TypeError: a BadLine
        return False
    return True


def _decode_slowly(line: bytes, error: Exception) -> Frame:
    """Decode a line that the fast path rejected: it is malformed, or only the slower parser accepts it."""
    try:
        return _decode_strictly(line)
    except _Refused as refusal:
        return BadLine(line, str(refusal), len(line))
    except UnicodeDecodeError as refusal:
        return BadLine(line, f"not UTF-8: {refusal.reason} at byte {refusal.start}", len(line))
    except RecursionError:
        return BadLine(line, f"nested deeper than {MAX_DEPTH}", len(line))
    except ValueError:
        return BadLine(line, f"not JSON: {error}", len(line))


def _decode_strictly(line: bytes) -> Frame:
    if line.startswith(_BOM):
        raise _Refused("the line starts with a byte order mark")
    if b"\0" in line:
        raise _Refused("the line contains a NUL byte")
    line.decode()
    _check_depth(line)
    value = _parse(line)
    kind, subtype = value.get("type", ""), value.get("subtype")
    if not isinstance(kind, str):
        raise _Refused("`type` is not a string")
    if (read := _CONTROL.get(kind)) is not None:
        return read(line)
    return Message(line, kind, subtype if isinstance(subtype, str) else "")


def _check_depth(line: bytes) -> None:
    """Remove the innermost pairs of brackets MAX_DEPTH times; if pairs are left, the line is nested too deep.

    Unbalanced brackets are left to the parser, which rejects them.
    """
    brackets = _STRING.sub(b"", line).translate(_SQUARE, _NOT_BRACKETS)
    rounds = 0
    while b"[]" in brackets:
        if rounds == MAX_DEPTH:
            raise _Refused(f"nested deeper than {MAX_DEPTH}")
        brackets = brackets.replace(b"[]", b"")
        rounds += 1


def _parse(line: bytes, *, unique: bool = False) -> Object:
    hooks: dict[str, Any] = {"object_pairs_hook": _unique} if unique else {}
    value = json.loads(line, parse_constant=_no_constant, parse_float=_finite, **hooks)
    if not isinstance(value, dict):
        raise _Refused("not a JSON object")
    return cast(Object, value)


def _unique(pairs: list[tuple[str, Any]]) -> Object:
    found = dict(pairs)
    if len(found) != len(pairs):
        duplicate = next(key for i, (key, _) in enumerate(pairs) if any(key == other for other, _ in pairs[:i]))
        raise _Refused(f"duplicate key {duplicate!r}")
    return found


def _no_constant(name: str) -> None:
    raise _Refused(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise _Refused("a number is out of range")
    return number


class _RequestLine(msgspec.Struct, gc=False):
    request: msgspec.Raw = msgspec.Raw()
    message: msgspec.Raw = msgspec.Raw()


class _AnswerBody(msgspec.Struct, gc=False):
    response: msgspec.Raw = msgspec.Raw()


class _AnswerLine(msgspec.Struct, gc=False):
    response: _AnswerBody


def _read_request(line: bytes) -> Frame:
    value, source = _parse(line, unique=True), line
    nested = value.get("message")
    if "request" not in value and isinstance(nested, dict):  # an older form wraps the request once more
        value, source = cast(Object, nested), _raw_of(line, "message", nested)
    request: Any = value.get("request")
    if not isinstance(request, dict):
        raise _Refused("control_request without a `request` object")
    subtype: Any = cast(Object, request).get("subtype")
    if not isinstance(subtype, str):
        raise _Refused("control_request without a `subtype`")
    return Request(line, _id(value), subtype, _raw_of(source, "request", request))


def _read_answer(line: bytes) -> Frame:
    response: Any = _parse(line, unique=True).get("response")
    if not isinstance(response, dict):
        raise _Refused("control_response without a `response` object")
    body = cast(Object, response)
    subtype, id = body.get("subtype"), _id(body)
    if subtype == "success":
        payload = body.get("response")
        return Success(line, id, b"" if payload is None else _raw_of_answer(line, payload))
    if subtype == "error":
        error, code = body.get("error"), body.get("error_code")
        text = error if isinstance(error, str) else json.dumps(error)
        return Failure(line, id, text, code if isinstance(code, str) else "")
    raise _Refused(f"control_response of unknown subtype {subtype!r}")


def _read_cancel(line: bytes) -> Frame:
    return CancelRequest(line, _id(_parse(line, unique=True)))


def _read_keep_alive(line: bytes) -> Frame:
    return KeepAlive(line)


_CONTROL: Mapping[str, Callable[[bytes], Frame]] = {
    "control_request": _read_request,
    "control_response": _read_answer,
    "control_cancel_request": _read_cancel,
    "keep_alive": _read_keep_alive,
}


def _id(value: Object) -> str:
    found = value.get("request_id")
    if not isinstance(found, str):
        raise _Refused("`request_id` is missing or not a string")
    if len(found) > MAX_ID:
        raise _Refused(f"`request_id` is longer than {MAX_ID} characters")
    if not found.isascii() and any("\ud800" <= letter <= "\udfff" for letter in found):
        raise _Refused("`request_id` contains an unpaired surrogate")
    return found


def _raw_of(line: bytes, key: str, value: Any) -> bytes:
    """The exact bytes of a part; encoded again only if msgspec cannot decode the line."""
    try:
        return bytes(getattr(msgspec.json.decode(line, type=_RequestLine), key))
    except msgspec.DecodeError:
        return json.dumps(value).encode()


def _raw_of_answer(line: bytes, value: Any) -> bytes:
    try:
        return bytes(msgspec.json.decode(line, type=_AnswerLine).response.response)
    except msgspec.DecodeError:
        return json.dumps(value).encode()


def encode_message(fields: Mapping[str, Any]) -> Message:
    """Encode a conversation line; `fields` include `type`."""
    kind, subtype = fields.get("type", ""), fields.get("subtype", "")
    return Message(_encode(fields), kind, subtype if isinstance(subtype, str) else "")


def encode_request(id: str, subtype: str, fields: Mapping[str, Any]) -> Request:
    """Encode a control request."""
    body = {"subtype": subtype, **fields}
    return Request(_encode({"type": "control_request", "request_id": id, "request": body}), id, subtype, _encode(body))


def encode_success(id: str, payload: Mapping[str, Any] | None, beside: Mapping[str, Any] | None = None) -> Success:
    """Encode a successful answer: its payload, if any, and fields next to it."""
    body: Object = {"subtype": "success", **_named(id)}
    if payload is not None:
        body["response"] = payload
    if beside:
        body |= beside
    raw = _encode({"type": "control_response", "response": body})
    return Success(raw, id, b"" if payload is None else _encode(payload))


def encode_failure(id: str, error: str, code: str = "") -> Failure:
    """Encode the refusal of a request."""
    body: Object = {"subtype": "error", **_named(id), "error": error}
    if code:
        body["error_code"] = code
    return Failure(_encode({"type": "control_response", "response": body}), id, error, code)


def _named(id: str) -> Object:
    return id.named if isinstance(id, InternalId) else {"request_id": id}


def encode_cancel(id: str) -> CancelRequest:
    """Encode the withdrawal of a request."""
    return CancelRequest(_encode({"type": "control_cancel_request", "request_id": id}), id)
