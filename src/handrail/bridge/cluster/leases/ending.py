"""Cancels tasks that wait for NATS.

One cancellation is not always enough: nats-py waits with `asyncio.wait_for`, and in Python 3.11 that returns the answer
and swallows the cancellation if both arrive in the same iteration of the event loop. The task then keeps running.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final

__all__ = ["end_tasks"]

_RETRY: Final = 0.2
"""Seconds between two cancellations of the same task."""


async def end_tasks(tasks: Iterable[asyncio.Task[Any] | None]) -> None:
    """Cancel tasks until all are done. Their exceptions are left in them; None and finished tasks are ignored."""
    left = {task for task in tasks if task is not None and not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_RETRY)
