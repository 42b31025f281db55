"""How long an append takes while a store grows, and a search at its end. `make growth` runs it with 3 million events.

Events are written as sessions write them, many at once as under load, then one by one. Two floors take turns with the
store. A store that gets the same events without searchable texts shows what the texts add. A bare file, in which the
same lines are written and synced in a thread, shows what the disk and the machine add: no append can be faster.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from statistics import median

from rich.console import Console

from benchmarks.figures import Section, at_most
from benchmarks.page import show
from benchmarks.workbench import Workbench
from handrail.bridge.store import event_log, session_index
from handrail.bridge.store.base import NewEvent
from handrail.bridge.store.database import Database

__all__ = ["measure"]

EVENTS, QUICK_EVENTS, ALL_EVENTS = 150_000, 30_000, 3_000_000
TURNS = 10
"""Times that each store has its turn."""
SESSIONS = 64
"""Sessions that write at the same time."""
SINGLE = 200
"""Events per turn that are written one by one."""
SESSION_LENGTH = 2_000
FILE_SIZE = 16 * 1024 * 1024
SEARCHES = 9
WORDS = 50_000


def measure(bench: Workbench) -> Section:
    """The form that fits into `make bench`."""
    return asyncio.run(_measure(bench, QUICK_EVENTS if bench.quick else EVENTS))


async def _measure(bench: Workbench, events: int) -> Section:
    bare = _File(bench.folder / "growth-file")
    floor, ours = (_Store(bench.folder / f"growth-{name}", texts=name == "ours") for name in ("floor", "ours"))
    indexing = asyncio.create_task(ours.log.keep_indexing())
    for turn in range(1, TURNS + 1):
        bench.say(f"a store of {events:,} events, turn {turn} of {TURNS}")
        for store in (bare, floor, ours):
            await store.grow(events // TURNS)
    indexing.cancel()
    with suppress(asyncio.CancelledError):
        await indexing
    bench.say("the search index")
    begun = time.monotonic()
    await ours.log.index()
    behind = time.monotonic() - begun
    common = await ours.search_seconds("w1e")
    within = await ours.search_seconds("w1e", session="0-0")
    beginning = await ours.search_seconds("w1")  # w1e, w10e, w11e and so on
    for store in (floor, ours):
        await store.database.close()
    bare.close()
    longest = max(*ours.together, *ours.single) * 1000
    return Section(
        "Growth of the store",
        f"{events:,} events of {SESSIONS} sessions at a time, {TURNS * SINGLE:,} of them one by one: milliseconds "
        "until an append is durable. In turns with it: a store without searchable texts, and a bare file in which the "
        f"lines of {SESSIONS} events or of one are written and synced. Then searches; "
        f"the index was complete {behind:.1f} s after the last event.",
        ("", "p50", "p99.9", "longest"),
        (
            ("many at once, bare file", *_shown(bare.together)),
            ("many at once, without texts", *_shown(floor.together)),
            ("many at once", *_shown(ours.together)),
            ("one by one, bare file", *_shown(bare.single)),
            ("one by one, without texts", *_shown(floor.single)),
            ("one by one", *_shown(ours.single)),
            ("search for a common word", f"{common * 1000:.2f} ms", "", ""),
            ("search within one session", f"{within * 1000:.2f} ms", "", ""),
            ("search for the beginning of many words", f"{beginning * 1000:.2f} ms", "", ""),
        ),
        (
            at_most(f"longest append of {events:,}", 50, longest, " ms"),
            at_most(f"search for a common word in {events:,} events", 150, common * 1000, " ms"),
            at_most(f"search within one session of {events:,} events", 5, within * 1000, " ms"),
        ),
    )


class _File:
    """A file of the size of a write-ahead log, overwritten from its start when it is full, as SQLite does."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
        os.pwrite(self._file, bytes(FILE_SIZE), 0)
        os.fsync(self._file)
        self._events = _events(texts=False)
        self._place = 0
        self.together: list[float] = []
        self.single: list[float] = []

    async def grow(self, events: int) -> None:
        for _ in range((events - SINGLE) // SESSIONS):
            self.together.append(await self._append(SESSIONS))
        for _ in range(SINGLE):
            self.single.append(await self._append(1))

    async def _append(self, events: int) -> float:
        lines = b"".join(next(self._events).data for _ in range(events))
        begun = time.perf_counter()
        await asyncio.to_thread(self._write, lines)
        return time.perf_counter() - begun

    def _write(self, lines: bytes) -> None:
        if self._place + len(lines) > FILE_SIZE:
            self._place = 0
        os.pwrite(self._file, lines, self._place)
        os.fdatasync(self._file)
        self._place += len(lines)

    def close(self) -> None:
        os.close(self._file)


class _Store:
    """A growing store, and the seconds that appends took."""

    def __init__(self, folder: Path, *, texts: bool) -> None:
        folder.mkdir()
        self.database = Database(folder / "handrail.db", event_log.TABLES, session_index.TABLES)
        self.log = event_log.SqliteEventLog(self.database)
        self._writer = session_index.SqliteSessionWriter(self.database)
        self._events = _events(texts=texts)
        self._written = count()
        self.together: list[float] = []
        self.single: list[float] = []

    async def grow(self, events: int) -> None:
        numbers = iter(range(events - SINGLE))

        async def one_session(number: int) -> None:
            for _ in numbers:
                self.together.append(await self._append(number))

        await asyncio.gather(*(one_session(number) for number in range(SESSIONS)))
        for _ in range(SINGLE):
            self.single.append(await self._append(0))

    async def _append(self, number: int) -> float:
        session = f"{number}-{next(self._written) // (SESSIONS * SESSION_LENGTH)}"
        event = next(self._events)
        begun = time.perf_counter()
        await self._writer.write(session, [event])
        return time.perf_counter() - begun

    async def search_seconds(self, words: str, session: str | None = None) -> float:
        taken: list[float] = []
        for _ in range(SEARCHES):
            begun = time.perf_counter()
            if not await self.log.search(words, session=session):
                raise RuntimeError(f"no event with {words!r} was found")
            taken.append(time.perf_counter() - begun)
        return median(taken)


def _events(*, texts: bool) -> Iterator[NewEvent]:
    """Lines of 5 to 60 words, some of which are much more common than others."""
    chance = random.Random(1)
    words = [f"w{min(int(chance.paretovariate(0.7)), WORDS)}e" for _ in range(200_000)]
    while True:
        start = chance.randrange(len(words) - 60)
        text = " ".join(words[start : start + chance.randint(5, 60)])
        line = b'{"type":"assistant","uuid":"%032x","message":{"content":[{"type":"text","text":"%s"}]}}'
        yield NewEvent("frame", line % (chance.getrandbits(128), text.encode()), text if texts else "")


def _shown(seconds: Sequence[float]) -> tuple[str, str, str]:
    ordered = sorted(seconds)
    places = (len(ordered) // 2, len(ordered) * 999 // 1000, -1)
    return tuple(f"{ordered[place] * 1000:.2f} ms" for place in places)  # type: ignore[return-value]


def main() -> int:
    """Run it with many events, and return 1 if a promise is broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bridge_growth", description="Measures a growing store.")
    parser.add_argument("--events", type=int, default=ALL_EVENTS, help="number of events (default: %(default)s)")
    events: int = parser.parse_args().events
    if events < 2 * TURNS * SINGLE:
        parser.error(f"--events {events} is too few; at least {2 * TURNS * SINGLE}")
    errors = Console(stderr=True)
    with errors.status("") as status, tempfile.TemporaryDirectory(prefix="handrail-growth-") as folder:
        section = asyncio.run(_measure(Workbench(Path(folder), status.update), events))
    show(Console(), [section])
    return 0 if all(promise.kept for promise in section.promises) else 1


if __name__ == "__main__":
    sys.exit(main())
