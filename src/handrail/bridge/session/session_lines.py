"""Old names of `SessionRecord.line`, `SessionLine.without_paths` and `title_of`."""

from __future__ import annotations

from handrail.bridge.session.host import title_of
from handrail.bridge.store.base import SessionLine, SessionRecord

__all__ = ["session_line", "title_of", "without_paths"]


def session_line(record: SessionRecord, *, paths: bool = True) -> SessionLine:
    """As `SessionRecord.line`."""
    return record.line(paths=paths)


def without_paths(line: SessionLine) -> SessionLine:
    """As `SessionLine.without_paths`."""
    return line.without_paths()
