"""Ends tasks that talk to NATS. In: tasks. Out: once they are over.

Where an answer comes in the same moment, Python 3.11's `asyncio.wait_for`, by which nats-py waits, gives the answer and
keeps the cancellation to itself: the task goes on. So whoever waits for the end of one says it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final

__all__ = ["end_tasks"]

_AGAIN: Final = 0.2
"""Seconds."""


async def end_tasks(tasks: Iterable[asyncio.Task[Any] | None]) -> None:
    """Cancel them, as often as it takes. What they raised is theirs."""
    left = {task for task in tasks if task is not None and not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_AGAIN)
