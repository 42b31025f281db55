"""The session writer in SQLite: a kill at any moment leaves whole writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.bridge.store import writer_process
from tests.bridge.stores import sqlite_writer


def acknowledged_before_kill(store: Path, name: str, lines: int) -> list[str]:
    """Run the writer, kill it after this many lines, and return every complete line that it printed."""
    argv = [sys.executable, writer_process.__file__, str(store), name]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        first = [child.stdout.readline() for _ in range(lines)]
        child.kill()
        return [line for line in (*first, *child.stdout) if line.endswith("\n")]


async def test_acknowledged_writes_survive_a_kill_and_others_are_whole(tmp_path: Path):
    printed = [line for n in range(3) for line in acknowledged_before_kill(tmp_path / "handrail.db", f"life{n}", 30)]
    assert len(printed) >= 90
    async with sqlite_writer(tmp_path) as place:
        events = await place.log.read("s", 0, limit=1_000_000, most_bytes=2**30)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        for seq, command in (line.split() for line in printed):
            assert {event.data for event in events[int(seq) - 1 : int(seq) + 2]} == {b'"%s"' % command.encode()}
        torn = [n for n in range(0, len(events), 3) if len({event.data for event in events[n : n + 3]}) != 1]
        assert torn == []
        record = await place.index.get("s")
        assert record is not None
        assert record.title == events[-1].data.decode().strip('"'), "the record is not the one of the last write"
        last = {event.data.decode().strip('"') for event in events[-60:]}
        for command in last:
            assert await place.log.receipt(command) == b"1", "events are stored without their receipt"
            life, worker, n = command.rsplit("-", 2)
            after = f"{life}-{worker}-{int(n) + 1}"
            assert after in last or await place.log.receipt(after) is None, "a receipt is stored without its events"
