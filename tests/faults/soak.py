"""Soak test: measures memory, file handles, tasks and the size of the store over time.

    python -m tests.faults.soak [--minutes N] [--sessions N]

Sessions with fake children run turn after turn while clients reconnect. After the first quarter (five minutes of
twenty), nothing may grow: resident memory by at most 5 MiB, the rest within small limits.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.faults.figures import write_figures
from tests.faults.server_process import ServerProcess
from tests.faults.watcher import Refused, Watcher

MINUTES, SESSIONS = 20.0, 50
CLIENTS = 5
MARKS = 20
MOST_MEMORY = 5.0
MOST_MORE = {"handles": 10, "threads": 2, "tasks": 20, "wal": 20.0}
TURNS = ("pause=5 deltas=20 blocks=2", "deltas=50 blocks=1 ask=1", "flood=20 pause=2 deltas=5 blocks=3")


class Mark(NamedTuple):
    """One measurement of a server, in MiB and counts."""

    minute: float
    memory: float
    handles: int
    threads: int
    tasks: int
    wal: float
    turns: int

    def in_words(self) -> str:
        """One row of the table."""
        sizes = f"{self.memory:6.1f} MiB | {self.handles} | {self.threads} | {self.tasks} | {self.wal:.1f} MiB"
        return f"| {self.minute:5.1f} | {sizes} | {self.turns:,} |"


HEAD = ("| minute | memory | handles | threads | tasks | WAL | turns |", "|---|---|---|---|---|---|---|")


def main() -> int:
    """Run the soak test and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.soak", description="Checks that nothing grows over time."
    )
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="handrail-soak-") as folder:
        marks = asyncio.run(_soak(Path(folder), asked.minutes, asked.sessions))
    faults = judge(marks)
    words = f"{asked.sessions} sessions for {asked.minutes:g} minutes: {'; '.join(faults) or 'nothing grew'}"
    print(words)
    if not faults and asked.minutes >= MINUTES and asked.sessions >= SESSIONS:
        few = marks[:: max(1, len(marks) // 8)]
        write_figures("make soak", [f"{words}.", "", *HEAD, *(mark.in_words() for mark in few)])
    return 1 if faults else 0


def judge(marks: list[Mark]) -> list[str]:
    """Describe the values that grew between the first quarter and the end."""
    quarter = len(marks) // 4
    settled, last = marks[quarter], marks[-1]
    faults = []
    if last.memory - settled.memory > MOST_MEMORY:
        faults.append(f"memory grew from {settled.memory:.1f} to {last.memory:.1f} MiB")
    for (
        name,
        most,
    ) in MOST_MORE.items():  # compares minima, since single samples may be high
        then, now = (min(getattr(mark, name) for mark in part) for part in (marks[quarter:-quarter], marks[-quarter:]))
        if now - then > most:
            faults.append(f"{name} grew from {then} to {now}")
    if last.turns <= settled.turns:
        faults.append("no further turns were completed")
    return faults


async def _soak(folder: Path, minutes: float, sessions: int) -> list[Mark]:
    marks: list[Mark] = []
    random = Random(1)
    async with ServerProcess(folder, tells_tasks=True) as server, contextlib.AsyncExitStack() as stack:
        made = [Watcher(f"client-{n}", server.url, server.token, forgets=True) for n in range(CLIENTS)]
        watchers = [await stack.enter_async_context(watcher) for watcher in made]
        turns: list[int] = []
        begun = time.monotonic()
        ids = [await watchers[n % CLIENTS].start(server.work) for n in range(sessions)]
        working = [asyncio.create_task(_work(watchers[n % CLIENTS], id, random, turns)) for n, id in enumerate(ids)]
        print("\n".join(HEAD), flush=True)
        for number in range(MARKS + 1):
            await asyncio.sleep(max(0.0, begun + number * minutes * 60 / MARKS - time.monotonic()))
            marks.append(_mark(server, (time.monotonic() - begun) / 60, len(turns)))
            print(marks[-1].in_words(), flush=True)
            random.choice(watchers).drop_link()
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)
    return marks


async def _work(watcher: Watcher, session: str, random: Random, turns: list[int]) -> None:
    while True:
        with contextlib.suppress(Refused):
            await watcher.turn(session, random.choice(TURNS))
        turns.append(1)
        await asyncio.sleep(random.uniform(0.2, 2))  # reading time


def _mark(server: ServerProcess, minute: float, turns: int) -> Mark:
    status = Path(f"/proc/{server.pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in status if ":" in line)
    wal = server.data / "handrail.db-wal"
    return Mark(
        minute,
        int(fields["VmRSS"].split()[0]) / 1024,
        len(os.listdir(f"/proc/{server.pid}/fd")),
        int(fields["Threads"]),
        int((server.data / "tasks").read_text() or 0),
        wal.stat().st_size / 2**20 if wal.exists() else 0.0,
        turns,
    )


if __name__ == "__main__":
    sys.exit(main())
