"""A clock that is moved from outside, for a whole process. In: the file `clock` and SIGUSR1. Out: both times, moved.

`clock` holds seconds: `{"steady": 60, "wall": 0}`. Steady time is that of timers and waits; wall time is what the day
says. What a program waits for is due at once when the steady time has been moved past it. To be imported before all
that asks for the time: some ask when they are loaded which clock there is.
"""

from __future__ import annotations

import asyncio
import json
import signal
import time
from pathlib import Path

__all__ = ["MovedLoop", "follow", "steady"]

_moved = {"steady": 0.0, "wall": 0.0}
_real_wall, _real_steady = time.time, time.monotonic


def steady() -> float:
    """Seconds from any moment."""
    return _real_steady() + _moved["steady"]


def _wall() -> float:
    return _real_wall() + _moved["wall"]


time.time = _wall


class MovedLoop(asyncio.SelectorEventLoop):
    """A loop whose timers go by the steady time."""

    def time(self) -> float:
        return steady()


def follow(folder: Path) -> None:
    """From now on a signal moves the clock. That it was moved stands in `clock-moved`."""

    def move() -> None:
        text = (folder / "clock").read_text()
        _moved.update(json.loads(text))
        (folder / "clock-moved").write_text(text)

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, move)
