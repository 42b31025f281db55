"""Two transports joined in memory, beyond the conformance suite."""

from __future__ import annotations

import asyncio

import pytest

from handrail.transport.base import TransportClosed
from handrail.transport.memory import HIGH_WATER, memory_pair


async def test_chunks_may_be_joined():
    near, far = memory_pair()
    await near.start()
    await near.send(b"one\n")
    await near.send(b"two\n")
    assert await far.receive() == b"one\ntwo\n"


async def test_sender_waits_while_too_much_is_unread():
    near, far = memory_pair()
    await near.send(b"x" * HIGH_WATER)
    sending = asyncio.create_task(near.send(b"y"))
    await asyncio.sleep(0)
    assert not sending.done()
    assert len(await far.receive()) == HIGH_WATER + 1
    async with asyncio.timeout(10):
        await sending


@pytest.mark.parametrize("closer", ["near", "far"])
async def test_waiting_sender_is_woken_by_close(closer: str):
    near, far = memory_pair()
    sending = asyncio.create_task(near.send(b"x" * (HIGH_WATER + 1)))
    await asyncio.sleep(0)
    await {"near": near, "far": far}[closer].close()
    async with asyncio.timeout(10):
        with pytest.raises(TransportClosed, match="closed before it was read"):
            await sending


async def test_data_sent_before_close_is_received():
    near, far = memory_pair()
    await near.send(b"last words\n")
    await near.close()
    assert [await far.receive(), await far.receive()] == [b"last words\n", b""]
