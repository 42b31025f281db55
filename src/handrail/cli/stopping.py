"""Signal handling of commands that run until they are stopped."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from typing import Final

__all__ = ["Stopping"]

ONE_WISH_SECONDS: Final = 0.5


class Stopping:
    """Stops once for each wish. Two signals at once are one: `make` passes on what its whole group was sent already."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop, self._first = stop, 0.0

    def listen(self) -> None:
        """From now on Ctrl-C and SIGTERM come here."""
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self)

    def __call__(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._first and now - self._first < ONE_WISH_SECONDS:
            return
        if self._first:  # what is interrupted from now on is expected
            logging.getLogger("uvicorn.error").disabled = True
        self._first = self._first or now
        self._stop()
