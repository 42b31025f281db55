"""A session store in memory, for tests and for short-lived programs."""

from __future__ import annotations

import json
import time
from typing import Any

from handrail.session_store.base import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
)
from handrail.session_store.summary import fold_session_summary

__all__ = ["InMemorySessionStore"]

_Place = tuple[str, str, str]
"""Project, session and subpath; the session's own transcript has the subpath ""."""


class InMemorySessionStore(SessionStore):
    """Entries in memory. They are held as JSON, so that neither the writer nor a reader can change them later."""

    def __init__(self) -> None:
        self._entries: dict[_Place, list[str]] = {}
        self._summaries: dict[tuple[str, str], SessionSummaryEntry] = {}
        self._last_time = 0

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        lines = [json.dumps(entry) for entry in entries]  # raises before anything has changed
        place = _place(key)
        if not place[2]:
            owner = place[:2]
            summary = fold_session_summary(self._summaries.get(owner), key, entries)
            self._summaries[owner] = {**summary, "mtime": self._next_time()}
        self._entries.setdefault(place, []).extend(lines)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        return self.get_entries(key) if _place(key) in self._entries else None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        return [
            {"session_id": session, "mtime": summary["mtime"]}
            for (project, session), summary in self._summaries.items()
            if project == project_key
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        found = [summary for (project, _), summary in self._summaries.items() if project == project_key]
        return [{**summary, "data": dict(summary["data"])} for summary in found]

    async def delete(self, key: SessionKey) -> None:
        project, session, subpath = _place(key)
        if subpath:
            self._entries.pop((project, session, subpath), None)
            return
        self._summaries.pop((project, session), None)
        for place in [place for place in self._entries if place[:2] == (project, session)]:
            del self._entries[place]

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        owner = key["project_key"], key["session_id"]
        return [place[2] for place in self._entries if place[:2] == owner and place[2]]

    # For tests

    def get_entries(self, key: SessionKey) -> list[SessionStoreEntry]:
        """The entries of a list; empty for an unknown key."""
        entries: list[Any] = [json.loads(line) for line in self._entries.get(_place(key), ())]
        return entries

    @property
    def size(self) -> int:
        """The number of sessions."""
        return len(self._summaries)

    def clear(self) -> None:
        """Delete everything."""
        self._entries.clear()
        self._summaries.clear()

    def _next_time(self) -> int:
        """The time in milliseconds, and always later than the last: the latest session must be found."""
        self._last_time = max(round(time.time() * 1000), self._last_time + 1)
        return self._last_time


def _place(key: SessionKey) -> _Place:
    return key["project_key"], key["session_id"], key.get("subpath", "")
