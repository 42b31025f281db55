"""Cancelling tasks that swallow a cancellation."""

from __future__ import annotations

import asyncio
import contextlib

from handrail.bridge.cluster.leases.ending import end_tasks


async def test_task_that_swallows_a_cancellation_is_cancelled_again():
    missed = 0

    async def misses() -> None:
        nonlocal missed
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            missed += 1
            if missed == 2:
                raise ValueError("its own")

    async def over() -> None:
        return

    tasks = [asyncio.create_task(misses()), asyncio.create_task(over()), None]
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await end_tasks(tasks)
        await end_tasks([])
    assert missed == 2
    assert isinstance(tasks[0] and tasks[0].exception(), ValueError)
