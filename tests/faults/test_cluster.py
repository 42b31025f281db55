"""Each cluster fault once: no acknowledged event is lost or duplicated, and no session has two owners."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.cluster_campaign import run

pytestmark = pytest.mark.campaign

SEED = 5
SMALL = {"sessions": 4, "runners": 2}


async def run_fault(folder: Path, name: str) -> None:
    report = await run(folder, name, 1, SEED, print, **SMALL, away=20.0)
    assert report.faults == []
    assert report.turns > 0


async def test_sessions_of_a_gateway_continue_without_nats_f25(tmp_path: Path):
    await run_fault(tmp_path, "nats-away")


async def test_partitioned_nats_server_causes_no_second_owner_f26(tmp_path: Path):
    await run_fault(tmp_path, "server-cut")


async def test_partitioned_runner_stops_before_another_takes_over_f26(tmp_path: Path):
    await run_fault(tmp_path, "runner-cut")


async def test_killed_leader_loses_no_acknowledged_event_f27(tmp_path: Path):
    await run_fault(tmp_path, "leader-kill")


async def test_paused_leader_is_replaced_and_reverts_nothing_f27(tmp_path: Path):
    await run_fault(tmp_path, "leader-pause")


async def test_sessions_of_a_killed_runner_resume_elsewhere_with_their_history(tmp_path: Path):
    await run_fault(tmp_path, "runner-kill")
