"""Campaigns that kill the server or cut the client links repeatedly, and check the result.

Three clients follow three sessions; each client drives one of them with turns that stream, ask and end.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

from tests.faults.checker import check
from tests.faults.fault_proxy import FaultProxy
from tests.faults.server_process import ServerProcess, seed_sessions
from tests.faults.watcher import Refused, Watcher

__all__ = ["Report", "cut_links", "kill_server"]

CLIENTS = 3
KNOWN_SESSIONS = 1000
UNDER_WAY = 100
"""Sessions that had a process when the previous server was killed."""
EVENTS_OF_EACH = 50
LONGEST_LIFE = 1.0
REPORTS = 20
"""Number of progress reports per campaign."""
TURNS = (
    "pause=2 deltas=10 blocks=3",
    "pause=20 deltas=2 blocks=3",
    "deltas=30 blocks=1 ask=1 deltas=5 blocks=1",
    "blocks=2 ask=2 pause=5 deltas=4 blocks=2",
    "flood=40 deltas=3 blocks=1",
)
STRAYS = ("stray=1 pause=2 deltas=5 blocks=1",)
"""Turns that start a grandchild, which lives as long as the process of its session."""
Tell = Callable[[str], None]


class Report(NamedTuple):
    """The result of a campaign."""

    faults: list[str]
    times: int
    turns: int
    events: int
    connections: int
    ready: list[float]
    streamed: int
    refused: int

    def in_words(self, what: str) -> str:
        """A one-line summary."""
        ready = (
            f", ready again after {median(self.ready):.2f} s (at most {max(self.ready):.2f} s)" if self.ready else ""
        )
        return (
            f"{self.times:,} {what} with {CLIENTS} clients, {self.connections:,} connections, {self.turns:,} turns, "
            f"{self.events:,} events, {self.streamed:,} blocks seen as they grew{ready}: {len(self.faults)} faults"
        )


async def kill_server(folder: Path, times: int, seed: int, tell: Tell = lambda _: None) -> Report:
    """Kill the server repeatedly, with a thousand sessions in its index."""
    random = Random(seed)
    server = ServerProcess(folder)
    seed_sessions(server.data, KNOWN_SESSIONS, server.work, events=EVENTS_OF_EACH, under_way=UNDER_WAY)
    faults: list[str] = []
    ready = [await server.start()]
    try:
        async with _clients(server.url, server.token) as watchers:
            working = await _set_to_work(watchers, server.work, random, TURNS + STRAYS)
            for number in range(1, times + 1):
                await asyncio.sleep(random.uniform(0, LONGEST_LIFE))  # a random moment
                await server.kill()
                if left := await server.orphans():
                    faults.append(f"orphans: {left} survived the kill of their server")
                ready.append(await server.start())
                _tell(tell, number, times, f"ready after {ready[-1]:.2f} s", watchers)
            faults += await _finish(watchers, working)
    finally:
        await server.stop()
        await server.kill()
    return _judge(server, watchers, faults, times, ready, killed=True)


async def cut_links(folder: Path, times: int, seed: int, tell: Tell = lambda _: None) -> Report:
    """Cut the links repeatedly, each at a random moment."""
    random = Random(seed)
    async with ServerProcess(folder) as server, contextlib.AsyncExitStack() as stack:
        proxies = [await stack.enter_async_context(FaultProxy(server.port)) for _ in range(CLIENTS)]
        watchers = await stack.enter_async_context(_clients("", server.token))
        for watcher, proxy in zip(watchers, proxies, strict=True):
            watcher.url = proxy.url
        working = await _set_to_work(watchers, server.work, random, TURNS)
        cuts = 0
        while cuts < times:
            await asyncio.sleep(random.uniform(0, 0.1))
            proxy = random.choice(proxies)
            if random.random() < 0.2:
                proxy.stall()
                await asyncio.sleep(0.05)
            was_open = proxy.cut()
            proxy.flow()
            cuts += was_open
            if was_open:
                _tell(tell, cuts, times, f"{sum(watcher.connections for watcher in watchers):,} connections", watchers)
        faults = await _finish(watchers, working)
        await server.stop()
        if left := await server.orphans():
            faults.append(f"orphans: {left} survived the stop of their server")
    return _judge(server, watchers, faults, times, [], killed=False)


@contextlib.asynccontextmanager
async def _clients(url: str, token: str):
    async with contextlib.AsyncExitStack() as stack:
        yield [await stack.enter_async_context(Watcher(f"client-{n}", url, token)) for n in range(CLIENTS)]


async def _set_to_work(
    watchers: list[Watcher], cwd: Path, random: Random, turns: Sequence[str]
) -> list[asyncio.Task[None]]:
    """Start a session per client; every client follows all sessions."""
    sessions = [await watcher.start(cwd) for watcher in watchers]
    for watcher in watchers:
        for session in sessions:
            await watcher.follow(session)
    pairs = zip(watchers, sessions, strict=True)
    return [asyncio.create_task(_work(watcher, session, Random(random.random()), turns)) for watcher, session in pairs]


async def _work(watcher: Watcher, session: str, random: Random, turns: Sequence[str]) -> None:
    """Run turn after turn until cancelled."""
    while True:
        try:
            await watcher.turn(session, random.choice(turns))
        except Refused:
            watcher.refused += 1


def _tell(tell: Tell, number: int, times: int, more: str, watchers: list[Watcher]) -> None:
    if number % max(1, times // REPORTS) == 0:
        turns = sum(len(seen.results()) for seen in watchers[0].sessions.values())
        tell(f"{number:,} of {times:,}: {turns:,} turns, {more}")


async def _finish(watchers: list[Watcher], working: list[asyncio.Task[None]]) -> list[str]:
    """Run a last turn in every session and wait until every client has seen it; returns the faults."""
    faults = [f"a client gave up: {task.exception()!r}" for task in working if task.done()]
    for task in working:
        task.cancel()
    await asyncio.gather(*working, return_exceptions=True)
    sessions = list(watchers[0].sessions)
    for session in sessions:
        try:
            await watchers[0].turn(session, "deltas=3 blocks=1")
        except (Refused, TimeoutError) as error:
            faults.append(f"the last turn of {session} did not end: {error!r}")
    for session, seen in watchers[0].sessions.items():
        try:
            await watchers[0].until(lambda seen=seen: seen.state == "idle", 10)
        except TimeoutError:
            faults.append(f"{session} is not idle after its last turn, but {seen.state}")
    last = {s: max(w.sessions[s].last for w in watchers) for s in sessions}
    for watcher in watchers:
        with contextlib.suppress(TimeoutError):
            await watcher.until(lambda w=watcher: all(w.sessions[s].last >= last[s] for s in sessions), 10)
    return faults


def _judge(
    server: ServerProcess, watchers: list[Watcher], faults: list[str], times: int, ready: list[float], *, killed: bool
) -> Report:
    notes = [watcher.write(server.folder) for watcher in watchers]
    faults += check(server.data / "handrail.db", server.diaries, notes, killed=killed)
    seen = [seen for watcher in watchers for seen in watcher.sessions.values()]
    turns = sum(len(one.results()) for one in seen) // CLIENTS
    events = sum(len(one.events) for one in seen) // CLIENTS
    streamed, refused = (sum(getattr(one, name) for one in watchers) for name in ("streamed", "refused"))
    if not streamed:
        faults.append("live: no client saw a streamed block")
    if refused > turns or not turns:
        faults.append(f"there were {turns} turns, and {refused} messages were refused")
    connections = sum(watcher.connections for watcher in watchers)
    return Report(faults, times, turns, events, connections, ready, streamed, refused)
