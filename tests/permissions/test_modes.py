"""The table of modes."""

from __future__ import annotations

import pytest

from handrail.permissions.modes import MODES, class_of, effective_mode, passes

TOOLS = ("Read", "Write", "Bash", "WebFetch", "WebSearch", "Skill", "AskUserQuestion", "Task", "mcp__a__b", "Odd")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("default", "inside ask reads ask ask ask ask allow ask ask"),
        ("manual", "inside ask reads ask ask ask ask allow ask ask"),
        ("delegate", "inside ask reads ask ask ask ask allow ask ask"),
        ("auto", "inside ask reads ask ask ask ask allow ask ask"),
        ("dontAsk", "inside ask reads ask ask ask ask allow ask ask"),
        ("acceptEdits", "inside inside files ask allow allow ask allow ask ask"),
        ("plan", "inside deny reads ask ask ask ask allow ask ask"),
        ("bypassPermissions", "allow allow allow allow allow allow ask allow allow allow"),
    ],
)
def test_what_a_mode_lets_pass(mode: str, expected: str):
    assert [passes(mode, tool) for tool in TOOLS] == expected.split()


def test_every_mode_has_a_row():
    assert set(MODES) == {
        "default", "manual", "delegate", "auto", "dontAsk", "acceptEdits", "plan", "bypassPermissions",
    }  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_no_mode_answers_for_a_person(mode: str):
    assert (passes(mode, "AskUserQuestion"), passes(mode, "ExitPlanMode")) == ("ask", "ask")


@pytest.mark.parametrize(
    ("mode", "available", "holds"),
    [
        ("bypassPermissions", True, "bypassPermissions"),
        ("bypassPermissions", False, "default"),
        ("plan", True, "bypassPermissions"),
        ("plan", False, "plan"),
        ("acceptEdits", True, "acceptEdits"),
        ("nonsense", True, "default"),
    ],
)
def test_to_bypass_must_have_been_made_possible(mode: str, available: bool, holds: str):
    assert effective_mode(mode, bypass_available=available) == holds


def test_tools_have_classes():
    assert [class_of(tool) for tool in TOOLS] == (
        "read edit execute fetch search skill interact internal mcp unknown".split()
    )
