"""Where all wait together while NATS does not answer. In: that something failed, or worked. Out: when to try again."""

from __future__ import annotations

import asyncio
from typing import Final

__all__ = ["Gate"]

FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 1.0


class Gate:
    """Open, until something fails; then shut for a moment, which is longer each time until something works again."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._pause = FIRST_PAUSE
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        """May it be tried?"""
        return self._open.is_set()

    async def wait(self) -> None:
        """Until it may."""
        await self._open.wait()

    def shut(self) -> bool:
        """It did not work. Out: whether we are the first whom that happened to."""
        if not self.is_open:
            return False
        self.close()
        self._open.clear()
        self._timer = asyncio.get_running_loop().call_later(self._pause, self._open.set)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        return True

    def worked(self) -> None:
        """It did."""
        self._pause = FIRST_PAUSE

    def open(self) -> None:
        """Nobody needs to wait any longer."""
        self.close()
        self._pause = FIRST_PAUSE
        self._open.set()

    def close(self) -> None:
        """Nobody comes any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
