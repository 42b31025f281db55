"""Creates session records: new ones, and ones imported from the transcripts of a CLI."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from handrail.bridge.commands.trust import Trust
from handrail.bridge.commands.workspace import Workspace
from handrail.bridge.errors import BridgeError, CommandRefused
from handrail.bridge.session.host import SessionHost
from handrail.bridge.session.sessions import Sessions
from handrail.bridge.session.terminal_sessions import TerminalSessions
from handrail.bridge.store.base import NewEvent, SessionRecord

__all__ = ["SessionImport"]

log = logging.getLogger("handrail.bridge")
MOST_AT_ONCE: Final = 1000
"""Transcripts imported when a store was lost; older ones are imported when a client asks for them."""


class SessionImport:
    """Adds sessions to the store."""

    def __init__(self, sessions: Sessions, terminal: TerminalSessions, workspace: Workspace, trust: Trust) -> None:
        self._sessions, self._terminal, self._workspace, self._trust = sessions, terminal, workspace, trust
        self._lock = asyncio.Lock()

    async def get(self, id: str) -> SessionHost:
        """The host of a session. A session of a CLI on this machine is imported first. Raises CommandRefused."""
        async with self._lock:  # two clients that ask at once get the same session
            if await self._sessions.index.get(id) is None:
                record, past = await self._terminal.import_session(id)
                self._workspace.checked_folder(record.cwd)
                trusted = self._trust.standing(record.cwd).trusted
                await self.begin(replace(record, trusted=trusted), past, new=False)
        return await self._sessions.get(id)

    async def begin(self, record: SessionRecord, past: Sequence[NewEvent] = (), *, new: bool = True) -> None:
        """Add a session; its past is persisted before the session appears. `new`: the id was created just now."""
        events = self._sessions.events
        if not await self._sessions.ownership.claim(record.id, new=new):
            raise CommandRefused("elsewhere", f"session {record.id} is being started on another machine")
        bounds = await events.bounds(record.id)
        if past and bounds.first > bounds.last:  # otherwise a server that was killed has already appended it
            await events.append(record.id, past)
            bounds = await events.bounds(record.id)
        await self._sessions.add(replace(record, settled=bounds.last))

    async def newest(self, cwd: str) -> str:
        """The id of the session most recently used in a folder, or ""."""
        ours = [one for one in await self._sessions.index.lines(words=cwd, limit=100_000) if one.cwd == cwd]
        theirs = await self._terminal.list(cwd, limit=1)
        newest = max((record.changed, record.id) for record in ours) if ours else (0, "")
        if theirs and round(theirs[0].modified.timestamp() * 1000) > newest[0] and theirs[0].id != newest[1]:
            return theirs[0].id
        return newest[1]

    async def rebuild(self) -> int:
        """Import the newest transcripts into a store that was lost. Returns how many sessions were imported."""
        count = 0
        for info in await self._terminal.list(limit=MOST_AT_ONCE):
            try:
                await self.get(info.id)
                count += 1
            except BridgeError as error:  # outside the roots, or unreadable
                log.info("session %s was not imported: %s", info.id, error)
        log.error("imported %d sessions from the CLI's transcripts", count)
        return count
