"""What those see who may only look. In: events as clients get them. Out: them, without the machine behind. Pure.

They see the conversation: what was said, done, asked and answered, with the names that stand in it. They do not see how
this machine is set up: the folder, the CLI's own list of servers, plugins and tools, what hooks and processes wrote on
their way, which rules are in force.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

__all__ = ["for_viewers", "item_for_viewers"]

JsonObject = dict[str, Any]
_ALWAYS: Final = ("type", "subtype", "uuid", "session_id", "parent_tool_use_id")
_SYSTEM: Final = {"init": ("model", "permissionMode"), "hook_started": (), "hook_progress": (), "hook_response": ()}
"""Lines of the CLI about itself, and what is left of them."""


def for_viewers(items: bytes) -> bytes:
    """Items joined by commas, as they go into one frame."""
    return msgspec.json.encode([item_for_viewers(one) for one in msgspec.json.decode(b"[" + items + b"]")])[1:-1]


def item_for_viewers(item: JsonObject) -> JsonObject:
    """One event."""
    cut = _CUT.get(item["kind"])
    return item if cut is None or "data" not in item else {**item, "data": cut(item["data"])}


def _frame(line: JsonObject) -> JsonObject:
    kept = _SYSTEM.get(line.get("subtype", "")) if line.get("type") == "system" else None
    return line if kept is None else {name: line[name] for name in (*_ALWAYS, *kept) if name in line}


def _ending(told: JsonObject) -> JsonObject:
    """That something went wrong, not what the system said of it."""
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
