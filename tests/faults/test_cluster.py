"""A cluster is hurt once in each way: nothing that anybody was told is lost or doubled, and nobody has two owners."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.cluster_campaign import run

pytestmark = pytest.mark.campaign

SEED = 5
SMALL = {"sessions": 4, "runners": 2}


async def hurt(folder: Path, name: str) -> None:
    report = await run(folder, name, 1, SEED, print, **SMALL, away=20.0)
    assert report.faults == []
    assert report.turns > 0


async def test_sessions_of_a_machine_that_keeps_them_go_on_without_nats_f25(tmp_path: Path):
    await hurt(tmp_path, "nats-away")


async def test_a_nats_server_that_is_cut_off_makes_no_second_owner_f26(tmp_path: Path):
    await hurt(tmp_path, "server-cut")


async def test_a_runner_that_is_cut_off_stops_before_another_begins_f26(tmp_path: Path):
    await hurt(tmp_path, "runner-cut")


async def test_a_killed_leader_has_lost_nothing_that_was_acknowledged_f27(tmp_path: Path):
    await hurt(tmp_path, "leader-kill")


async def test_a_leader_that_stands_still_is_replaced_and_takes_nothing_back_f27(tmp_path: Path):
    await hurt(tmp_path, "leader-pause")


async def test_the_sessions_of_a_killed_runner_go_on_elsewhere_and_know_their_past(tmp_path: Path):
    await hurt(tmp_path, "runner-kill")
