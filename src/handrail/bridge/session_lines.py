"""A session as clients are shown it. In: its record. Out: JSON."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from handrail.bridge.session_index.base import SessionRecord

__all__ = ["session_fields", "session_item", "without_paths"]

_SHOWN = (
    "id cwd created changed conversation title state model mode archived trusted cost questions error lapsed"
).split()


def session_fields(record: SessionRecord, *, paths: bool = True) -> dict[str, Any]:
    """What is shown of a session. Without `paths`: nothing that tells where on this machine it works."""
    fields = {name: getattr(record, name) for name in _SHOWN}
    return fields if paths else without_paths(fields)


def without_paths(fields: dict[str, Any]) -> dict[str, Any]:
    """The same for those who may only look: of the folder its last name, of an error that there is one."""
    return {**fields, "cwd": os.path.basename(fields["cwd"]), "error": "failed" if fields["error"] else ""}


def session_item(record: SessionRecord) -> bytes:
    """The same as an item of the list's feed."""
    return msgspec.json.encode({"session": session_fields(record)})
