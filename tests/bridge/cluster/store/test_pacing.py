"""The shared retry gate and debounced work."""

from __future__ import annotations

import asyncio

from handrail.bridge.cluster.store.pacing import Debounced, RetryGate
from handrail.bridge.errors import BridgeError


async def test_gate_shuts_once_and_reopens_by_itself():
    gate = RetryGate()
    assert gate.is_open
    assert gate.shut()
    assert not gate.shut()
    assert not gate.is_open
    async with asyncio.timeout(5):
        await gate.wait()
    assert gate.is_open


async def test_opening_the_gate_releases_all_waiters():
    gate = RetryGate()
    waits: list[asyncio.Task[None]] = []
    for _ in range(3):
        gate.shut()
        waits.append(asyncio.create_task(gate.wait()))
        gate.open()
    async with asyncio.timeout(5):
        await asyncio.gather(*waits)
    gate.close()


async def test_requests_within_the_delay_run_once_and_closing_runs_the_last():
    done: list[int] = []
    ready = asyncio.Event()

    async def work() -> None:
        done.append(len(done))
        ready.set()

    debounced = Debounced(work, 0.001)
    for _ in range(5):
        debounced.request()
    async with asyncio.timeout(5):
        await ready.wait()
    assert done == [0]
    debounced.request()
    await debounced.close()
    assert done == [0, 1]


async def test_failed_run_is_logged_and_repeated_on_request():
    tries: list[int] = []
    ready = asyncio.Event()

    async def work() -> None:
        tries.append(1)
        if len(tries) == 1:
            ready.set()
            raise BridgeError("the store is full")

    debounced = Debounced(work, 0.001)
    debounced.request()
    async with asyncio.timeout(5):
        await ready.wait()
    await debounced.close()
    assert len(tries) == 2
