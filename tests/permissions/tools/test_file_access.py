"""May a file be read or written?"""

from __future__ import annotations

from typing import Any

import pytest

from handrail.permissions.circumstances import Circumstances, Step
from handrail.permissions.paths.matching import Resolved
from handrail.permissions.rules.rule import read_rules
from handrail.permissions.tools.file_access import Use, judge_access, path_rules, rule_on_path
from tests.permissions.bash_cases import ANCHORS, rules

CWD = ANCHORS.cwd
HERE = f"{CWD}/a"


def circumstances(mode: str = "default", *, bypass: bool = False, **texts: Any) -> Circumstances:
    return Circumstances(ANCHORS, mode=mode, rules=rules(**texts), bypass_available=bypass)


def at(name: str, **more: Any) -> Resolved:
    path = name if name.startswith("/") else f"{CWD}/{name}"
    return Resolved(**{"asked": name, "lexical": path, "real": path, "kind": "file", **more})


def judged(resolved: Resolved, use: Use, mode: str = "default", *, bypass: bool = False, **texts: Any) -> Step:
    tool = "Read" if use == "read" else "Edit"
    return judge_access(resolved, use, circumstances(mode, bypass=bypass, **texts), tool)


@pytest.mark.parametrize(
    ("rule", "granted"),
    [
        ("Read", ["Read"]),
        ("Read(a)", ["Read", "Glob", "Grep", ""]),
        ("Read(*)", ["Read"]),
        ("Glob", ["Glob"]),
        ("Glob(a)", []),
        ("Grep(a)", []),
        ("Edit(a)", []),
        ("Read(a", []),
    ],
)
def test_which_tools_an_allow_rule_lets_read_a_file(rule: str, granted: list[str]):
    now = circumstances(allow=[rule.replace("(a", "(//elsewhere/a")])
    tools = ["Read", "Glob", "Grep", ""]
    inside, outside = at("a"), at("/elsewhere/a")
    assert [tool for tool in tools if judge_access(inside, "read", now, tool).behavior == "allow"] == tools
    wide = [] if rule == "Read(*)" else granted
    assert [tool for tool in tools if judge_access(outside, "read", now, tool).behavior == "allow"] == wide


@pytest.mark.parametrize(
    ("rule", "granted"),
    [
        ("Edit", ["Edit"]),
        ("Edit(a)", ["Edit", "Write", "NotebookEdit", ""]),
        ("Edit(*)", ["Edit"]),
        ("Edit(**)", ["Edit", "Write", "NotebookEdit", ""]),
        ("Write", ["Write"]),
        ("Write(a)", []),
        ("Write(*)", ["Write"]),
        ("Write(**)", []),
        ("NotebookEdit", ["NotebookEdit"]),
        ("NotebookEdit(a)", []),
        ("MultiEdit", []),
        ("MultiEdit(a)", []),
        ("Read(a)", []),
        ("Edit(a", []),
    ],
)
def test_which_tools_an_allow_rule_lets_change_a_file(rule: str, granted: list[str]):
    now = circumstances(allow=[rule])
    tools = ["Edit", "Write", "NotebookEdit", ""]
    assert [tool for tool in tools if judge_access(at("a"), "write", now, tool).behavior == "allow"] == granted


@pytest.mark.parametrize(
    ("use", "mode", "texts", "behavior", "kind", "reason"),
    [
        ("read", "default", {}, "allow", "mode", "it is in a folder that may be worked in, and the mode is default"),
        ("read", "default", {"deny": ["Read(a)"]}, "deny", "rule", f"the rule Read(a) denies {CWD}/a"),
        ("read", "default", {"ask": ["Read(a)"]}, "ask", "rule", f"the rule Read(a) asks about {CWD}/a"),
        ("read", "default", {"allow": ["Read(a)"]}, "allow", "rule", "the rule Read(a) allows it"),
        ("read", "default", {"allow": ["Read(a)"], "ask": ["Read"]}, "ask", "rule", f"the rule Read asks about {HERE}"),
        ("read", "default", {"deny": ["Edit(a)"]}, "allow", "mode", None),
        ("read", "plan", {}, "allow", "mode", "it is in a folder that may be worked in, and the mode is plan"),
        ("write", "default", {}, "ask", "mode", "in the mode default a change of a file is asked for"),
        ("write", "default", {"allow": ["Edit(a)"]}, "allow", "rule", "the rule Edit(a) allows it"),
        ("write", "default", {"allow": ["Read(a)"]}, "ask", "mode", None),
        (
            "write",
            "default",
            {"deny": ["Edit(a)"], "allow": ["Edit"]},
            "deny",
            "rule",
            f"the rule Edit(a) denies {HERE}",
        ),
        (
            "write",
            "default",
            {"deny": ["Read(a)"], "allow": ["Edit"]},
            "deny",
            "rule",
            f"the rule Read(a) denies {HERE}",
        ),
        ("write", "default", {"ask": ["Read(a)"], "allow": ["Edit"]}, "allow", "rule", None),
        ("write", "acceptEdits", {}, "allow", "mode", None),
        ("write", "acceptEdits", {"ask": ["Edit"]}, "ask", "rule", None),
        ("write", "plan", {}, "ask", "mode", "in the mode plan nothing is changed unasked"),
        ("write", "plan", {"ask": ["Edit"]}, "ask", "rule", None),
        ("write", "plan", {"allow": ["Edit"], "ask": ["Edit(a)"]}, "ask", "rule", None),
        (
            "write",
            "plan",
            {"allow": ["Edit"]},
            "ask",
            "mode",
            "a rule allows it, but in the mode plan nothing is changed unasked",
        ),
        ("write", "bypassPermissions", {}, "ask", "mode", "in the mode default a change of a file is asked for"),
    ],
)
def test_a_file_in_the_working_folder(
    use: Use, mode: str, texts: dict[str, Any], behavior: str, kind: str, reason: str | None
):
    step = judged(at("a"), use, mode, **texts)
    assert (step.subject, step.behavior, step.reason_type) == (f"{use} a", behavior, kind)
    assert reason in (None, step.reason)
    assert step.path == (None if behavior == "allow" else f"{CWD}/a")
    assert (step.rule is not None) is (kind == "rule" or "a rule" in step.reason)


