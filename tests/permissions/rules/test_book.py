"""Which rules speak of which tool."""

from __future__ import annotations

from typing import get_args

import pytest

from handrail.permissions.rules.book import rules_about
from handrail.permissions.rules.rule import Behavior, SourcedRule, read_rules

BEHAVIORS: tuple[Behavior, ...] = get_args(Behavior)


def means(named: str, tool: str, behavior: Behavior) -> bool:
    return bool(list(rules_about(read_rules([named], behavior, "session"), behavior, tool)))


@pytest.mark.parametrize(
    ("named", "tool", "refuses", "allows"),
    [
        ("Bash", "Bash", True, True),
        ("Bash(x)", "Bash", True, True),
        ("Bash", "BashOutput", False, False),
        ("*", "Bash", True, False),
        ("Ba*", "Bash", True, False),
        ("Ba*", "Read", False, False),
        ("Read", "Grep", True, True),
        ("Read", "Glob", True, True),
        ("Read", "Write", False, False),
        ("Read", "Bash", False, False),
        ("Edit", "Write", True, True),
        ("Edit", "NotebookEdit", True, True),
        ("Edit", "Read", False, False),
        ("Write", "Edit", False, False),
        ("MultiEdit", "Edit", True, True),
        ("Task", "Agent", True, True),
        ("Agent", "Task", True, True),
        ("Skill", "SlashCommand", True, True),
        ("KillBash", "KillShell", True, True),
        ("mcp__s", "Bash", False, False),
        ("mcp__*", "mcp__s__t", True, False),
        ("mcp__", "mcp__s__t", True, False),
        ("mcp__s", "mcp__s__t", True, True),
        ("mcp__s__*", "mcp__s__t", True, True),
        ("mcp__s__t", "mcp__s__t", True, True),
        ("mcp__s__t", "mcp__s__u", False, False),
        ("mcp__s__t*", "mcp__s__tool", True, True),
        ("mcp__s__t*", "mcp__s__x", False, False),
        ("mcp__s", "mcp__other__t", False, False),
        ("mcp__s", "mcp__s2__t", False, False),
        ("mcp__s*", "mcp__s2__t", True, False),
        ("mcp__s*", "mcp__x__t", False, False),
        ("mcp__s", "mcp__s__a__t", True, False),
        ("mcp__s__*", "mcp__s__a__t", True, False),
        ("mcp__s__a__t", "mcp__s__a__t", True, True),
        ("mcp__s", "mcp__s", True, True),
        ("mcp__s__*", "mcp__s", False, False),
        ("mcp____x", "mcp__s__t", False, False),
        ("mcp__s", "mcp____t", False, False),
    ],
)
def test_a_refusal_is_generous_about_its_tools_and_an_allow_is_not(named: str, tool: str, refuses: bool, allows: bool):
    assert [means(named, tool, behavior) for behavior in ("deny", "ask", "allow")] == [refuses, refuses, allows]


@pytest.mark.parametrize("behavior", BEHAVIORS)
def test_rules_come_in_their_order_and_only_those_of_the_behavior(behavior: Behavior):
    rules: list[SourcedRule] = []
    for each in BEHAVIORS:
        rules += read_rules([f"Bash({each} 1)", "Read", f"Bash({each} 2)"], each, "session")
    found = [rule.rule.content for rule in rules_about(rules, behavior, "Bash")]
    assert found == [f"{behavior} 1", f"{behavior} 2"]


def test_a_broken_allow_says_nothing_and_a_broken_refusal_speaks():
    assert [means("Bash(x", "Bash", behavior) for behavior in ("deny", "ask", "allow")] == [True, True, False]


@pytest.mark.parametrize(
    ("named", "tool", "refuses", "allows"),
    [
        ("bash", "Bash", True, False),
        ("mcp__S", "mcp__s__t", True, False),
        ("mcp__a", "mcp__a___b", True, False),
        ("mcp__a_", "mcp__a___b", True, False),
        ("mcp__a_", "mcp__a__b", False, False),
        ("mcp__a__b", "mcp__a__b__c", True, False),
    ],
)
def test_a_name_that_can_be_parted_in_two_ways_is_refused_in_both(named: str, tool: str, refuses: bool, allows: bool):
    assert [means(named, tool, behavior) for behavior in BEHAVIORS] == [allows, refuses, refuses]
