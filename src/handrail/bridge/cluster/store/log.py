"""The event log of a machine in a cluster.

Sessions that this machine holds are read from its store, all others from NATS. If sessions may move to another machine,
an event is acknowledged and readable only after NATS has it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from handrail.bridge.cluster.store.outbox import Outbox
from handrail.bridge.errors import CommandRefused, Fenced
from handrail.bridge.store.base import Bounds, Event, EventLog, Hit, NewEvent, Receipt

__all__ = ["ClusterLog", "Holds"]

Search = Callable[[str, int, str | None], Awaitable[list[Hit]]]
"""Searches all machines: words, maximum number of hits, and optionally one session."""


class Holds(Protocol):
    """Knows which sessions this machine owns."""

    def holds(self, session: str) -> bool:
        """Whether this machine certainly owns the session now."""
        ...


class ClusterLog:
    """Events of all machines. `moves`: other machines may take over this machine's sessions."""

    def __init__(
        self,
        local: EventLog,
        remote: EventLog,
        outbox: Outbox,
        ownership: Holds,
        *,
        moves: bool,
        search: Search | None = None,
    ) -> None:
        self._local, self._remote, self._outbox, self._ownership = local, remote, outbox, ownership
        self._moves, self._search = moves, search

    async def append(
        self, session: str, events: Sequence[NewEvent], receipt: Receipt | None = None, *, time: int | None = None
    ) -> list[Event]:
        """Append as every log does. Raises CommandRefused("elsewhere") if another machine owns the session.

        That error ends the session's process here, and lets the client send its command to the other machine.
        """
        if not session or not events:  # a receipt without events belongs to the machine that answered
            return await self._local.append(session, events, receipt, time=time)
        added = await self.append_local(session, events, receipt, time=time)
        await self.wait_published(session, added[-1].seq)
        return added

    async def append_local(
        self,
        session: str,
        events: Sequence[NewEvent],
        receipt: Receipt | None = None,
        *,
        time: int | None = None,
        also: Callable[[sqlite3.Connection], None] | None = None,
    ) -> list[Event]:
        """The first half of `append`: check ownership and commit to the store, with `also` in the same transaction."""
        if not self._ownership.holds(session) or self._outbox.is_fenced(session):
            raise CommandRefused("elsewhere", f"session {session} does not run on this machine")
        return await self._outbox.append(session, events, receipt, time=time, also=also)

    async def wait_published(self, session: str, through: int) -> None:
        """The second half of `append`: where sessions move, wait until NATS has event `through`."""
        if self._moves:
            await self._until_published(session, through)

    async def _until_published(self, session: str, through: int) -> None:
        try:
            if await self._outbox.published(session, through):
                return
        except Fenced as fenced:
            raise CommandRefused("elsewhere", str(fenced)) from fenced
        why = f"NATS was unreachable for too long; it is unknown whether the last change of session {session} is valid"
        raise CommandRefused("unreachable", why)

    # Reading

    def _is_here(self, session: str) -> bool:
        return not session or self._ownership.holds(session) or session in self._outbox.unclaimed

    def _newest(self, session: str, last: int) -> int:
        """Number of the newest event that may be read, at most `last`."""
        known = self._outbox.has(session) if self._moves else None
        return last if known is None else min(last, known)

    async def read(self, session: str, after: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        if not self._is_here(session):
            return await self._remote.read(session, after, limit=limit, most_bytes=most_bytes)
        found = await self._local.read(session, after, limit=limit, most_bytes=most_bytes)
        newest = self._newest(session, found[-1].seq) if found else 0
        return found if not found or found[-1].seq <= newest else [one for one in found if one.seq <= newest]

    async def read_back(self, session: str, before: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        if not self._is_here(session):
            return await self._remote.read_back(session, before, limit=limit, most_bytes=most_bytes)
        end = min(before, self._newest(session, before - 1) + 1)
        return await self._local.read_back(session, end, limit=limit, most_bytes=most_bytes)

    async def bounds(self, session: str) -> Bounds:
        if not self._is_here(session):
            return await self._remote.bounds(session)
        found = await self._local.bounds(session)
        return Bounds(found.first, self._newest(session, found.last))

    async def size(self, session: str) -> int:
        if not self._is_here(session):
            return await self._remote.size(session)
        return await self._local.size(session)

    async def receipt(self, command: str) -> bytes | None:
        """The answer of a command if its events are valid. Raises CommandRefused while that is unknown."""
        answer = await self._local.receipt(command)
        if answer is None:
            return None
        session, seq = await self._outbox.events_of(command)
        if not session or (not self._moves and not self._outbox.is_fenced(session)):
            return answer
        try:
            await self._until_published(session, seq)
        except CommandRefused:
            if self._outbox.is_fenced(session):  # the events of the command are void, and so is its answer
                return None
            raise
        return answer

    async def search(self, words: str, *, limit: int = 50, session: str | None = None) -> list[Hit]:
        if self._search is None:
            return await self._local.search(words, limit=limit, session=session)
        return await self._search(words, limit, session)

    # Deleting

    async def forget(self, session: str, *, through: int | None = None) -> None:
        """Delete events: of a session of this machine everywhere, of any other only the local copy."""
        if session and self._ownership.holds(session):
            await self._outbox.forget(session, through)
        else:
            await self._local.forget(session, through=through)

    async def close(self) -> None:
        await self._outbox.close()
