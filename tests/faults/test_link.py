"""Links are cut at any moment: each client sees every event once, and every command is done once."""

from __future__ import annotations

from pathlib import Path

from tests.faults.campaign import cut_links

CUTS = 30
SEED = 12


async def test_clients_whose_links_are_cut_miss_nothing_and_see_nothing_twice_f20(tmp_path: Path):
    report = await cut_links(tmp_path, CUTS, SEED)
    assert report.faults == []
    assert report.connections > CUTS // 2
