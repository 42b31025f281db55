"""The server is killed at any moment: nothing that anybody was told is lost, and it is soon back."""

from __future__ import annotations

from pathlib import Path

from tests.faults.campaign import kill_server

KILLS = 3
SEED = 11


async def test_a_killed_server_has_lost_nothing_and_left_nobody_behind_f18_f34(tmp_path: Path):
    report = await kill_server(tmp_path, KILLS, SEED)
    assert report.faults == []
    assert report.turns > 0
