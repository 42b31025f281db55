"""Sessions in the lists of the early bridge protocol. In: the bridge. Out: rows, the one that was used last first."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from handrail.bridge.store.index_base import SessionRecord
from handrail.bridge.web.dialects.ccpocket_messages import STATUS
from handrail.transcripts import SessionInfo

if TYPE_CHECKING:
    from handrail.bridge.web.dialects.base import CcpocketBackend as Bridge

__all__ = ["active_sessions", "recent_sessions", "without_paths"]

JsonObject = dict[str, Any]
USUAL: Final = 20
MOST: Final = 500
LOOKED_THROUGH: Final = 100_000


def active_sessions(bridge: Bridge, followed: Iterable[SessionRecord]) -> list[JsonObject]:
    """Those with a process, and those that the client follows: one that hibernates is still its own."""
    records = {record.id: record for record in followed}
    records |= {host.record.id: host.record for host in bridge.sessions.running}
    return [_active(one) for one in sorted(records.values(), key=lambda one: one.changed, reverse=True)]


async def recent_sessions(
    bridge: Bridge, *, limit: int | None = None, offset: int | None = None, folder: str | None = None
) -> list[JsonObject]:
    """Ours and those that a CLI has on this machine, of one folder or of all."""
    first, real = offset or 0, _real(folder)
    end = first + min(USUAL if limit is None else limit, MOST)
    records = await bridge.sessions.index.list(archived=False, limit=end if real is None else LOOKED_THROUGH)
    rows = {one.id: _recent(one) for one in records if real is None or one.cwd == real}
    for info in await bridge.terminal.list(real, limit=end):
        if info.id not in rows and await bridge.sessions.index.get(info.id) is None:  # an archived one stays away
            rows[info.id] = _found(info)
    return sorted(rows.values(), key=lambda row: row["modified"], reverse=True)[first:end]


def without_paths(rows: list[JsonObject]) -> list[JsonObject]:
    """The same for those who may only look: of each folder its last name."""
    return [{**row, "projectPath": os.path.basename(row["projectPath"])} for row in rows]


def _real(folder: str | None) -> str | None:
    return None if folder is None else os.path.realpath(folder)


def _active(record: SessionRecord) -> JsonObject:
    return {
        "id": record.id,
        "projectPath": record.cwd,
        "claudeSessionId": record.conversation or record.id,
        "name": record.title,
        "status": STATUS[record.state],
        "model": record.model,
        "permissionMode": record.mode,
        "createdAt": _time(record.created),
        "lastActivityAt": _time(record.changed),
    }


def _recent(record: SessionRecord) -> JsonObject:
    return {
        "sessionId": record.id,
        "projectPath": record.cwd,
        "summary": record.title,
        "firstPrompt": record.title,
        "status": STATUS[record.state],
        "created": _time(record.created),
        "modified": _time(record.changed),
    }


def _found(info: SessionInfo) -> JsonObject:
    modified = round(info.modified.timestamp() * 1000)
    return {
        "sessionId": info.id,
        "projectPath": info.cwd or "",
        "summary": info.title,
        "firstPrompt": info.first_prompt or "",
        "status": "idle",
        "created": _time(round(info.created.timestamp() * 1000) if info.created else modified),
        "modified": _time(modified),
    }


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
