"""How a session ends. In: an engine, and a future that says it is to end at once. Out: the exit code.

However it ends, what runs is ended: the turn, the tasks, and every process that they started. Nobody is waited for
longer than a moment, so that a host that does not read what it is told cannot keep the process alive.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from handrail.agent.engine import Engine

__all__ = ["SIGNALS", "catch_signals", "live"]

SIGNALS: Final = {signal.SIGTERM: 143, signal.SIGHUP: 129}
"""Signals that end the process at once, and its exit code."""
LAST_WORDS: Final = 3.0
"""Seconds in which what is ended may say so."""


async def live(engine: Engine, stopped: asyncio.Future[int]) -> int:
    """Turns until nothing more can come, or until `stopped` has an exit code."""
    work = asyncio.create_task(engine.run(), name="handrail session")
    try:
        await asyncio.wait([work, stopped], return_when=asyncio.FIRST_COMPLETED)
        engine.ended = stopped.done()
        return stopped.result() if stopped.done() else work.result()
    finally:
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                if engine.turn is not None:
                    engine.ended = True
                    await engine.turn.give_up()
                    await asyncio.wait([work])
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                await engine.close()


def catch_signals(stop: Callable[[int], None]) -> None:
    """Have `stop` called with the exit code of a signal that ends the process."""
    loop = asyncio.get_running_loop()
    for number, code in SIGNALS.items():
        loop.add_signal_handler(number, stop, code)
