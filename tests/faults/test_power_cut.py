"""The power fails at any moment: whatever anybody was told is on the disk."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.faults.checker import ROOM
from tests.faults.power_cut import STRACE, Moment, moments
from tests.faults.server_process import ServerProcess
from tests.faults.watcher import Watcher

CUTS, TURNS = 60, 12
pytestmark = [
    pytest.mark.campaign,
    pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace to see what is written"),
]


async def test_what_anybody_was_told_is_on_the_disk_when_the_power_fails_f19(tmp_path: Path):
    log = tmp_path / "calls"
    server = ServerProcess(tmp_path, wrapper=(*STRACE, "-o", str(log)))
    async with server, Watcher("client", server.url, server.token) as watcher:
        session = await watcher.start(server.work)
        for _ in range(TURNS):
            await watcher.turn(session, "ask=1 flood=5 deltas=2 blocks=2")
    store, told = server.data / "handrail.db", 0
    for number, moment in enumerate(moments(log, store, CUTS, seed=1)):
        lost, known = _lost(moment, store, tmp_path / str(number))
        assert lost == []
        told += known
    assert told > CUTS


def _lost(moment: Moment, store: Path, folder: Path) -> tuple[list[str], int]:
    """What somebody was told and the disk has not. Out: that, and how much was told."""
    folder.mkdir()
    for name, data in moment.files.items():
        (folder / Path(name).name).write_bytes(data)
    (folder / f"{store.name}-shm").unlink(missing_ok=True)
    db = sqlite3.connect(folder / store.name)
    try:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        kept = {(s, p - k * ROOM): json.loads(d) for s, k, p, d in db.execute(_EVENTS)} if moment.told else {}
        receipts = {row[0].partition("/")[2] for row in db.execute("SELECT command FROM receipt")}
    finally:
        db.close()
    seen = [
        (line["session"], event["seq"], event["data"])
        for line in moment.told
        if line["type"] == "events"
        for event in line["events"]
        if "seq" in event
    ]
    lost = [f"event {seq}" for session, seq, data in seen if kept.get((session, seq)) != data]
    accepted = [line["id"] for line in moment.told if line["type"] == "receipt" and line["ok"]]
    return lost + [f"receipt {id}" for id in accepted if id not in receipts], len(seen)


_EVENTS = f"SELECT log.session, log.key, place, data FROM event JOIN log ON log.key = place / {ROOM}"
