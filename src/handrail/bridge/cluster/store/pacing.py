"""Timing of writes: a retry gate shared by all sessions, commits shared by many of them, and debounced work."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from handrail.bridge.errors import BridgeError

__all__ = ["CommitPace", "Debounced", "RetryGate"]

log = logging.getLogger("handrail.bridge")
FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 1.0
"""Seconds."""
SECONDS_PER_SESSION: Final = 0.0025


class RetryGate:
    """Holds back every publisher while NATS does not answer, with exponential backoff.

    One outage stops all sessions alike, so they share one pause: a thousand sessions that retried independently would
    flood the server in the moment it returns.
    """

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._pause = FIRST_PAUSE
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        return self._open.is_set()

    async def wait(self) -> None:
        await self._open.wait()

    def shut(self) -> bool:
        """Close the gate after a failure; it reopens after the pause. Returns False if it was closed already."""
        if not self.is_open:
            return False
        self.close()
        self._open.clear()
        self._timer = asyncio.get_running_loop().call_later(self._pause, self._open.set)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        return True

    def reset_backoff(self) -> None:
        """Reset the backoff after a success."""
        self._pause = FIRST_PAUSE

    def open(self) -> None:
        """Release all waiting publishers now, for example because the connection was restored."""
        self.close()
        self._pause = FIRST_PAUSE
        self._open.set()

    def close(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class CommitPace:
    """Calls `commit` soon after a request, and leaves more time between commits the more sessions write.

    A commit on three servers costs nearly the same for one session as for twenty, so it pays to let sessions share one.
    Each session that wrote within the last second, except the first, adds SECONDS_PER_SESSION to the time between two
    commits, up to `longest`. A session that writes alone never waits, because it could not share a commit.
    """

    def __init__(self, commit: Callable[[], None], longest: float) -> None:
        self._commit, self._longest = commit, longest
        self._last = 0.0
        self._scheduled: asyncio.Handle | None = None
        self._writing: set[str] = set()
        self._wrote_before = 0
        self._second_ends = 0.0

    def request(self, session: str, *, urgent: bool = False) -> None:
        """Ask for a commit that includes what `session` has written; an urgent one does not wait for others."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        wait = 0.0 if urgent else self._last + self._spacing(session, now) - now
        if self._scheduled is not None:
            if not urgent:
                return
            self._scheduled.cancel()
        self._scheduled = loop.call_later(wait, self.commit_now) if wait > 0 else loop.call_soon(self.commit_now)

    def commit_now(self) -> None:
        """Commit without waiting any longer."""
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None
        self._last = asyncio.get_running_loop().time()
        self._commit()

    def _spacing(self, session: str, now: float) -> float:
        if now >= self._second_ends:
            self._wrote_before = len(self._writing) if now < self._second_ends + 1 else 0
            self._writing, self._second_ends = set(), now + 1
        self._writing.add(session)
        others = max(self._wrote_before, len(self._writing)) - 1
        return min(self._longest, others * SECONDS_PER_SESSION)


class Debounced:
    """Runs `work` once for all requests made within `seconds`, never concurrently with itself.

    A BridgeError raised by a timed run is logged; one raised by `now` or `close` propagates.
    """

    def __init__(self, work: Callable[[], Awaitable[None]], seconds: float) -> None:
        self._work, self._seconds = work, seconds
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._exclusive = asyncio.Lock()

    def request(self) -> None:
        """Schedule a run unless one is scheduled already."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._begin)

    async def now(self) -> None:
        """Run immediately, whether or not a run was requested."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        async with self._exclusive:
            await self._work()

    def _begin(self) -> None:
        self._timer = None
        self._task = asyncio.create_task(self._try())

    async def _try(self) -> None:
        try:
            await self.now()
        except BridgeError as error:
            log.error("background write failed: %s", error)

    async def close(self) -> None:
        """Wait for a run in progress, then run a last time."""
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task])
        await self.now()
