"""The faulty agent: each fault is caught by a check, and none without a fault."""

from __future__ import annotations

import subprocess
import sys

import pytest

from handrail.testing.faulty_agent import FAULTS
from tests.conform.agents import drifts, faulty

CATCHES = {
    "no-init": "turn.init-each-turn",
    "two-results": "turn.one-result",
    "no-uuid": "turn.ids",
    "flat-answers": "initialize.answer",
    "late-lines": "partial.line-before-stop",
    "no-cancel": "permission.withdrawn",
    "exit-code-0": "framing.not-json",
    "batched-results": "turn.one-line-per-tool-result",
    "no-replay": "replay.echo",
    "wrong-num-turns": "turn.num-turns",
}
"""Each fault, and a check that must catch it."""


def test_every_fault_has_a_check():
    assert set(CATCHES) == set(FAULTS) - {"none"}
    assert len(CATCHES) == 10


@pytest.mark.parametrize("fault", CATCHES)
async def test_a_seeded_fault_is_caught(fault: str):
    assert set(await drifts(faulty(fault), CATCHES[fault])) == {CATCHES[fault]}


@pytest.mark.campaign
async def test_checks_pass_without_a_fault():
    assert await drifts(faulty("none"), *CATCHES.values()) == {}


def test_unknown_fault_is_a_usage_error():
    run = subprocess.run(
        [sys.executable, "-m", "handrail.testing.faulty_agent", "no-such-fault", "--", "true"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 2
    assert "batched-results" in run.stderr
