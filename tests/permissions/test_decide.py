"""The order of a decision, for every class of tools."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.permissions.circumstances import Circumstances
from handrail.permissions.decide import decide
from handrail.permissions.rules.rule import Rule
from tests.permissions.bash_cases import ANCHORS, Disk, ask_about, ask_for, rows

SEVERITY = {"allow": 0, "ask": 1, "deny": 2}
CASES = rows("bash.jsonl") + rows("own_attacks.jsonl") + rows("own_benign.jsonl")
DENIES = (
    "Bash(touch:*)",
    "Bash(git push:*)",
    "Bash(* --force)",
    "Bash",
    "Bash(rm",
    "Read(.env)",
    "Edit(src/**)",
    "*",
    "Bash(ls)",
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(CASES), st.sampled_from(DENIES), st.sampled_from(("deny", "ask")))
def test_one_more_deny_or_ask_never_weakens(case: dict[str, Any], rule: str, kind: str):
    rules = {name: list(case[name]) for name in ("allow", "deny", "ask")}
    before = ask_about(case["cmd"], mode=case["mode"], **rules)
    rules[kind].append(rule)
    after = ask_about(case["cmd"], mode=case["mode"], **rules)
    assert SEVERITY[after.behavior] >= SEVERITY[before.behavior]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(CASES), st.sampled_from(("timeout 5 ", "env ", "nice -n 1 ", "command ", "time ")))
def test_a_wrapper_never_weakens_a_deny(case: dict[str, Any], wrapper: str):
    if (
        case["expect"] == "deny"
        and case["cls"] in ("wrap", "exp")
        and "\n" not in case["cmd"]
        and case["cmd"].split()[0].isalnum()
    ):
        rules = {name: case[name] for name in ("allow", "deny", "ask")}
        assert ask_about(wrapper + case["cmd"], mode=case["mode"], **rules).behavior != "allow"


@pytest.mark.parametrize(
    ("tool", "given_input", "texts", "behavior", "kind"),
    [
        ("Monitor", {"command": "make"}, {}, "ask", "other"),
        ("Monitor", {"command": "make"}, {"allow": ["Bash(make)"]}, "allow", "rule"),
        ("Monitor", {"command": "make"}, {"allow": ["Monitor"]}, "allow", "rule"),
        ("Monitor", {"command": "make"}, {"allow": ["Monitor"], "deny": ["Bash(make:*)"]}, "deny", "rule"),
        ("Bash", {"command": "make"}, {"allow": ["Monitor"]}, "ask", "other"),
        ("Bash", {"command": "make"}, {"deny": ["Monitor"]}, "ask", "other"),
        ("Read", {"file_path": "a"}, {}, "allow", "mode"),
        ("Read", {"file_path": "/etc/x"}, {}, "ask", "workingDir"),
        ("Read", {"file_path": "/etc/x"}, {"allow": ["Read(//etc/**)"]}, "allow", "rule"),
        ("Read", {"file_path": "a"}, {"deny": ["Read"]}, "deny", "rule"),
        ("Read", {"file_path": "a"}, {"ask": ["Read(a)"]}, "ask", "rule"),
        ("Read", {"file_path": "a"}, {"deny": ["Read(b"]}, "ask", "rule"),
        ("Read", {"file_path": "a"}, {"ask": ["Read("]}, "ask", "rule"),
        ("Read", {"file_path": "/proc/1/environ"}, {"allow": ["Read"]}, "deny", "safetyCheck"),
        ("Read", {"file_path": "a\u202eb"}, {}, "ask", "safetyCheck"),
        ("Read", {"file_path": 7}, {}, "deny", "other"),
        ("Grep", {"pattern": "x"}, {}, "allow", "mode"),
        ("Glob", {"pattern": "**/*.py"}, {}, "allow", "mode"),
        ("Glob", {"pattern": "/etc/*"}, {}, "ask", "workingDir"),
        ("Glob", {"pattern": "../*"}, {}, "ask", "workingDir"),
        ("Glob", {"pattern": "src/*"}, {}, "allow", "mode"),
        ("Glob", {"pattern": "*/../../x"}, {}, "ask", "workingDir"),
        ("Glob", {"pattern": 7}, {}, "allow", "mode"),
        ("Grep", {"pattern": "x", "path": "/etc"}, {"deny": ["Read(//etc/**)"]}, "deny", "rule"),
        ("Write", {"file_path": "a"}, {}, "ask", "mode"),
        ("Write", {"content": ""}, {}, "deny", "other"),
        ("Write", {"file_path": "a"}, {"allow": ["Edit(./**)"]}, "allow", "rule"),
        ("Write", {"file_path": "a"}, {"deny": ["Read(a)"], "allow": ["Edit"]}, "deny", "rule"),
        ("Edit", {"file_path": ".git/config"}, {"allow": ["Edit"]}, "ask", "safetyCheck"),
        ("NotebookEdit", {"notebook_path": "n.ipynb"}, {"deny": ["Edit(*.ipynb)"]}, "deny", "rule"),
        ("WebFetch", {"url": "https://a.com/x"}, {}, "ask", "mode"),
        ("WebFetch", {"url": "https://a.com/x"}, {"allow": ["WebFetch(domain:a.com)"]}, "allow", "rule"),
        ("WebFetch", {"url": "https://a.com/x"}, {"allow": ["WebFetch"]}, "allow", "rule"),
        ("WebFetch", {"url": "https://b.a.com"}, {"deny": ["WebFetch(domain:a.com)"]}, "deny", "rule"),
        ("WebFetch", {}, {"allow": ["WebFetch"]}, "deny", "other"),
        ("WebSearch", {"query": "x"}, {}, "ask", "mode"),
        ("Task", {"subagent_type": "x"}, {}, "allow", "mode"),
        ("Task", {"subagent_type": "x"}, {"deny": ["Task(x)"]}, "deny", "rule"),
        ("Agent", {"subagent_type": "y"}, {"deny": ["Task(x)"]}, "allow", "mode"),
        ("Skill", {"skill": "a:b"}, {"allow": ["Skill(a:*)"]}, "allow", "rule"),
        ("Skill", {"skill": "ab"}, {"allow": ["Skill(a:*)"]}, "ask", "mode"),
        ("Skill", {"skill": "a"}, {"allow": ["Skill(a*)"]}, "ask", "mode"),
        ("mcp__s__t", {}, {}, "ask", "mode"),
        ("mcp__s__t", {}, {"allow": ["mcp__s"]}, "allow", "rule"),
        ("mcp__s__t", {}, {"allow": ["mcp__s__*"]}, "allow", "rule"),
        ("mcp__s__t", {}, {"allow": ["mcp__s__t"], "deny": ["mcp__s"]}, "deny", "rule"),
        ("mcp__s__t", {}, {"allow": ["mcp__*"]}, "ask", "mode"),
        ("mcp__s__t", {}, {"deny": ["mcp__*"]}, "deny", "rule"),
        ("mcp__s_evil__t", {}, {"allow": ["mcp__s"]}, "ask", "mode"),
        ("mcp__s__evil__t", {}, {"allow": ["mcp__s"]}, "ask", "mode"),
        ("mcp__s__evil__t", {}, {"deny": ["mcp__s"]}, "deny", "rule"),
        ("mcp__s__get_x", {}, {"allow": ["mcp__s__get_*"]}, "allow", "rule"),
        ("mcp__s__t", {}, {"deny": ["mcp__s__t(x)"]}, "deny", "rule"),
        ("mcp__s__t", {}, {"allow": ["mcp__s__t(x)"]}, "ask", "mode"),
        ("mcp__s", {}, {"allow": ["mcp__s__*"]}, "ask", "mode"),
        ("Odd", {}, {}, "ask", "mode"),
        ("Odd", {}, {"allow": ["*"]}, "ask", "mode"),
        ("Odd", {}, {"deny": ["Od*"]}, "deny", "rule"),
        ("Odd", {}, {"deny": ["(x)"]}, "ask", "rule"),
        ("AskUserQuestion", {}, {"allow": ["AskUserQuestion"]}, "ask", "interaction"),
        ("ExitPlanMode", {}, {}, "ask", "interaction"),
        ("Bash", {}, {}, "deny", "other"),
        ("Bash", {"command": "ls"}, {"deny": ["Bash"]}, "deny", "rule"),
        ("Bash", {"command": ""}, {}, "allow", "other"),
    ],
)
def test_a_tool_is_decided(tool: str, given_input: dict[str, Any], texts: dict[str, Any], behavior: str, kind: str):
    decision = ask_for(tool, given_input, **texts)
    assert (decision.behavior, decision.reason_type) == (behavior, kind)


@pytest.mark.parametrize(
    ("tool", "mode", "texts", "behavior"),
    [
        ("Write", "acceptEdits", {}, "allow"),
        ("Write", "plan", {}, "ask"),
        ("Write", "plan", {"allow": ["Edit"]}, "ask"),
        ("Write", "bypassPermissions", {}, "allow"),
        ("Write", "bypassPermissions", {"ask": ["Edit"]}, "ask"),
        ("Write", "dontAsk", {}, "deny"),
        ("AskUserQuestion", "bypassPermissions", {}, "ask"),
        ("AskUserQuestion", "dontAsk", {}, "deny"),
        ("ExitPlanMode", "acceptEdits", {}, "ask"),
        ("WebFetch", "acceptEdits", {}, "ask"),
        ("WebSearch", "acceptEdits", {}, "allow"),
        ("mcp__s__t", "bypassPermissions", {}, "allow"),
    ],
)
def test_the_mode_counts(tool: str, mode: str, texts: dict[str, Any], behavior: str):
    given_input = {"file_path": "a", "url": "https://a.com"}
    assert ask_for(tool, given_input, mode=mode, **texts).behavior == behavior


@pytest.mark.parametrize(
    ("tool", "field", "subject"),
    [("Read", "file_path", "read a"), ("NotebookEdit", "notebook_path", "write a"), ("Grep", "path", "read a")],
)
def test_a_step_tells_what_becomes_of_the_file(tool: str, field: str, subject: str):
    assert [step.subject for step in ask_for(tool, {field: "a"}).steps] == [subject]


def test_without_a_person_ask_means_deny():
    decision = ask_about("make", can_prompt=False)
    assert (decision.behavior, decision.reason_type) == ("deny", "asyncAgent")
    assert decision.reason == "no one can be asked: no rule allows it"
    assert [(step.subject, step.behavior) for step in decision.steps] == [("make", "ask"), ("Bash", "deny")]


def test_in_the_mode_dont_ask_ask_always_means_deny():
    for can_prompt in (True, False):
        decision = ask_about("make", mode="dontAsk", can_prompt=can_prompt)
        assert (decision.behavior, decision.reason_type) == ("deny", "mode")
        assert decision.reason == "the mode dontAsk denies what would be asked: no rule allows it"


def test_reason_for_asking_is_given_even_without_a_person():
    decision = ask_for("Read", {"file_path": "/x/a"}, ask=["Read(//x/**)"], can_prompt=False)
    assert (decision.behavior, decision.blocked_path) == ("deny", "/x/a")
    assert decision.rule is not None
    assert decision.rule.rule == Rule("Read", "//x/**")
    assert (decision.steps[-1].rule, decision.steps[-1].path) == (decision.rule, "/x/a")


def test_the_strictest_part_decides_and_every_part_is_a_step():
    decision = ask_about("git status; make; rm x", deny=["Bash(rm:*)"])
    assert [step.behavior for step in decision.steps] == ["allow", "ask", "deny"]
    assert [step.subject for step in decision.steps] == ["git status", "make", "rm x"]
    assert (decision.behavior, decision.rule and decision.rule.rule) == ("deny", Rule("Bash", "rm:*"))


def test_several_parts_without_a_rule_are_reported():
    for command, behavior, kind in (
        ("make; cargo build", "ask", "subcommandResults"),
        ("make; ls", "ask", "other"),
        ("make; cargo build; cat /x/a", "ask", "subcommandResults"),
    ):
        decision = ask_about(command)
        assert (decision.behavior, decision.reason_type) == (behavior, kind)


def test_rule_or_check_is_reported_even_among_several_parts():
    assert ask_about("cargo x; make", ask=["Bash(cargo:*)"]).reason_type == "rule"
    assert ask_about("rm -rf ~; make").reason_type == "safetyCheck"


def test_a_rule_is_suggested_where_only_a_rule_is_missing():
    (update,) = ask_about("git commit -m x").suggestions
    assert [rule.rule_content for rule in update.rules] == ["git commit *"]
    assert ask_about("cat /etc/shadow && git commit -m x").suggestions == ()


def test_in_an_untrusted_folder_git_is_asked_for():
    assert ask_about("git status", trusted=False).behavior == "ask"
    assert ask_about("git status").behavior == "allow"


@pytest.mark.parametrize(
    ("tool", "given_input", "behavior"),
    [
        ("NotebookEdit", {"notebook_path": ".claude/settings.json", "file_path": "a"}, "ask"),
        ("NotebookEdit", {"notebook_path": "a", "file_path": "/etc/x"}, "ask"),
        ("NotebookEdit", {"notebook_path": "a", "file_path": "b"}, "allow"),
        ("NotebookEdit", {"notebook_path": "a", "file_path": ""}, "deny"),
        ("Grep", {"file_path": "a", "path": "/etc"}, "ask"),
        ("Glob", {"pattern": "{..,x}/{..,y}/etc/*"}, "ask"),
    ],
)
def test_whichever_path_a_tool_goes_by_is_judged(tool: str, given_input: dict[str, Any], behavior: str):
    assert ask_for(tool, given_input, mode="acceptEdits").behavior == behavior


@pytest.mark.parametrize(
    ("tool", "given_input", "rule", "behavior"),
    [
        ("Skill", {"skill": "deploy"}, "Skill(*)", "deny"),
        ("Skill", {"skill": "/Deploy prod"}, "Skill(deploy)", "deny"),
        ("SlashCommand", {"command": "/deploy prod"}, "SlashCommand(/deploy:*)", "deny"),
        ("Skill", {"skill": "deploy:now"}, "Skill(deploy)", "deny"),
        ("Skill", {"skill": "deployer"}, "Skill(deploy)", "allow"),
        ("Skill", {"skill": "deployer"}, "Skill(deploy*)", "deny"),
        ("Task", {"subagent_type": "Explore"}, "Agent(explore)", "deny"),
        ("Task", {"subagent_type": ["Explore"]}, "Task(Explore)", "deny"),
        ("Task", {}, "Task(Explore)", "deny"),
        ("bash", {"command": "x"}, "Bash(rm:*)", "deny"),
    ],
)
def test_a_refusal_is_generous_about_names(tool: str, given_input: dict[str, Any], rule: str, behavior: str):
    assert ask_for(tool, given_input, mode="bypassPermissions", deny=[rule]).behavior == behavior


@pytest.mark.parametrize(
    ("name", "rule", "behavior"),
    [
        ("deploy", "Skill(deploy)", "allow"),
        ("p:x", "Skill(p:*)", "allow"),
        ("p", "Skill(p:*)", "allow"),
        ("px", "Skill(p:*)", "ask"),
        ("px", "Skill(p*)", "ask"),
        ("Deploy", "Skill(deploy)", "ask"),
        (["deploy"], "Skill(deploy)", "ask"),
    ],
)
def test_an_allow_takes_a_name_to_the_letter(name: object, rule: str, behavior: str):
    assert ask_for("Skill", {"skill": name}, allow=[rule]).behavior == behavior


@pytest.mark.parametrize(
    ("command", "behavior"),
    [("cat ../a.txt", "allow"), ("cat ../../a.txt", "ask"), ("touch x", "allow"), ("rm ../../x", "ask")],
)
def test_paths_of_a_command_begin_where_the_shell_is(command: str, behavior: str):
    circumstances = Circumstances(anchors=ANCHORS, mode="acceptEdits", folder=f"{ANCHORS.cwd}/src")
    assert decide("Bash", {"command": command}, circumstances, Disk()).behavior == behavior


@pytest.mark.parametrize("command", ["sleep 0.1", "sleep .5", "sleep 2m", "sleep 1m 30s", "timeout 0.5 ls"])
def test_durations_may_be_fractions_and_have_units(command: str):
    assert ask_about(command).behavior == "allow"


@pytest.mark.parametrize("command", ["sleep x", "sleep 1x", "sleep --help=x", "sleep $(ls)"])
def test_other_operands_of_sleep_ask(command: str):
    assert ask_about(command).behavior == "ask"
