"""handrail.conform.battery: our agent agrees with every check, and what goes wrong in a check is told in words."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from handrail.conform.battery import chosen, run_battery
from handrail.conform.bench import Bench
from handrail.conform.check import Check
from tests.conform.agents import AGENT, drifts, outcomes

TOPICS = sorted({check.name.partition(".")[0] for check in chosen()})


def test_there_are_at_least_sixty_checks_each_with_one_sentence():
    checks = chosen()
    assert len(checks) >= 60
    assert [check.name for check in checks if not check.expected.endswith(".") or "\n" in check.expected] == []


def test_checks_are_chosen_by_topic_by_name_and_by_pattern():
    names = [check.name for check in chosen(["turn.num-turns", "limit", "hook.pre-*"])]
    assert names[0] == "turn.num-turns"
    assert {name.partition(".")[0] for name in names} == {"turn", "limit", "hook"}
    assert chosen(["nothing-of-the-kind"]) == []


async def test_a_turn_of_our_agent_agrees():
    found = await outcomes(AGENT, "turn.one-result", "permission.allow", "mcp.call", "hook.pre-tool-use")
    assert {name: each.seen for name, each in found.items()} == dict.fromkeys(found, "")
    assert len(found) == 4


@pytest.mark.campaign
@pytest.mark.parametrize("topic", TOPICS)
async def test_our_agent_agrees_with_every_check(topic: str):
    assert await drifts(AGENT, topic) == {}


async def test_an_executable_that_says_nothing_drifts():
    seen = await drifts([sys.executable, "-c", "import sys; sys.stdin.read()"], "queue.runs-out")
    assert seen == {"queue.runs-out": "a prompt was lost"}


async def test_an_executable_that_ends_at_once_drifts_with_its_words():
    seen = await drifts([sys.executable, "-c", "raise SystemExit('no such luck')"], "turn.num-turns")
    assert "a result never came: the output ended" in seen["turn.num-turns"]
    assert "no such luck" in seen["turn.num-turns"]


async def test_a_check_that_takes_too_long_tells_what_it_waited_for_and_leaves_nothing_running():
    command = [sys.executable, "-c", 'import time; print(\'{"type":"x"}\', flush=True); time.sleep(600)']
    (found,) = (await outcomes(command, "turn.num-turns", limit=2)).values()
    assert found.seen == "not finished within 2 s while waiting for a result; last came x"


async def test_a_line_without_what_it_should_have_is_a_drift_and_no_crash():
    command = [sys.executable, "-c", 'print(\'{"type":"result"}\', flush=True); input()']
    seen = await drifts(command, "turn.num-turns")
    assert seen["turn.num-turns"].startswith("a line was not as it should be (KeyError: 'num_turns')")


async def test_each_check_has_folders_of_its_own_that_are_gone_afterwards():
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
