"""Notifications: a session needs an answer, has finished, ended or failed.

None are sent while a visible client shows the session or the list.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final, Literal, Protocol

from msgspec import Struct

from handrail.bridge.store.base import SessionRecord

__all__ = ["Kind", "News", "Notifications", "Watcher", "what_is_new"]

log = logging.getLogger("handrail.bridge")
Kind = Literal["needs_you", "finished", "ended", "failed"]
BUSY: Final = frozenset({"running", "waiting_approval", "compacting"})
MOST_UNDER_WAY: Final = 100


class News(Struct, frozen=True):
    """A notification. `time` is in milliseconds since 1970."""

    kind: Kind
    session: str
    title: str
    cwd: str
    time: int


class Watcher(Protocol):
    """A client that may show sessions."""

    def shows(self, session: str) -> bool:
        """Whether someone is looking at this session."""
        ...


Send = Callable[[News], Awaitable[None]]
_Stand = tuple[str, int]


def what_is_new(before: _Stand, now: _Stand) -> Kind | None:
    """The notification for a change of state and number of open questions, if any."""
    if now[1] > before[1]:
        return "needs_you"
    if now[0] == before[0]:
        return None
    if now[0] == "failed":
        return "failed"
    if before[0] not in BUSY:
        return None
    return "finished" if now[0] == "idle" else "ended" if now[0] == "hibernated" else None


class Notifications:
    """Compares each record with the previous one, and passes notifications to all senders."""

    def __init__(self, watchers: Collection[Watcher], senders: Collection[Send]) -> None:
        self._watchers, self._senders = watchers, senders
        self._sending: set[asyncio.Task[Any]] = set()

    def changed(self, record: SessionRecord, before: SessionRecord) -> None:
        """A session record changed. Changes found after a restart count too."""
        kind = what_is_new((before.state, before.questions), (record.state, record.questions))
        if kind is None or any(watcher.shows(record.id) for watcher in self._watchers):
            return
        news = News(kind, record.id, record.title, record.cwd, round(time.time() * 1000))
        for send in self._senders:
            if len(self._sending) < MOST_UNDER_WAY:
                task = asyncio.ensure_future(self._send(send, news))
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)

    async def _send(self, send: Send, news: News) -> None:
        try:
            await send(news)
        except Exception as error:  # a failed notification does not affect the session
            log.warning("cannot send a notification of session %s: %s", news.session, error)

    async def settled(self) -> None:
        """Wait until all notifications are sent or have failed."""
        while self._sending:
            await asyncio.wait(self._sending)

    async def close(self) -> None:
        """Cancel pending notifications and send no more."""
        self._senders = ()
        for task in self._sending:
            task.cancel()
        await self.settled()
