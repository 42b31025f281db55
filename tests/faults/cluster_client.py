"""Clients that keep the sessions of a cluster busy.

A client sends some commands twice under one id, through its own gateway or that of another client. It retries commands
that were refused temporarily, under the same id.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import Any

from tests.faults.watcher import Refused, Watcher

__all__ = ["BusyClient", "BusySession", "longest_silence"]

Json = dict[str, Any]
TEMPORARY = frozenset({"closing", "elsewhere", "cluster_away", "unreachable", "no_machine", "storage", "storage_full"})
"""Codes of temporary refusals."""
A_MOMENT = 0.3
TWICE = 0.3
"""Share of the commands that are sent twice."""
LONGEST_TURN = 15.0
"""Seconds after which the next message is sent even if the turn has not ended."""
TURNS = (
    "pause=20 deltas=4 blocks=6",
    "pause=40 deltas=2 blocks=4",
    "pause=20 deltas=5 blocks=2 ask=1 deltas=3 blocks=2",
    "flood=30 pause=30 deltas=3 blocks=4",
)


class BusyClient(Watcher):
    """One client; `others` are used to send duplicates through other gateways."""

    def __init__(self, name: str, url: str, token: str, random: Random) -> None:
        super().__init__(name, url, token)
        self.others: list[BusyClient] = []
        self.seen_at: defaultdict[str, list[float]] = defaultdict(list)
        """Arrival times of persisted events, by session."""
        self.doubled = self.put_off = 0
        self._random = random
        self._later: set[asyncio.Task[None]] = set()

    async def __aexit__(self, *exc: object) -> None:
        for task in list(self._later):
            task.cancel()
        await asyncio.gather(*self._later, return_exceptions=True)
        await super().__aexit__(*exc)

    async def _send_command(self, line: Json) -> None:
        await super()._send_command(line)
        if self._random.random() < TWICE:
            self.doubled += 1
            await self._random.choice([self, *self.others]).echo(line)

    async def echo(self, line: Json) -> None:
        """Send a duplicate of another client's command."""
        question = line["fields"].get("question")
        self.notes.append({"sent": line["id"], "command": line["command"], "question": question})
        await self._try_to_send(line)

    def _receipt(self, line: Json) -> None:
        if line["ok"] or line["error"]["code"] not in TEMPORARY:
            return super()._receipt(line)
        self.put_off += 1
        if line["id"] in self._waiting:
            self._in_a_moment(lambda: self._waiting[line["id"]][0] if line["id"] in self._waiting else None)
        return None

    async def _take(self, line: Json) -> None:
        session = line.get("session", "")
        if line["type"] != "error" or line["code"] not in TEMPORARY or session not in self.sessions:
            return await super()._take(line)
        last = self.sessions[session]
        self._in_a_moment(lambda: {"type": "subscribe", "session": session, "after": last.last})
        return None

    def _in_a_moment(self, line: Callable[[], Json | None]) -> None:
        """Retry a temporarily refused message after a moment, if it is still pending."""

        async def send() -> None:
            await asyncio.sleep(A_MOMENT)  # back off
            if (wanted := line()) is not None:
                await self._try_to_send(wanted)

        task = asyncio.create_task(send())
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    def _see(self, session: str, seen: Any, event: Json) -> None:
        if event["kind"] != "live":
            self.seen_at[session].append(time.monotonic())
        super()._see(session, seen, event)


class BusySession:
    """Runs turn after turn until `end`. While held, it sends nothing."""

    def __init__(self, client: BusyClient, session: str, random: Random) -> None:
        self.client, self.session, self._random = client, session, random
        self.turns = self.late = 0
        self._free = asyncio.Event()
        self._free.set()
        self.task = asyncio.create_task(self._run(), name=f"busy {session}")

    def hold(self) -> None:
        """Send nothing more."""
        self._free.clear()
        self.client.nudge()

    def free(self) -> None:
        """Continue after `hold`."""
        self._free.set()

    async def _run(self) -> None:
        over = self.client.sessions[self.session].over
        while True:
            await self._free.wait()
            try:
                sent = await self.client.command("send", session=self.session, text=self._random.choice(TURNS))
                uuid = sent["uuid"]
                await self.client.until(lambda: uuid in over or not self._free.is_set(), LONGEST_TURN)  # noqa: B023
                self.turns += uuid in over
            except Refused:
                self.client.refused += 1
                await asyncio.sleep(A_MOMENT)
            except TimeoutError:
                self.late += 1

    async def end(self) -> str:
        """Stop; returns a description of the failure, or an empty string."""
        over = self.task.done() and not self.task.cancelled()
        failed = f"{self.session} failed: {self.task.exception()!r}" if over else ""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        return failed


def longest_silence(times: Sequence[float], since: float, until: float) -> float:
    """The longest gap between the sorted `times`, from `since` to `until`."""
    marks = [since, *(moment for moment in times if since < moment < until), until]
    return max(later - earlier for earlier, later in pairwise(marks))
