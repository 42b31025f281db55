"""How often a CLI has ended by itself. In: that it did. Out: whether to try again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

__all__ = ["CRASHES", "CRASH_WINDOW", "Crashes"]

CRASHES: Final = 3
CRASH_WINDOW: Final = 60.0


class Crashes:
    """The last crashes of one session."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._times: deque[float] = deque(maxlen=CRASHES)

    def note(self) -> None:
        """One more."""
        self._times.append(self._clock())

    @property
    def too_many(self) -> bool:
        """Were there so many of late that another try is of no use?"""
        return len(self._times) == CRASHES and self._clock() - self._times[0] < CRASH_WINDOW
