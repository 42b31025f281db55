"""After a power cut at any moment, all data sent to clients is on disk."""

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
    pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace"),
]


async def test_data_sent_to_clients_survives_a_power_cut_f19(tmp_path: Path):
    log = tmp_path / "calls"
    server = ServerProcess(tmp_path, wrapper=(*STRACE, "-o", str(log)))
    async with server, Watcher("client", server.url, server.token) as watcher:
        session = await watcher.start(server.work)
        for _ in range(TURNS):
            await watcher.turn(session, "ask=1 flood=5 deltas=2 blocks=2")
    store, sent = server.data / "handrail.db", 0
    for number, moment in enumerate(moments(log, store, CUTS, seed=1)):
        lost, known = _lost(moment, store, tmp_path / str(number))
        assert lost == []
        sent += known
    assert sent > CUTS


def _lost(moment: Moment, store: Path, folder: Path) -> tuple[list[str], int]:
    """The events and receipts sent to clients but missing on disk, and the number of events sent."""
    folder.mkdir()
    for name, data in moment.files.items():
        (folder / Path(name).name).write_bytes(data)
    (folder / f"{store.name}-shm").unlink(missing_ok=True)
    db = sqlite3.connect(folder / store.name)
    try:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        kept = {(s, p - k * ROOM): json.loads(d) for s, k, p, d in db.execute(_EVENTS)} if moment.sent else {}
        receipts = {row[0].partition("/")[2] for row in db.execute("SELECT command FROM receipt")}
    finally:
        db.close()
    seen = [
        (line["session"], event["seq"], event["data"])
        for line in moment.sent
        if line["type"] == "events"
        for event in line["events"]
        if "seq" in event
    ]
    lost = [f"event {seq}" for session, seq, data in seen if kept.get((session, seq)) != data]
    accepted = [line["id"] for line in moment.sent if line["type"] == "receipt" and line["ok"]]
    return lost + [f"receipt {id}" for id in accepted if id not in receipts], len(seen)


_EVENTS = f"SELECT log.session, log.key, place, data FROM event JOIN log ON log.key = place / {ROOM}"
