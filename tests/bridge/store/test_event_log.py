"""The event log in SQLite: durability across kills, and arbitrary search queries."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from handrail.bridge.store.base import NewEvent
from tests.bridge.store import appender
from tests.bridge.stores import sqlite_log


def acknowledged_before_kill(store: Path, name: str, lines: int) -> list[str]:
    """Run the appender, kill it after this many lines, and return every complete line that it printed."""
    argv = [sys.executable, appender.__file__, str(store), name]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        first = [child.stdout.readline() for _ in range(lines)]
        child.kill()
        return [line for line in (*first, *child.stdout) if line.endswith("\n")]


async def test_acknowledged_events_survive_a_kill(tmp_path: Path):
    store = tmp_path / "log.db"
    printed = [line for n in range(3) for line in acknowledged_before_kill(store, f"life{n}", 30)]
    async with sqlite_log(tmp_path) as place:
        events = await place.log.read("s", 0, limit=1_000_000, most_bytes=2**30)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        for seq, command in (line.split() for line in printed):
            assert {event.data for event in events[int(seq) - 1 : int(seq) + 2]} == {b'"%s"' % command.encode()}
        assert len(printed) >= 90
        torn = [n for n in range(0, len(events), 3) if len({event.data for event in events[n : n + 3]}) != 1]
        assert torn == []
        last = {event.data.decode().strip('"') for event in events[-60:]}
        for command in last:
            assert await place.log.receipt(command) == b"1", "events are stored without their receipt"
            life, worker, n = command.rsplit("-", 2)
            after = f"{life}-{worker}-{int(n) + 1}"
            assert after in last or await place.log.receipt(after) is None, "a receipt is stored without its events"


async def test_search_accepts_any_query_and_ignores_punctuation(tmp_path: Path):
    chance = random.Random(3)
    signs = "\"'*^:(){}[]+-~|&!?,.;\\/%_\x00\n\u0301\u200d😀ßİ " + "".join(map(chr, range(0x300, 0x310)))
    strange = ["".join(chance.choices(f"{signs}aZ9", k=chance.randint(1, 12))) for _ in range(400)]
    strange += ["NEAR(a b)", "a AND", "OR", "NOT a", "text:a", "-a", "a*b", '"', '""', "^a", "{a b}:c", "a" * 200]
    async with sqlite_log(tmp_path) as place:
        await place.log.append("s", [NewEvent("frame", b"{}", "the harbour in winter")])
        for words in strange:
            assert isinstance(await place.log.search(words), list), words
        for around in ('"harbour"', "harbour)", "(harbour", "harb*", "the -winter", "harbour: in", "HARBOUR"):
            assert [hit.seq for hit in await place.log.search(around)] == [1], around
        for other in ("NEAR", "the OR nothing", "text"):
            assert await place.log.search(other) == [], other
