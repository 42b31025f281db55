"""The time of day, bounded against changes of the system clock.

A second estimate counts from the start of the program and is not affected when the clock is set; on Linux it includes
the time the machine was suspended. Events are stamped with the later estimate and aged with the earlier one, so a
clock that is set forwards or backwards never makes anything look old enough to delete.
"""

from __future__ import annotations

import time
from typing import Final

from handrail.platform import seconds_since_boot

__all__ = ["earliest_now", "latest_now"]


_STARTED: Final = time.time() - seconds_since_boot()


def earliest_now() -> float:
    """Seconds since 1970, for measuring ages."""
    return min(time.time(), _STARTED + seconds_since_boot())


def latest_now() -> float:
    """Seconds since 1970, for timestamps."""
    return max(time.time(), _STARTED + seconds_since_boot())
