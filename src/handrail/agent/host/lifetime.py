"""The end of a session: by itself, by a signal, or because the host asked for it.

However it ends, the running turn, the background tasks and all their processes are ended too. No wait here is longer
than LAST_WORDS, so a host that does not read its lines cannot keep the process alive.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from handrail.agent.base import Brain

__all__ = ["SIGNALS", "catch_signals", "live"]

SIGNALS: Final = {signal.SIGTERM: 143, signal.SIGHUP: 129}
"""Signals that end the process at once, and the exit code of each."""
LAST_WORDS: Final = 3.0
"""Seconds that interrupted work has to report its end."""


async def live(brain: Brain, stopped: asyncio.Future[int]) -> int:
    """Run turns until nothing more can come, or until `stopped` has an exit code."""
    work = asyncio.create_task(brain.run(), name="handrail session")
    try:
        await asyncio.wait([work, stopped], return_when=asyncio.FIRST_COMPLETED)
        return stopped.result() if stopped.done() else work.result()
    finally:
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                if await brain.give_up():
                    await asyncio.wait([work])
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                await brain.close()


def catch_signals(stop: Callable[[int], None]) -> None:
    """Call `stop` with the exit code of a signal that ends the process."""
    loop = asyncio.get_running_loop()
    for number, code in SIGNALS.items():
        loop.add_signal_handler(number, stop, code)
