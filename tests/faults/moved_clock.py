"""Moves the clocks of a whole process from outside, by the file `clock` and SIGUSR1.

`clock` contains offsets in seconds: `{"steady": 60, "wall": 0}`. Timers use the steady time; wall time is the time of
day. Timers are due at once when the steady time is moved past them. Import this module before all others: some bind the
clock function when they are loaded.
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
    """The monotonic time, with the offset."""
    return _real_steady() + _moved["steady"]


def _wall() -> float:
    return _real_wall() + _moved["wall"]


time.time = _wall


class MovedLoop(asyncio.SelectorEventLoop):
    """An event loop whose timers use the steady time."""

    def time(self) -> float:
        return steady()


def follow(folder: Path) -> None:
    """Move the clocks on SIGUSR1 and confirm it in the file `clock-moved`."""

    def move() -> None:
        text = (folder / "clock").read_text()
        _moved.update(json.loads(text))
        (folder / "clock-moved").write_text(text)

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, move)
