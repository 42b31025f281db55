"""What a server says of itself, made harmless. In: names, descriptions and schemas as sent. Out: plain ones.

A description goes into the prompt of every turn and before a human's eyes, so what neither would see is taken out. A
name becomes part of `mcp__server__tool`, which rules are written for: no server may have a name that reads as
another's.
"""

from __future__ import annotations

import re
from typing import Any, Final, cast

__all__ = ["LONGEST_DESCRIPTION", "clean", "clean_schema", "server_key", "shortened", "tool_key"]

JsonObject = dict[str, Any]

LONGEST_DESCRIPTION: Final = 2048
LONGEST_NAME: Final = 64
LONGEST_FULL_NAME: Final = 128
"""What the Messages API takes."""
DEEPEST: Final = 40

_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]"
    "|[\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")
_TEXTS: Final = frozenset({"description", "title", "$comment"})


def clean(text: object, limit: int = LONGEST_DESCRIPTION) -> str:
    """Text without controls and invisible characters, cut at the limit; "" for what is no text."""
    return shortened(_UNSEEN.sub("", text), limit) if isinstance(text, str) else ""


def shortened(text: str, limit: int) -> str:
    """Text of at most so many characters; where it was longer it says so by an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def server_key(name: str) -> str:
    """A server's name as it stands in the names of its tools: never with `__`, which ends it there. "" for none."""
    key = re.sub("_{2,}", "_", _OTHER.sub("_", name)).strip("_")
    return key if len(key) <= LONGEST_NAME else ""


def tool_key(server: str, tool: object) -> str:
    """The whole name of a tool, such as `mcp__server__tool`. In: the server's key, the tool's name. "" for none."""
    if not isinstance(tool, str) or not 0 < len(tool) <= LONGEST_NAME:
        return ""
    name = f"mcp__{server}__{_OTHER.sub('_', tool)}"
    return name if len(name) <= LONGEST_FULL_NAME else ""


def clean_schema(schema: Any) -> JsonObject:
    """An input schema whose descriptions are clean, otherwise as it came; ValueError where the API would refuse it."""
    if not isinstance(schema, dict):
        raise ValueError("its input schema is no object")
    given = cast("JsonObject", schema)
    if given.get("type", "object") != "object":
        raise ValueError("its input schema does not describe an object")
    return {"type": "object", **cast("JsonObject", _cleaned(given, 0))}


def _cleaned(value: Any, depth: int) -> Any:
    if depth > DEEPEST:
        raise ValueError("its input schema is nested too deep")
    if isinstance(value, dict):
        entries = cast("JsonObject", value)
        return {
            key: clean(item) if key in _TEXTS and isinstance(item, str) else _cleaned(item, depth + 1)
            for key, item in entries.items()
        }
    if isinstance(value, list):
        return [_cleaned(item, depth + 1) for item in cast("list[Any]", value)]
    return value
