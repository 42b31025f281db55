"""Filters events for devices that have only the `view` scope. Pure.

Such a device sees the conversation: messages, tool calls, questions and answers, including the paths they mention. It
does not see how the machine is set up: the working folder, the CLI's MCP servers, plugins and tools, the output of
hooks and processes, or the permission rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

__all__ = ["for_viewers", "item_for_viewers"]

JsonObject = dict[str, Any]
_ALWAYS: Final = ("type", "subtype", "uuid", "session_id", "parent_tool_use_id")
_SYSTEM: Final = {"init": ("model", "permissionMode"), "hook_started": (), "hook_progress": (), "hook_response": ()}
"""System messages that describe the machine, and the fields that viewers see besides `_ALWAYS`."""
_REASON: Final = "the process ended"


def for_viewers(items: bytes) -> bytes:
    """Filter a comma-separated list of encoded events."""
    return msgspec.json.encode([item_for_viewers(item) for item in msgspec.json.decode(b"[" + items + b"]")])[1:-1]


def item_for_viewers(item: JsonObject) -> JsonObject:
    """Filter one event."""
    filter_data = _FILTERS.get(item["kind"])
    return item if filter_data is None or "data" not in item else {**item, "data": filter_data(item["data"])}


def _frame(line: JsonObject) -> JsonObject:
    kept = _SYSTEM.get(line.get("subtype", "")) if line.get("type") == "system" else None
    return line if kept is None else {name: line[name] for name in (*_ALWAYS, *kept) if name in line}


def _ending(data: JsonObject) -> JsonObject:
    """Replace error messages of the operating system, which contain paths and process output."""
    reasons = {name: _REASON for name in ("why", "error") if data.get(name)}
    errors = {"errors": [_REASON]} if "errors" in data else {}
    return {name: value for name, value in data.items() if name != "stderr"} | reasons | errors


def _lapsed(data: JsonObject) -> JsonObject:
    return {**data, **({"rules": []} if "rules" in data else {})}


_FILTERS: Final[Mapping[str, Callable[[JsonObject], JsonObject]]] = {
    "frame": _frame,
    "live": _frame,
    "state": _ending,
    "ended": _ending,
    "crashed": _ending,
    "lapsed": _lapsed,
}
