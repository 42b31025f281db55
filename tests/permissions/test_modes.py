"""The table of modes."""

from __future__ import annotations

import pytest

from handrail.permissions.modes import MODES, class_of, effective_mode, passes
from tests.permissions.bash_cases import ask_for

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
        ("plan", "inside confirm reads ask ask ask ask allow confirm ask"),
        ("bypassPermissions", "allow allow allow allow allow allow ask allow allow allow"),
    ],
)
def test_uses_that_a_mode_allows(mode: str, expected: str):
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


COLUMNS = "default manual delegate auto dontAsk acceptEdits plan bypassPermissions".split()
USES: dict[str, tuple[str, dict[str, str]]] = {
    "reads a file here": ("Read", {"file_path": "a"}),
    "searches here": ("Grep", {"pattern": "x"}),
    "reads a file elsewhere": ("Read", {"file_path": "/etc/hosts"}),
    "reads a device": ("Read", {"file_path": "/dev/sda"}),
    "writes a file here": ("Write", {"file_path": "a"}),
    "writes a file elsewhere": ("Write", {"file_path": "/x/a"}),
    "writes a protected file": ("Edit", {"file_path": ".git/hooks/pre-commit"}),
    "runs what only looks": ("Bash", {"command": "ls; git log; echo x"}),
    "runs what works on files": ("Bash", {"command": "touch a"}),
    "runs what works elsewhere": ("Bash", {"command": "touch /x/a"}),
    "runs a program": ("Bash", {"command": "make"}),
    "runs what takes all away": ("Bash", {"command": "rm -rf ~"}),
    "fetches": ("WebFetch", {"url": "https://a.com"}),
    "searches the web": ("WebSearch", {"query": "x"}),
    "uses a skill": ("Skill", {"skill": "x"}),
    "asks a question": ("AskUserQuestion", {}),
    "leaves the plan": ("ExitPlanMode", {}),
    "starts a task": ("Task", {"subagent_type": "x"}),
    "uses a server": ("mcp__s__t", {}),
    "has unknown effects": ("Odd", {}),
}


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("reads a file here", "allow allow allow allow allow allow allow allow"),
        ("searches here", "allow allow allow allow allow allow allow allow"),
        ("reads a file elsewhere", "ask ask ask ask deny ask ask allow"),
        ("reads a device", "deny deny deny deny deny deny deny deny"),
        ("writes a file here", "ask ask ask ask deny allow ask allow"),
        ("writes a file elsewhere", "ask ask ask ask deny ask ask allow"),
        ("writes a protected file", "ask ask ask ask deny ask ask ask"),
        ("runs what only looks", "allow allow allow allow allow allow allow allow"),
        ("runs what works on files", "ask ask ask ask deny allow deny allow"),
        ("runs what works elsewhere", "ask ask ask ask deny ask deny allow"),
        ("runs a program", "ask ask ask ask deny ask deny allow"),
        ("runs what takes all away", "ask ask ask ask deny ask deny ask"),
        ("fetches", "ask ask ask ask deny ask ask allow"),
        ("searches the web", "ask ask ask ask deny allow ask allow"),
        ("uses a skill", "ask ask ask ask deny allow ask allow"),
        ("asks a question", "ask ask ask ask deny ask ask ask"),
        ("leaves the plan", "ask ask ask ask deny ask ask ask"),
        ("starts a task", "allow allow allow allow allow allow allow allow"),
        ("uses a server", "ask ask ask ask deny ask ask allow"),
        ("has unknown effects", "ask ask ask ask deny ask ask allow"),
    ],
)
def test_decision_about_a_use_in_each_mode(use: str, expected: str):
    tool, given = USES[use]
    found = [ask_for(tool, given, mode=mode).behavior for mode in COLUMNS]
    assert dict(zip(COLUMNS, found, strict=True)) == dict(zip(COLUMNS, expected.split(), strict=True))


@pytest.mark.parametrize("tool", ["WebFetch", "WebSearch", "Skill", "mcp__s__t"])
def test_rules_count_in_plan_mode_for_tools_that_read(tool: str):
    given = {"url": "https://a.com", "query": "x", "skill": "x"}
    assert ask_for(tool, given, mode="plan", reads=True).behavior == "ask"
    assert ask_for(tool, given, mode="plan", reads=True, allow=[tool]).behavior == "allow"
    assert ask_for(tool, given, mode="plan", reads=True, deny=[tool]).behavior == "deny"


def test_other_mcp_tools_are_asked_about_in_plan_mode_even_with_a_rule():
    reason = "in the mode plan nothing is changed unasked"
    assert ask_for("mcp__s__t", {}, mode="plan").reason == reason
    ruled = ask_for("mcp__s__t", {}, mode="plan", allow=["mcp__s__t"])
    assert (ruled.behavior, ruled.reason) == ("ask", f"a rule allows it, but {reason}")
    assert ask_for("mcp__s__t", {}, mode="plan", deny=["mcp__s__t"]).behavior == "deny"


@pytest.mark.parametrize("use", USES)
def test_unknown_mode_and_unavailable_bypass_become_the_default(use: str):
    tool, given = USES[use]
    default = ask_for(tool, given)
    assert ask_for(tool, given, mode="bypassPermissions", bypass_available=False) == default
    assert ask_for(tool, given, mode="nonsense").behavior == default.behavior


@pytest.mark.parametrize("use", USES)
def test_plan_mode_with_bypass_available_asks_nothing(use: str):
    tool, given = USES[use]
    plan = ask_for(tool, given, mode="plan", bypass_available=True)
    assert plan.behavior == ask_for(tool, given, mode="bypassPermissions").behavior


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("mode", COLUMNS)
def test_without_a_person_nothing_is_asked_and_nothing_else_changes(use: str, mode: str):
    tool, given = USES[use]
    asked, unasked = (ask_for(tool, given, mode=mode, can_prompt=can_prompt) for can_prompt in (True, False))
    assert unasked.behavior == {"ask": "deny"}.get(asked.behavior, asked.behavior)
    assert asked.behavior == "ask" or unasked == asked
