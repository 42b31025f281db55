"""Busy sessions in a cluster: measures how faults affect them, and checks the result."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from random import Random
from statistics import median
from typing import Any, NamedTuple

from tests.faults.checker import Run, judge, lines_of
from tests.faults.cluster_client import BusyClient, BusySession, longest_silence
from tests.faults.cluster_place import Place
from tests.faults.cluster_record import read_stream, record_of, same_receipts
from tests.faults.watcher import Refused

__all__ = ["Report", "Scene"]

SESSIONS = 12
AWAY = 120.0
"""Seconds for which NATS is unavailable."""
AGAIN_WITHIN = 60.0
LAST_TURN = 60.0
USUAL_AGAIN, WORST_AGAIN = 10.0, 30.0
"""Limits in seconds from a fault to a session's next event: the median and the maximum."""
Json = dict[str, Any]
Tell = Callable[[str], None]


class Report(NamedTuple):
    """The result of a campaign."""

    what: str
    rounds: int
    sessions: int
    turns: int
    events: int
    owners: int
    processes: int
    doubled: int
    put_off: int
    again: list[float]
    more: list[str]
    faults: list[str]

    def in_words(self) -> str:
        """A one-line summary."""
        again = f", next event of a session {_spread(self.again)}" if self.again else ""
        more = "".join(f", {words}" for words in self.more)
        return (
            f"{self.what} ({self.rounds}×): {self.sessions} sessions, {self.turns:,} turns, {self.events:,} events, "
            f"{self.doubled:,} commands sent twice{again}{more}; {self.owners:,} owners and {self.processes:,} "
            f"processes in all: {len(self.faults)} faults"
        )


class Scene:
    """A cluster, a client per gateway, and sessions that are always busy."""

    def __init__(self, place: Place, random: Random, tell: Tell, away: float = AWAY) -> None:
        self.place, self.random, self.tell, self.away = place, random, tell, away
        self.clients: list[BusyClient] = []
        self.busy: dict[str, BusySession] = {}
        self.faults: list[str] = []
        self.again: list[float] = []
        self.more: dict[str, list[float]] = {}
        """Further measured times, by name."""
        self.more_words: list[str] = []

    async def open(self, stack: contextlib.AsyncExitStack, sessions: int = SESSIONS) -> None:
        """Open a client at each gateway and start the sessions; every client follows all of them."""
        for number, gateway in enumerate(self.place.gateways, 1):
            client = BusyClient(f"client-{number}", gateway.url, self.place.token, self._dice())
            self.clients.append(await stack.enter_async_context(client))
        for client in self.clients:
            client.others = [other for other in self.clients if other is not client]
        for number in range(sessions):
            client = self.clients[number % len(self.clients)]
            session = await client.start(self.place.work)
            await asyncio.gather(*(other.follow(session) for other in client.others))
            self.busy[session] = BusySession(client, session, self._dice())
            await self.place.until_counted(number + 1)
        stack.push_async_callback(self._end_all)
        await self.until_all_speak(time.monotonic())

    def _dice(self) -> Random:
        return Random(self.random.random())

    async def _end_all(self) -> list[str]:
        return [words for one in list(self.busy.values()) if (words := await one.end())]

    # Measurements

    async def until_all_speak(self, since: float, sessions: Iterable[str] = ()) -> None:
        """Wait until every client has seen a new event of every session; silent sessions are faults."""
        wanted = list(sessions) or list(self.busy)
        for client in self.clients:

            def all_spoke(client: BusyClient = client) -> bool:
                return all(client.seen_at[one] and client.seen_at[one][-1] > since for one in wanted)

            try:
                await client.until(all_spoke, AGAIN_WITHIN)
            except TimeoutError:
                silent = [one for one in wanted if not client.seen_at[one] or client.seen_at[one][-1] <= since]
                self.faults.append(f"again: {client.name} saw nothing more of {', '.join(silent)}")

    def measure(self, since: float, sessions: Iterable[str] = ()) -> float:
        """Record the longest silence of each session as seen by the clients; returns the maximum."""
        now = time.monotonic()
        names = list(sessions) or list(self.busy)
        silent = [max(longest_silence(client.seen_at[one], since, now) for client in self.clients) for one in names]
        self.again += silent
        return max(silent)

    def note(self, what: str, seconds: float) -> None:
        """Record a further measured time."""
        self.more.setdefault(what, []).append(seconds)

    async def runners_of(self) -> dict[str, str]:
        """The runner of each session, as listed by the first gateway."""
        listed = await self.place.listed(self.place.gateways[0])
        return {id: str(listed.get(id, {}).get("runner", "")) for id in self.busy}

    # The end

    async def finish(self) -> None:
        """Run a last turn in every session and wait until every client has seen it."""
        self.faults += await self._end_all()
        await asyncio.gather(*(self._last_turn(session) for session in self.busy))
        last = {one: max(client.sessions[one].last for client in self.clients) for one in self.busy}
        for client in self.clients:
            with contextlib.suppress(TimeoutError):
                await client.until(lambda c=client: all(c.sessions[one].last >= last[one] for one in last), 20)

    async def _last_turn(self, session: str) -> None:
        client = self.busy[session].client
        try:
            async with asyncio.timeout(LAST_TURN):
                await client.turn(session, "deltas=3 blocks=1")
                await client.until(lambda: client.sessions[session].state == "idle", LAST_TURN)
        except (Refused, TimeoutError) as error:
            state = client.sessions[session].state
            self.faults.append(f"the last turn of {session} did not end ({state}): {error!r}")

    async def judge(self, what: str, rounds: int) -> Report:
        """Stop all nodes, and compare the records of JetStream, the children and the clients."""
        self.faults += await self.place.close()
        await self.place.until_whole()
        record = record_of(await read_stream(self.place.js))
        notes = [client.write(self.place.folder) for client in self.clients]
        diaries = [lines_of(path) for path in sorted(self.place.diaries.glob("*.diary"))]
        run = Run(record.events, diaries, {path.stem: _seen(lines_of(path)) for path in notes}, killed=True)
        faults = [*self.faults, *record.faults, *judge(run), *same_receipts(run.notes), *self._too_late()]
        turns = sum(one.turns for one in self.busy.values())
        if not turns:
            faults.append("no turn was completed")
        doubled, put_off = (sum(getattr(client, name) for client in self.clients) for name in ("doubled", "put_off"))
        more = [*(f"{name} {_spread(times)}" for name, times in self.more.items()), *self.more_words]
        events, owners = sum(map(len, record.events.values())), record.owners.total()
        count = (len(self.busy), turns, events, owners, len(diaries), doubled, put_off)
        return Report(what, rounds, *count, self.again, more, faults)

    def _too_late(self) -> Iterable[str]:
        if self.again and median(self.again) > USUAL_AGAIN:
            yield f"again: half of all sessions waited {median(self.again):.1f} s or longer"
        if self.again and max(self.again) > WORST_AGAIN:
            yield f"again: a session waited {max(self.again):.1f} s"


def _seen(notes: list[Json]) -> list[Json]:
    """The notes without blocks whose last deltas were lost with a link: these arrive complete, which is correct."""
    return [note for note in notes if not ("torn" in note and note["torn"]["whole"].startswith(note["torn"]["live"]))]


def _spread(times: list[float]) -> str:
    return f"after {median(times):.1f} s (at most {max(times):.1f} s)"
