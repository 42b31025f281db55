"""The event log of a machine among many. In: what happens in its own sessions, questions about any. Out: events.

A session that this machine holds is read from its store, any other from NATS. Where sessions may move to another
machine, nobody is told of an event before NATS has it: neither whoever appends it nor whoever reads.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from handrail.bridge.cluster.store.outbox import Outbox
from handrail.bridge.errors import CommandRefused, Fenced
from handrail.bridge.store.base import Bounds, Event, EventLog, Hit, NewEvent, Receipt

__all__ = ["ClusterLog", "Holds"]

Search = Callable[[str, int, str | None], Awaitable[list[Hit]]]
"""Words, how many at most, and in which session: where they stand on all machines."""


class Holds(Protocol):
    """Knows what runs here."""

    def holds(self, session: str) -> bool:
        """Is it ours, now?"""
        ...


class ClusterLog:
    """Events of this machine and of all others. `moves`: its sessions may be taken up elsewhere."""

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
        """As any log does; CommandRefused("elsewhere") where it does not count because the session is not ours.

        That ends the session's process here, and tells a client that another machine may do what it asked for.
        """
        if not session or not events:  # a receipt alone belongs to whoever was asked
            return await self._local.append(session, events, receipt, time=time)
        if not self._ownership.holds(session) or self._outbox.is_fenced(session):
            raise CommandRefused("elsewhere", f"session {session} does not run here")
        added = await self._outbox.append(session, events, receipt, time=time)
        if self._moves:
            await self._until_published(session, added[-1].seq)
        return added

    async def _until_published(self, session: str, through: int) -> None:
        try:
            if await self._outbox.published(session, through):
                return
        except Fenced as fenced:
            raise CommandRefused("elsewhere", str(fenced)) from fenced
        why = f"NATS was away for too long: whether what was done in session {session} counts is not known yet"
        raise CommandRefused("unreachable", why)

    # Reading

    def _is_here(self, session: str) -> bool:
        return not session or self._ownership.holds(session) or session in self._outbox.unclaimed

    def _newest(self, session: str, last: int) -> int:
        """The number of the newest event that may be told."""
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
        """What a command was answered, if that counts. CommandRefused("elsewhere") where nobody knows now."""
        answer = await self._local.receipt(command)
        if answer is None:
            return None
        session, seq = await self._outbox.events_of(command)
        if not session or (not self._moves and not self._outbox.is_fenced(session)):
            return answer
        try:
            await self._until_published(session, seq)
        except CommandRefused:
            if self._outbox.is_fenced(session):  # what it made was undone with it
                return None
            raise
        return answer

    async def search(self, words: str, *, limit: int = 50, session: str | None = None) -> list[Hit]:
        if self._search is None:
            return await self._local.search(words, limit=limit, session=session)
        return await self._search(words, limit, session)

    # The end

    async def forget(self, session: str, *, through: int | None = None) -> None:
        """Give up events: of a session of ours everywhere, of any other what lies here."""
        if session and self._ownership.holds(session):
            await self._outbox.forget(session, through)
        else:
            await self._local.forget(session, through=through)

    async def close(self) -> None:
        await self._outbox.close()
