"""Links cut at any moment: each client sees every event once, and every command runs once."""

from __future__ import annotations

from pathlib import Path

from tests.faults.campaign import cut_links

CUTS = 30
SEED = 12


async def test_clients_see_every_event_once_despite_cut_links_f20(tmp_path: Path):
    report = await cut_links(tmp_path, CUTS, SEED)
    assert report.faults == []
    assert report.connections > CUTS // 2
