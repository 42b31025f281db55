"""A server killed at any moment loses nothing that it acknowledged and restarts quickly."""

from __future__ import annotations

from pathlib import Path

from tests.faults.campaign import kill_server

KILLS = 3
SEED = 11


async def test_killed_server_loses_nothing_and_leaves_no_orphans_f18_f34(tmp_path: Path):
    report = await kill_server(tmp_path, KILLS, SEED)
    assert report.faults == []
    assert report.turns > 0
