"""Filters events for viewers, the devices with the scope `view` only.

Viewers see the conversation: messages, tool calls, questions and answers, with the file names they contain. They do not
see the setup of the machine: the folder, the CLI's lists of servers, plugins and tools, the output of hooks and
processes, the permission rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

__all__ = ["for_viewers", "item_for_viewers"]

JsonObject = dict[str, Any]
_ALWAYS: Final = ("type", "subtype", "uuid", "session_id", "parent_tool_use_id")
_SYSTEM: Final = {"init": ("model", "permissionMode"), "hook_started": (), "hook_progress": (), "hook_response": ()}
"""System messages of the CLI, and the fields that remain."""


def for_viewers(items: bytes) -> bytes:
    """Filter items that are joined by commas, as in a frame."""
    return msgspec.json.encode([item_for_viewers(one) for one in msgspec.json.decode(b"[" + items + b"]")])[1:-1]


def item_for_viewers(item: JsonObject) -> JsonObject:
    """Filter one event."""
    cut = _CUT.get(item["kind"])
    return item if cut is None or "data" not in item else {**item, "data": cut(item["data"])}


def _frame(line: JsonObject) -> JsonObject:
    kept = _SYSTEM.get(line.get("subtype", "")) if line.get("type") == "system" else None
    return line if kept is None else {name: line[name] for name in (*_ALWAYS, *kept) if name in line}


def _ending(told: JsonObject) -> JsonObject:
    """Keep that the process ended, and drop the system's message."""
    words = {name: "the process ended" for name in ("why", "error") if told.get(name)}
    errors = {"errors": ["the process ended"]} if "errors" in told else {}
    return {name: value for name, value in told.items() if name != "stderr"} | words | errors


def _lapsed(told: JsonObject) -> JsonObject:
    return {**told, **({"rules": []} if "rules" in told else {})}


_CUT: Final[Mapping[str, Callable[[JsonObject], JsonObject]]] = {
    "frame": _frame,
    "live": _frame,
    "state": _ending,
    "ended": _ending,
    "crashed": _ending,
    "lapsed": _lapsed,
}
