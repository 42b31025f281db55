"""The shared retry gate, shared commits and debounced work."""

from __future__ import annotations

import asyncio

from handrail.bridge.cluster.store.pacing import CommitPace, Debounced, RetryGate
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


class Commits:
    """Counts commits and lets a test wait for the next one."""

    def __init__(self, longest: float) -> None:
        self.pace = CommitPace(self._commit, longest)
        self.times: list[float] = []
        self._committed = asyncio.Event()

    def _commit(self) -> None:
        self.times.append(asyncio.get_running_loop().time())
        self._committed.set()

    async def next(self) -> float:
        """Seconds between the last two commits, once there is another one."""
        self._committed.clear()
        async with asyncio.timeout(5):
            await self._committed.wait()
        return self.times[-1] - self.times[-2] if len(self.times) > 1 else 0.0


async def test_session_that_writes_alone_is_never_delayed():
    commits = Commits(longest=60.0)
    for n in range(50):
        commits.pace.request("a")
        commits.pace.request("a")
        await asyncio.sleep(0)
        assert len(commits.times) == n + 1


async def test_more_sessions_leave_more_time_between_commits():
    commits = Commits(longest=0.03)
    for count, least in ((2, 0.0025), (5, 0.01), (200, 0.03)):
        for _ in range(2):
            for n in range(count):
                commits.pace.request(f"s{n}")
            passed = await commits.next()
        assert passed >= least
    assert len(commits.times) == 6


async def test_urgent_request_takes_all_others_with_it():
    commits = Commits(longest=60.0)
    for _ in range(2):
        for n in range(100):
            commits.pace.request(f"s{n}")
        commits.pace.request("s0", urgent=True)
        await asyncio.sleep(0)
    assert len(commits.times) == 2
    commits.pace.request("s1")
    commits.pace.commit_now()
    assert len(commits.times) == 3
