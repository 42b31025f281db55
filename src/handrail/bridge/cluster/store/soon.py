"""Does something a bit later, once for all who asked. In: what, and after how many seconds. Out: done, or logged."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from handrail.bridge.errors import BridgeError

__all__ = ["Soon"]

log = logging.getLogger("handrail.bridge")


class Soon:
    """One thing that is done again and again, never twice at once."""

    def __init__(self, work: Callable[[], Awaitable[None]], seconds: float) -> None:
        self._work, self._seconds = work, seconds
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._alone = asyncio.Lock()

    def ask(self) -> None:
        """It is to be done."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._begin)

    async def now(self) -> None:
        """Do it now, whether anybody asked or not."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        async with self._alone:
            await self._work()

    def _begin(self) -> None:
        self._timer = None
        self._task = asyncio.create_task(self._try())

    async def _try(self) -> None:
        try:
            await self.now()
        except BridgeError as error:
            log.error("something could not be written down: %s", error)

    async def close(self) -> None:
        """Once more, and never again."""
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task])
        await self.now()
