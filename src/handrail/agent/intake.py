"""Lines of the host, read as the CLI reads them. In: a line. Out: a frame; a BadLine ends the session.

What is no JSON, what is `null`, and what a host must never send end it. Unknown types and values that are no objects
are passed over. Bytes that are no UTF-8 become U+FFFD.
"""

from __future__ import annotations

import json
from typing import Any, Final, cast
from uuid import uuid4

from handrail.protocol import BadLine, Frame, KeepAlive, Request, decode
from handrail.protocol.frames import Unnamed

__all__ = ["read_line"]

_PARSING: Final = "Error parsing streaming input line (type=unknown, {size} chars): {kind}"


def read_line(line: bytes) -> Frame:
    """One line of the host."""
    frame = decode(line)
    if isinstance(frame, Request):
        return frame if b'"request"' in line else _bad(line, "Error: Missing request on control_request")
    if not isinstance(frame, BadLine):
        return frame
    text = line.decode("utf-8", "replace")
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return _bad(line, _PARSING.format(size=len(text), kind="SyntaxError"))
    if value is None:
        return _bad(line, _PARSING.format(size=len(text), kind="TypeError"))
    if not isinstance(value, dict):
        return KeepAlive(line)
    return _again(line, text, cast("dict[str, Any]", value))


def _again(line: bytes, text: str, value: dict[str, Any]) -> Frame:
    """A line that is JSON after all: with odd bytes, or a control line that is not whole."""
    kind = value.get("type")
    if kind == "control_request" and not isinstance(value.get("request"), dict):
        return _bad(line, "Error: Missing request on control_request")
    if kind in ("control_request", "control_response", "control_cancel_request"):
        return _mended(line, value)
    frame = decode(text.encode("utf-8", "replace"))
    return KeepAlive(line) if isinstance(frame, BadLine) else frame


def _mended(line: bytes, value: dict[str, Any]) -> Frame:
    """A request without an id or subtype is still answered; an answer that says nothing is passed over."""
    request = value.get("request")
    if not isinstance(request, dict):
        return KeepAlive(line)
    asked = cast("dict[str, Any]", request)
    subtype = asked.get("subtype")
    found = value.get("request_id")
    return Request(
        line,
        found if isinstance(found, str) else Unnamed(uuid4()),
        subtype if isinstance(subtype, str) else "undefined",
        json.dumps(asked).encode(),
    )


def _bad(line: bytes, why: str) -> BadLine:
    return BadLine(line, why, len(line))
