"""Sessions that a CLI has on this machine. In: its transcripts. Out: lists, and a past to go on with."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.frame_text import frame_text
from handrail.bridge.store.events_base import NewEvent
from handrail.bridge.store.index_base import SessionRecord
from handrail.protocol import Message
from handrail.transcripts import SessionInfo, TranscriptError, find_session, list_sessions, read_session

__all__ = ["TerminalSessions"]


class TerminalSessions:
    """Those of `claude` and of our agent, wherever each keeps its own."""

    def homes(self) -> list[Path | None]:
        """Where transcripts are."""
        return [None, Path.home() / ".handrail"]

    async def list(self, cwd: str | None = None, *, limit: int = 50) -> list[SessionInfo]:
        """The newest ones, of one folder or of all."""
        return await asyncio.to_thread(self._list, cwd, limit)

    async def rows(self, limit: int) -> list[dict[str, Any]]:
        """The newest ones, as clients are shown them."""
        return [
            {"id": one.id, "cwd": one.cwd, "title": one.title, "changed": _milliseconds(one.modified)}
            for one in await self.list(limit=limit)
        ]

    def _list(self, cwd: str | None, limit: int) -> list[SessionInfo]:
        found = {info.id: info for home in self.homes() for info in list_sessions(cwd, limit=limit, config_home=home)}
        return sorted(found.values(), key=lambda info: info.modified, reverse=True)[:limit]

    async def import_session(self, id: str) -> tuple[SessionRecord, list[NewEvent]]:
        """A record for a session, and its past as events. CommandRefused where there is none."""
        return await asyncio.to_thread(self._import, id)

    def _import(self, id: str) -> tuple[SessionRecord, list[NewEvent]]:
        info, past = self._find(id)
        now = round(time.time() * 1000)
        record = SessionRecord(
            id=id,
            cwd=info.cwd or str(Path.home()),
            created=_milliseconds(info.created) or now,
            changed=now,
            conversation=id,
            title=info.title,
            state="hibernated",
        )
        return record, past

    async def past(self, id: str, *, through: str | None = None) -> list[NewEvent]:
        """What was said in a session, all of it or through a message; nothing where no CLI has it here."""
        try:
            _, past = await asyncio.to_thread(self._find, id, through)
        except CommandRefused:
            return []
        return past

    def _find(self, id: str, through: str | None = None) -> tuple[SessionInfo, list[NewEvent]]:
        for home in self.homes():
            try:
                info = find_session(id, config_home=home)
                said = read_session(info.path).messages
            except TranscriptError:
                continue
            ends = [n for n, entry in enumerate(said, 1) if entry.uuid == through]
            return info, [_event(entry.decode()) for entry in said[: ends[0] if ends else None]]
        raise CommandRefused("not_found", f"there is no session {id} on this machine")


def _event(fields: dict[str, Any]) -> NewEvent:
    """An entry of a transcript as the line that it once was."""
    kept = ("type", "message", "uuid", "timestamp", "toolUseResult", "isMeta", "isCompactSummary")
    line = {name: fields[name] for name in kept if name in fields}
    if "toolUseResult" in line:
        line["tool_use_result"] = line.pop("toolUseResult")
    data = msgspec.json.encode({**line, "parent_tool_use_id": None, "imported": True})
    return NewEvent("frame", data, frame_text(Message(data, str(line.get("type", "")), "")))


def _milliseconds(when: datetime | None) -> int:
    return round(when.timestamp() * 1000) if when else 0
