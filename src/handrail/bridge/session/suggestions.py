"""What may be granted together with an answer. In: a request of the CLI. Out: its suggestions in words, and by place.

The words say how much each would allow; they are made by the permission engine from the rule as it is read. What it
would not carry out, and the mode that asks for nothing, is not offered and cannot be chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from handrail.client.callbacks import PermissionRequest
from handrail.permissions.breadth import update_breadth
from handrail.schema.permission_types import PermissionUpdate, read_suggestions

__all__ = ["DESTINATIONS", "offered", "suggestions_of"]

JsonObject = dict[str, Any]
DESTINATIONS: Final = ("session", "localSettings", "projectSettings", "userSettings")
MOST: Final = 10
LONGEST: Final = 4096
"""Bytes of all together. More nobody reads before granting it, and to understand it would hold up all others."""
_FOR_NOW: Final[Mapping[str, tuple[str, ...]]] = {"setMode": ("session",)}
"""A mode that an answer sets ends with the session: it is not written into anybody's settings."""


def suggestions_of(asked: PermissionRequest) -> list[JsonObject]:
    """The suggestions as they came, by their places."""
    raw = bytes(asked.suggestions_raw)
    found: Any = msgspec.json.decode(raw) if raw else []
    entries = cast("list[Any]", found) if isinstance(found, list) else []
    return [cast("JsonObject", entry) for entry in entries if isinstance(entry, dict)]


def offered(asked: PermissionRequest) -> list[JsonObject]:
    """Those that may be granted: which place each has, what it would allow, and for how long that can be."""
    shown: list[JsonObject] = []
    room = LONGEST
    for index, one in enumerate(suggestions_of(asked)[:MOST]):
        raw = msgspec.json.encode([one])
        if len(raw) > room:
            continue
        room -= len(raw)
        (update,) = read_suggestions(raw)
        words = update_breadth(update) if isinstance(update, PermissionUpdate) else ""
        if isinstance(update, PermissionUpdate) and words:
            places = _FOR_NOW.get(update.type, DESTINATIONS)
            suggested = update.destination if update.destination in places else places[0]
            shown.append({"index": index, "words": words, "destinations": list(places), "suggested": suggested})
    return shown
