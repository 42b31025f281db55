"""A session as clients are shown it. In: its record. Out: a line, whole or without where it works; JSON."""

from __future__ import annotations

import os
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from handrail.bridge.store.base import SessionLine, SessionRecord

__all__ = ["session_item", "session_line", "title_of", "without_paths"]

_NAMES = SessionLine.__struct_fields__
_values = attrgetter(*_NAMES)


def session_line(record: SessionRecord, *, paths: bool = True) -> SessionLine:
    """What is shown of a session. Without `paths`: nothing that tells where on this machine it works."""
    line = SessionLine(**dict(zip(_NAMES, _values(record), strict=True)))
    return line if paths else without_paths(line)


def without_paths(line: SessionLine) -> SessionLine:
    """The same for those who may only look: of the folder its last name, of an error that there is one, no rules."""
    return replace(line, cwd=os.path.basename(line.cwd), error="failed" if line.error else "", lapsed=[])


def session_item(record: SessionRecord) -> bytes:
    """The same as an item of the list's feed."""
    return msgspec.json.encode({"session": session_line(record)})


def title_of(text: str) -> str:
    """What a session is called by the first words that were said in it."""
    return " ".join(text[:1000].split())[:80]
