"""Sessions that a CLI has on this machine outside of the bridge: listing, importing and deleting their transcripts."""

from __future__ import annotations

import asyncio
import contextlib
import time
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.reader import searchable_text
from handrail.bridge.store.base import NewEvent, SessionRecord
from handrail.schema.messages import read_message
from handrail.transcripts import (
    InvalidSessionId,
    SessionInfo,
    SessionNotFound,
    TranscriptError,
    delete_session,
    find_session,
    is_written_by_agent,
    legacy_home,
    list_sessions,
    locate,
    read_session,
    rename_session,
    search_path,
)

__all__ = ["Deleted", "TerminalSessions"]

Deleted = Literal["deleted", "kept", "none"]


class TerminalSessions:
    """The transcripts of `claude` and of the embedded agent, which write into the same folder."""

    def homes(self) -> list[Path | None]:
        """The config homes that hold transcripts: the CLI's, then the one that the embedded agent used in 0.1."""
        return [*search_path()]

    async def list(self, cwd: str | None = None, *, limit: int = 50) -> list[SessionInfo]:
        """The newest sessions, of one folder or of all."""
        return await asyncio.to_thread(self._list, cwd, limit)

    async def rows(self, limit: int) -> list[dict[str, Any]]:
        """The newest sessions as clients see them."""
        return [
            {"id": info.id, "cwd": info.cwd, "title": info.title, "changed": _milliseconds(info.modified)}
            for info in await self.list(limit=limit)
        ]

    def _list(self, cwd: str | None, limit: int) -> list[SessionInfo]:
        return list_sessions(cwd, limit=limit)

    async def import_session(self, id: str) -> tuple[SessionRecord, list[NewEvent]]:
        """A record for a session, and its transcript as events. CommandRefused without a transcript."""
        return await asyncio.to_thread(self._import, id)

    def _import(self, id: str) -> tuple[SessionRecord, list[NewEvent]]:
        info, past = self._find(id)
        modified = _milliseconds(info.modified) or round(time.time() * 1000)
        record = SessionRecord(
            id=id,
            cwd=info.cwd or str(Path.home()),
            created=_milliseconds(info.created) or modified,
            changed=modified,
            conversation=id,
            title=info.title,
            state="hibernated",
        )
        return record, past

    async def past(self, id: str, *, through: str | None = None) -> list[NewEvent]:
        """A session's transcript as events, all of it or through a message; empty without a transcript here."""
        try:
            _, past = await asyncio.to_thread(self._find, id, through)
        except CommandRefused:
            return []
        return past

    def _find(self, id: str, through: str | None = None) -> tuple[SessionInfo, list[NewEvent]]:
        for home in self.homes():
            try:
                info = find_session(id, config_home=home)
                entries = read_session(info.path).messages
            except TranscriptError:
                continue
            ends = [n for n, entry in enumerate(entries, 1) if entry.uuid == through]
            return info, [_event(entry.decode()) for entry in entries[: ends[0] if ends else None]]
        raise CommandRefused("not_found", f"transcript of session {id} not found on this machine")

    async def rename(self, record: SessionRecord, title: str) -> None:
        """Give the transcript the same title, so that other lists of sessions show it too."""
        with contextlib.suppress(TranscriptError, OSError):  # there is none before the first message
            await asyncio.to_thread(rename_session, record.conversation or record.id, title)

    async def delete(self, record: SessionRecord, *, asked: bool) -> Deleted:
        """Delete the transcripts of a session. Raises CommandRefused if one cannot be deleted.

        A transcript that only the embedded agent wrote is useless without its session and always deleted. One that has
        messages of the real CLI belongs to the user's terminal too and is deleted only when `asked`.
        """
        return await asyncio.to_thread(self._delete, record, asked)

    def _delete(self, record: SessionRecord, asked: bool) -> Deleted:  # noqa: FBT001
        found: Deleted = "none"
        for home in self.homes():
            for id in dict.fromkeys(filter(None, (record.id, record.conversation))):
                if not asked and not _is_of_agent(id, home):
                    found = "kept" if found == "none" and _exists(id, home) else found
                elif _deleted(id, home):
                    found = "deleted"
        return found


def _event(fields: dict[str, Any]) -> NewEvent:
    """A transcript entry as the line that the CLI wrote for it."""
    kept = ("type", "message", "uuid", "timestamp", "toolUseResult", "isMeta", "isCompactSummary")
    line = {name: fields[name] for name in kept if name in fields}
    if "toolUseResult" in line:
        line["tool_use_result"] = line.pop("toolUseResult")
    data = msgspec.json.encode({**line, "parent_tool_use_id": None, "imported": True})
    return NewEvent("frame", data, searchable_text(read_message(str(line.get("type", "")), "", data)))


def _exists(id: str, home: Path | None) -> bool:
    try:
        return locate(id, home).path.exists()
    except TranscriptError:
        return False


def _is_of_agent(id: str, home: Path | None) -> bool:
    if home == legacy_home():
        return True
    try:
        return is_written_by_agent(id, config_home=home)
    except TranscriptError:
        return False


def _deleted(id: str, home: Path | None) -> bool:
    try:
        delete_session(id, config_home=home)
    except (SessionNotFound, InvalidSessionId):
        return False
    except TranscriptError as error:
        raise CommandRefused("failed", f"the transcript was not deleted, so the session was kept: {error}") from None
    return True


def _milliseconds(when: datetime | None) -> int:
    return round(when.timestamp() * 1000) if when else 0
