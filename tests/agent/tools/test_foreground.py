from __future__ import annotations

import asyncio

import pytest

from handrail.agent.tools.foreground import Foreground, MovedToBackground


async def test_work_that_ends_returns_its_result() -> None:
    foreground = Foreground()
    work = asyncio.create_task(asyncio.sleep(0, "done"))
    assert await foreground.wait(work, "a") == "done"
    assert foreground.move() == []


async def test_work_that_fails_raises_its_error() -> None:
    async def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await Foreground().wait(asyncio.create_task(fail()), "a")


async def test_moved_work_continues() -> None:
    foreground, go = Foreground(), asyncio.Event()
    work = asyncio.create_task(go.wait())
    waiting = asyncio.create_task(foreground.wait(work, "a"))
    other = asyncio.create_task(foreground.wait(asyncio.create_task(go.wait()), "b"))
    await asyncio.sleep(0)
    assert foreground.move("nowhere") == []
    assert foreground.move("a") == ["a"]
    assert foreground.move("a") == []
    with pytest.raises(MovedToBackground):
        await waiting
    assert not work.done()
    go.set()
    assert await work
    assert await other


async def test_a_cancelled_wait_cancels_the_work() -> None:
    work = asyncio.create_task(asyncio.Event().wait())
    waiting = asyncio.create_task(Foreground().wait(work, "a"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert work.cancelled()
