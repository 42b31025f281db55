"""Reads lines of the host as the CLI does.

Invalid JSON, `null` and lines that a host must never send become a BadLine, which ends the session. Unknown types and
values that are not objects are ignored. Invalid UTF-8 becomes U+FFFD.
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
    """Read one line."""
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
    return _read_odd(line, text, cast("dict[str, Any]", value))


def _read_odd(line: bytes, text: str, value: dict[str, Any]) -> Frame:
    """Read a line that is JSON but not a frame: it has invalid UTF-8, or is an incomplete control line."""
    kind = value.get("type")
    if kind == "control_request" and not isinstance(value.get("request"), dict):
        return _bad(line, "Error: Missing request on control_request")
    if kind in ("control_request", "control_response", "control_cancel_request"):
        return _repaired(line, value)
    frame = decode(text.encode("utf-8", "replace"))
    return KeepAlive(line) if isinstance(frame, BadLine) else frame


def _repaired(line: bytes, value: dict[str, Any]) -> Frame:
    """A request without an id or subtype is still answered; an incomplete answer is ignored."""
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