@pytest.mark.parametrize("use", ["read", "write"])
def test_bypass_allows_files_outside_of_the_project(use: Use):
    step = judged(at("/x/a"), use, "bypassPermissions", bypass=True)
    assert (step.behavior, step.reason) == ("allow", "the mode bypassPermissions lets it pass")


@pytest.mark.parametrize(
    ("resolved", "use", "texts", "behavior", "kind", "reason"),
    [
        (at("/x/a"), "read", {}, "ask", "workingDir", "/x/a is outside the folders that may be worked in"),
        (at("/x/a"), "write", {}, "ask", "workingDir", "/x/a is outside the folders that may be worked in"),
        (at("/x/a"), "read", {"allow": ["Read(//x/**)"]}, "allow", "rule", "the rule Read(//x/**) allows it"),
        (at("a", real="/x/a"), "read", {}, "ask", "workingDir", "/x/a is outside the folders that may be worked in"),
        (at("a", real="/x/a"), "read", {"deny": ["Read(//x/**)"]}, "deny", "rule", "the rule Read(//x/**) denies /x/a"),
        (at("p", kind="fifo"), "read", {"allow": ["Read"]}, "deny", "safetyCheck", "p is never opened: "),
        (at("p", kind="loop", real=None), "read", {}, "deny", "safetyCheck", "p is never opened: "),
        (at("p", ambiguous=True), "read", {}, "ask", "safetyCheck", "a person should look at p: "),
        (at("p", ambiguous=True), "read", {"ask": ["Read"]}, "ask", "rule", "the rule Read asks about "),
        (at(".git/config"), "write", {"allow": ["Edit"]}, "ask", "safetyCheck", f"{CWD}/.git/config is protected: "),
        (at(".git/config"), "read", {}, "allow", "mode", "it is in a folder that may be worked in"),
    ],
)
def test_a_file_that_is_special(
    resolved: Resolved, use: Use, texts: dict[str, Any], behavior: str, kind: str, reason: str
):
    step = judged(resolved, use, **texts)
    assert (step.behavior, step.reason_type) == (behavior, kind)
    assert step.reason.startswith(reason)
    assert step.path == (None if behavior == "allow" else resolved.real or resolved.lexical)


def test_a_protected_file_is_asked_for_even_where_everything_is_bypassed():
    step = judged(at(".bashrc"), "write", "bypassPermissions", bypass=True)
    assert (step.behavior, step.reason_type) == ("ask", "safetyCheck")


def test_own_settings_open_for_this_session_only():
    own = at(".claude/settings.json")
    opening = read_rules(["Edit(/.claude/**)"], "allow", "session")
    elsewhere = read_rules(["Edit(/.claude/**)"], "allow", "userSettings")
    found = [
        judge_access(own, "write", Circumstances(ANCHORS, rules=tuple(given))).behavior
        for given in (opening, elsewhere, [])
    ]
    assert found == ["allow", "ask", "ask"]
    assert judged(at(".git/config"), "write", allow=["Edit(/.claude/**)"]).behavior == "ask"


@pytest.mark.parametrize("texts", [{"deny": ["Read(b"]}, {"ask": ["Read(b"]}, {"deny": ["Read("]}])
def test_a_refusal_that_cannot_be_read_asks_about_every_file(texts: dict[str, Any]):
    step = judged(at("a"), "read", allow=["Read"], **texts)
    assert (step.behavior, step.reason_type) == ("deny" if "Read(" in texts.get("deny", []) else "ask", "rule")


def test_deny_of_reading_covers_changing_but_not_vice_versa():
    given = circumstances(deny=["Read(a)", "Edit(b)"], ask=["Read(c)"], allow=["Read(d)"])
    found = {
        (behavior, tool): [rule.rule.content for rule in path_rules(given, behavior, tool)]
        for behavior in ("deny", "ask", "allow")
        for tool in ("Read", "Write")
    }
    assert found == {
        ("deny", "Read"): ["a"],
        ("deny", "Write"): ["b", "a"],
        ("ask", "Read"): ["c"],
        ("ask", "Write"): [],
        ("allow", "Read"): ["d"],
        ("allow", "Write"): [],
    }


def test_the_first_rule_that_covers_a_file_is_named():
    given = circumstances(deny=["Read(b)", "Read(a)", "Read"])
    found = rule_on_path(at("a"), "deny", "Read", given)
    assert found is not None
    assert found.rule.content == "a"
    assert rule_on_path(at("a"), "allow", "Read", given) is None
    assert rule_on_path(at("a"), "ask", "Read", given) is None


@pytest.mark.parametrize("rule", ["Write(a)", "NotebookEdit(a)"])
def test_a_path_that_one_tool_may_not_write_no_other_may(rule: str):
    assert judged(at("a"), "write", "acceptEdits", deny=[rule]).behavior == "deny"
    assert judged(at("a"), "write", "acceptEdits", ask=[rule]).behavior == "ask"
    assert judged(at("b"), "write", "acceptEdits", deny=[rule]).behavior == "allow"
    assert judged(at("a"), "read", deny=[rule]).behavior == "allow"


def test_a_whole_tool_is_forbidden_by_its_own_name_only():
    assert judged(at("a"), "write", "acceptEdits", deny=["Write"]).behavior == "allow"
