"""Two transports joined in memory, beside what the conformance suite asks of every one."""

from __future__ import annotations

import asyncio

import pytest

from handrail.transport.base import TransportClosed
from handrail.transport.memory import HIGH_WATER, memory_pair


async def test_what_was_sent_in_pieces_may_be_received_in_one():
    near, far = memory_pair()
    await near.start()
    await near.send(b"one\n")
    await near.send(b"two\n")
    assert await far.receive() == b"one\ntwo\n"


async def test_a_sender_waits_while_nobody_reads_too_much():
    near, far = memory_pair()
    await near.send(b"x" * HIGH_WATER)
    sending = asyncio.create_task(near.send(b"y"))
    await asyncio.sleep(0)
    assert not sending.done()
    assert len(await far.receive()) == HIGH_WATER + 1
    async with asyncio.timeout(10):
        await sending


@pytest.mark.parametrize("closer", ["near", "far"])
async def test_a_sender_that_waits_learns_that_an_end_has_closed(closer: str):
    near, far = memory_pair()
    sending = asyncio.create_task(near.send(b"x" * (HIGH_WATER + 1)))
    await asyncio.sleep(0)
    await {"near": near, "far": far}[closer].close()
    async with asyncio.timeout(10):
        with pytest.raises(TransportClosed, match="closed before it was read"):
            await sending


async def test_what_was_sent_before_closing_is_still_received():
    near, far = memory_pair()
    await near.send(b"last words\n")
    await near.close()
    assert [await far.receive(), await far.receive()] == [b"last words\n", b""]
