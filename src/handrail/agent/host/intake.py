"""Reads lines of the host as the CLI does.

Invalid JSON, `null` and lines that a host must never send become a BadLine, which ends the session. Unknown types and
values that are not objects are ignored. Invalid UTF-8 becomes U+FFFD, and a byte order mark is skipped.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from typing import Any, Final, cast
from uuid import uuid4

from handrail.protocol import BadLine, Frame, KeepAlive, Request, decode
from handrail.protocol.frames import InternalId

__all__ = ["read_line"]

_PARSING: Final = "Error parsing streaming input line (type=unknown, {size} chars): {kind}"


def read_line(line: bytes) -> Frame:
    """Read one line."""
    line = line.removeprefix(BOM_UTF8)
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
    if kind == "control_request" and value.get("request") in (None, "", 0, False):
        return _bad(line, "Error: Missing request on control_request")
    if kind in ("control_request", "control_response", "control_cancel_request"):
        return _repaired(line, value)
    frame = decode(text.encode("utf-8", "replace"))
    return KeepAlive(line) if isinstance(frame, BadLine) else frame


def _repaired(line: bytes, value: dict[str, Any]) -> Frame:
    """A request without a usable id or subtype is still answered; an incomplete answer is ignored."""
    if value["type"] != "control_request":
        return KeepAlive(line)
    request = value["request"]
    asked = cast("dict[str, Any]", request) if isinstance(request, dict) else {}
    subtype = asked.get("subtype")
    named = {"request_id": value["request_id"]} if "request_id" in value else {}
    found = named.get("request_id")
    return Request(
        line,
        found if isinstance(found, str) else InternalId(str(uuid4()), **named),
        subtype if isinstance(subtype, str) else "undefined",
        json.dumps(asked).encode(),
    )


def _bad(line: bytes, why: str) -> BadLine:
    return BadLine(line, why, len(line))
