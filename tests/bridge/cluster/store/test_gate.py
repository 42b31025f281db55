"""Where all wait together while NATS does not answer."""

from __future__ import annotations

import asyncio

from handrail.bridge.cluster.store.gate import Gate


async def test_it_is_shut_once_for_all_and_opens_by_itself():
    gate = Gate()
    assert gate.is_open
    assert gate.shut()
    assert not gate.shut()
    assert not gate.is_open
    async with asyncio.timeout(5):
        await gate.wait()
    assert gate.is_open


async def test_whoever_waits_goes_on_at_once_when_all_is_well():
    gate = Gate()
    waits: list[asyncio.Task[None]] = []
    for _ in range(3):
        gate.shut()
        waits.append(asyncio.create_task(gate.wait()))
        gate.open()
    async with asyncio.timeout(5):
        await asyncio.gather(*waits)
    gate.close()
