"""The time of day where the clock may be set meanwhile. In: nothing. Out: seconds since 1970, at least or at most.

Besides what the clock says, time is counted on from when the program began; time that the machine slept counts too,
where the system can tell. What happens is noted with the later of both, and how old it is goes by the earlier: so a
clock that is set, in whichever direction, makes nothing look old.
"""

from __future__ import annotations

import time
from typing import Final

__all__ = ["earliest_now", "latest_now", "since_boot"]


def since_boot() -> float:
    """Seconds that nobody can set: for how long something has been so. Time that the machine slept counts."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


_BEGUN: Final = time.time() - since_boot()


def earliest_now() -> float:
    """By this it is judged how old something is."""
    return min(time.time(), _BEGUN + since_boot())


def latest_now() -> float:
    """With this it is noted when something was."""
    return max(time.time(), _BEGUN + since_boot())
