"""Something that is done a bit later, once for all who asked."""

from __future__ import annotations

import asyncio

from handrail.bridge.cluster.store.soon import Soon
from handrail.bridge.errors import BridgeError


async def test_many_who_ask_have_it_done_once_and_closing_does_what_is_left():
    done: list[int] = []
    ready = asyncio.Event()

    async def work() -> None:
        done.append(len(done))
        ready.set()

    soon = Soon(work, 0.001)
    for _ in range(5):
        soon.ask()
    async with asyncio.timeout(5):
        await ready.wait()
    assert done == [0]
    soon.ask()
    await soon.close()
    assert done == [0, 1]


async def test_what_fails_is_logged_and_done_again_when_it_is_asked_for():
    tries: list[int] = []
    ready = asyncio.Event()

    async def work() -> None:
        tries.append(1)
        if len(tries) == 1:
            ready.set()
            raise BridgeError("the store is full")

    soon = Soon(work, 0.001)
    soon.ask()
    async with asyncio.timeout(5):
        await ready.wait()
    await soon.close()
    assert len(tries) == 2
