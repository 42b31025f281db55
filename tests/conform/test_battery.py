"""handrail.conform.battery: our agent agrees with every check, and failures of a check are reported as text."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from handrail.conform.battery import chosen, run_battery
from handrail.conform.bench import Bench
from handrail.conform.check import Check
from tests.conform.agents import AGENT, drifts, outcomes

TOPICS = sorted({check.name.partition(".")[0] for check in chosen()})


def test_every_check_has_one_sentence():
    checks = chosen()
    assert len(checks) > 170  # as the changelog says
    assert [check.name for check in checks if not check.expected.endswith(".") or "\n" in check.expected] == []


def test_checks_are_selected_by_topic_name_or_pattern():
    names = [check.name for check in chosen(["turn.num-turns", "limit", "hook.pre-*"])]
    assert names[0] == "turn.num-turns"
    assert {name.partition(".")[0] for name in names} == {"turn", "limit", "hook"}
    assert chosen(["no-such-check"]) == []


async def test_a_turn_of_our_agent_agrees():
    found = await outcomes(AGENT, "turn.one-result", "permission.allow", "mcp.call", "hook.pre-tool-use")
    assert {name: each.seen for name, each in found.items()} == dict.fromkeys(found, "")
    assert len(found) == 4


@pytest.mark.campaign
@pytest.mark.parametrize("topic", TOPICS)
async def test_our_agent_agrees_with_every_check(topic: str):
    assert await drifts(AGENT, topic) == {}


async def test_executable_without_output_drifts():
    seen = await drifts([sys.executable, "-c", "import sys; sys.stdin.read()"], "queue.drained-at-end-of-input")
    assert seen == {"queue.drained-at-end-of-input": "a prompt was lost"}


async def test_drift_includes_stderr_of_an_executable_that_exits_at_once():
    seen = await drifts([sys.executable, "-c", "raise SystemExit('no such luck')"], "turn.num-turns")
    assert "the agent exited before a result" in seen["turn.num-turns"]
    assert "no such luck" in seen["turn.num-turns"]


async def test_timeout_says_what_the_check_was_waiting_for():
    command = [sys.executable, "-c", 'import time; print(\'{"type":"x"}\', flush=True); time.sleep(600)']
    (found,) = (await outcomes(command, "turn.num-turns", limit=2)).values()
    assert found.seen == "timed out after 2 s waiting for a result; last lines: x"


async def test_line_with_missing_fields_is_a_drift():
    command = [sys.executable, "-c", 'print(\'{"type":"result"}\', flush=True); input()']
    seen = await drifts(command, "turn.num-turns")
    assert seen["turn.num-turns"].startswith("invalid line (KeyError: 'num_turns')")


async def test_each_check_has_its_own_folders_which_are_deleted_afterwards():
    roots: list[Path] = []

    async def look(bench: Bench) -> None:
        roots.append(bench.lab.root)
        assert list(bench.lab.project.iterdir()) == []
        (bench.lab.project / "left.txt").write_text("x")

    checks = [Check(f"own.{name}", "It has folders.", look) for name in "ab"]
    found = [each.verdict async for each in run_battery(AGENT, checks)]
    assert found == ["agrees", "agrees"]
    assert len(set(roots)) == 2
    assert [root for root in roots if root.exists()] == []
