"""Rows of `session_list` and `recent_sessions`, most recent first."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from handrail.bridge.store.base import SessionRecord
from handrail.bridge.web.dialects.base import CcpocketBackend
from handrail.bridge.web.dialects.ccpocket.translation import STATUS
from handrail.files.resolve import real_path
from handrail.transcripts import SessionInfo

__all__ = ["active_sessions", "recent_sessions", "without_paths"]

JsonObject = dict[str, Any]
DEFAULT_LIMIT: Final = 20
MAX_LIMIT: Final = 500
MAX_SCANNED: Final = 100_000
"""Records searched for one folder; the index cannot filter by folder."""


def active_sessions(backend: CcpocketBackend, followed: Iterable[SessionRecord]) -> list[JsonObject]:
    """Sessions with a process and sessions that the client follows, hibernated or not."""
    records = {record.id: record for record in followed}
    records |= {session.record.id: session.record for session in backend.sessions.running}
    return [_active_row(one) for one in sorted(records.values(), key=lambda one: one.changed, reverse=True)]


async def recent_sessions(
    backend: CcpocketBackend, *, limit: int | None = None, offset: int | None = None, folder: str | None = None
) -> list[JsonObject]:
    """Sessions of the server and of CLIs in terminals, in one folder or in all. Archived sessions are left out."""
    index, first = backend.sessions.index, offset or 0
    end = first + min(DEFAULT_LIMIT if limit is None else limit, MAX_LIMIT)
    real = _real_path(folder)
    records = await index.list(archived=False, limit=end if real is None else MAX_SCANNED)
    rows = {one.id: _recent_row(one) for one in records if real is None or one.cwd == real}
    for info in await backend.terminal.list(real, limit=end):
        if info.id not in rows and await index.get(info.id) is None:  # an archived session has a record
            rows[info.id] = _terminal_row(info)
    return sorted(rows.values(), key=lambda row: row["modified"], reverse=True)[first:end]


def without_paths(rows: list[JsonObject]) -> list[JsonObject]:
    """The rows for view-only devices: each path is reduced to the folder's name."""
    return [{**row, "projectPath": os.path.basename(row["projectPath"])} for row in rows]


def _real_path(folder: str | None) -> str | None:
    return None if folder is None else real_path(folder)


def _active_row(record: SessionRecord) -> JsonObject:
    return {
        "id": record.id,
        "projectPath": record.cwd,
        "claudeSessionId": record.conversation or record.id,
        "name": record.title,
        "status": STATUS[record.state],
        "model": record.model,
        "permissionMode": record.mode,
        "createdAt": _iso(record.created),
        "lastActivityAt": _iso(record.changed),
    }


def _recent_row(record: SessionRecord) -> JsonObject:
    return {
        "sessionId": record.id,
        "projectPath": record.cwd,
        "summary": record.title,
        "firstPrompt": record.title,
        "status": STATUS[record.state],
        "created": _iso(record.created),
        "modified": _iso(record.changed),
    }


def _terminal_row(info: SessionInfo) -> JsonObject:
    modified = round(info.modified.timestamp() * 1000)
    return {
        "sessionId": info.id,
        "projectPath": info.cwd or "",
        "summary": info.title,
        "firstPrompt": info.first_prompt or "",
        "status": "idle",
        "created": _iso(round(info.created.timestamp() * 1000) if info.created else modified),
        "modified": _iso(modified),
    }


def _iso(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
