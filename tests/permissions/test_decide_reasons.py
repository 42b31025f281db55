"""A decision tells why: its reason, the rule, the path, and what could be allowed for next time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.permissions.bash_cases import ANCHORS, ask_about, ask_for

CWD = ANCHORS.cwd


@pytest.mark.parametrize(
    ("tool", "given_input", "texts", "behavior", "kind", "reason", "rule", "path"),
    [
        ("Bash", {"command": 7}, {"allow": ["Bash"]}, "deny", "other", "the command is missing", None, None),
        ("Write", {"file_path": ""}, {}, "deny", "other", "the path is missing", None, None),
        ("Write", {"file_path": None}, {}, "deny", "other", "the path is missing", None, None),
        ("Read", {"file_path": ""}, {}, "deny", "other", "the path is missing", None, None),
        ("LS", {"path": ""}, {}, "deny", "other", "the path is missing", None, None),
        (
            "Write",
            {"file_path": "a", "path": 7},
            {"allow": ["Edit"]},
            "deny",
            "other",
            "the path is missing",
            None,
            None,
        ),
        ("WebFetch", {"url": None}, {}, "deny", "other", "the address is missing", None, None),
        (
            "Read",
            {"file_path": "/x/a"},
            {},
            "ask",
            "workingDir",
            "/x/a is outside the folders that may be worked in",
            None,
            "/x/a",
        ),
        (
            "Read",
            {"path": "/x/a"},
            {},
            "ask",
            "workingDir",
            "/x/a is outside the folders that may be worked in",
            None,
            "/x/a",
        ),
        (
            "Read",
            {"file_path": "a", "path": "/x/a"},
            {},
            "ask",
            "workingDir",
            "/x/a is outside the folders that may be worked in",
            None,
            "/x/a",
        ),
        (
            "Read",
            {"file_path": "/x/a"},
            {"deny": ["Read(//x/**)"]},
            "deny",
            "rule",
            "the rule Read(//x/**) denies /x/a",
            "Read(//x/**)",
            "/x/a",
        ),
        ("Read", {"file_path": "a"}, {"allow": ["Read"]}, "allow", "rule", "the rule Read allows it", "Read", None),
        (
            "Write",
            {"file_path": "a"},
            {},
            "ask",
            "mode",
            "in the mode default a change of a file is asked for",
            None,
            f"{CWD}/a",
        ),
        (
            "WebSearch",
            {},
            {"ask": ["WebSearch"], "allow": ["WebSearch"]},
            "ask",
            "rule",
            "the rule WebSearch asks about it",
            "WebSearch",
            None,
        ),
        (
            "WebSearch",
            {},
            {"deny": ["WebSearch"], "ask": ["WebSearch"]},
            "deny",
            "rule",
            "the rule WebSearch denies it",
            "WebSearch",
            None,
        ),
        ("WebSearch", {}, {"allow": ["WebSearch"]}, "allow", "rule", "the rule WebSearch allows it", "WebSearch", None),
        ("WebSearch", {}, {}, "ask", "mode", "no rule allows it, and in the mode default it is asked for", None, None),
        (
            "WebSearch",
            {},
            {"allow": ["WebSearch("]},
            "ask",
            "mode",
            "no rule allows it, and in the mode default it is asked for",
            None,
            None,
        ),
        (
            "WebSearch",
            {},
            {"ask": ["WebSearch("]},
            "ask",
            "rule",
            (
                "a rule about it cannot be read: 'WebSearch(' is not a valid rule:"
                " the closing bracket is missing (at character 11)"
            ),
            "WebSearch",
            None,
        ),
        (
            "WebSearch",
            {},
            {"deny": ["WebSearch("]},
            "ask",
            "rule",
            (
                "a rule about it cannot be read: 'WebSearch(' is not a valid rule:"
                " the closing bracket is missing (at character 11)"
            ),
            "WebSearch",
            None,
        ),
        (
            "WebFetch",
            {"url": "https://a.com"},
            {"deny": ["WebFetch(domain:a.com)"], "allow": ["WebFetch"]},
            "deny",
            "rule",
            "the rule WebFetch(domain:a.com) denies a.com",
            "WebFetch(domain:a.com)",
            None,
        ),
        (
            "WebFetch",
            {"url": "https://a.com"},
            {"deny": ["WebFetch"], "allow": ["WebFetch(domain:a.com)"]},
            "deny",
            "rule",
            "the rule WebFetch denies it",
            "WebFetch",
            None,
        ),
        (
            "WebFetch",
            {"url": "https://a.com"},
            {"allow": ["WebFetch(domain:a.com)"]},
            "allow",
            "rule",
            "the rule WebFetch(domain:a.com) allows a.com",
            "WebFetch(domain:a.com)",
            None,
        ),
        (
            "Task",
            {"subagent_type": "x"},
            {"allow": ["Task"]},
            "allow",
            "mode",
            "the mode default lets it pass",
            None,
            None,
        ),
        (
            "AskUserQuestion",
            {},
            {"allow": ["AskUserQuestion"]},
            "ask",
            "interaction",
            "only a person can answer this",
            None,
            None,
        ),
        (
            "AskUserQuestion",
            {},
            {"deny": ["AskUserQuestion"]},
            "deny",
            "rule",
            "the rule AskUserQuestion denies it",
            "AskUserQuestion",
            None,
        ),
        (
            "Bash",
            {"command": "make"},
            {"deny": ["Bash(make:*)"]},
            "deny",
            "rule",
            "the rule Bash(make:*) denies it",
            "Bash(make:*)",
            None,
        ),
        (
            "Bash",
            {"command": "cat /x/a"},
            {},
            "ask",
            "workingDir",
            "/x/a is outside the folders that may be worked in",
            None,
            "/x/a",
        ),
    ],
)
def test_a_decision_names_its_reason_its_rule_and_the_path(
    tool: str, given_input: dict[str, Any], texts: dict[str, Any], behavior: str, kind: str, reason: str,
    rule: str | None, path: str | None,
):  # fmt: skip
    decision = ask_for(tool, given_input, **texts)
    assert (decision.behavior, decision.reason_type, decision.reason) == (behavior, kind, reason)
    assert (decision.rule and str(decision.rule.rule), decision.blocked_path) == (rule, path)
    (step,) = [step for step in decision.steps if step.reason == reason]
    assert (step.behavior, step.reason_type, step.rule, step.path) == (behavior, kind, decision.rule, path)


@pytest.mark.parametrize(
    ("tool", "field", "name", "content", "allow", "deny"),
    [
        ("Skill", "skill", "a", "a", "allow", "deny"),
        ("Skill", "skill", "a:b", "a:b", "allow", "deny"),
        ("Skill", "skill", "a", "a:*", "allow", "deny"),
        ("Skill", "skill", "a:b", "a:*", "allow", "deny"),
        ("Skill", "skill", "ab", "a:*", "ask", "deny"),
        ("Skill", "skill", "ab", "a*", "ask", "deny"),
        ("Skill", "skill", "b", "a*", "ask", "ask"),
        ("Skill", "skill", "ab", "a", "ask", "ask"),
        ("Skill", "skill", "a:b", "a", "ask", "deny"),
        ("Skill", "skill", "a b", "a", "ask", "deny"),
        ("Skill", "skill", "b a", "a", "ask", "ask"),
        ("Skill", "skill", " /A ", "a", "ask", "deny"),
        ("Skill", "skill", "a", "/A", "ask", "deny"),
        ("Skill", "skill", 7, "a", "ask", "deny"),
        ("Skill", "skill", None, "a", "ask", "deny"),
        ("SlashCommand", "command", "a", "a", "allow", "deny"),
        ("SlashCommand", "skill", "b", "a", "ask", "deny"),
        ("Task", "subagent_type", "b", "a", "allow", "allow"),
        ("Task", "subagent_type", "a", "a", "allow", "deny"),
        ("Agent", "subagent_type", "a", "a", "allow", "deny"),
        ("WebSearch", "", "", "a", "ask", "deny"),
    ],
)
def test_a_content_is_the_name_that_a_tool_is_given(
    tool: str, field: str, name: Any, content: str, allow: str, deny: str
):
    rule = f"{tool}({content})"
    decisions = [ask_for(tool, {field: name}, **{kind: [rule]}) for kind in ("allow", "deny", "ask")]
    assert [decision.behavior for decision in decisions[:2]] == [allow, deny]
    assert (decisions[2].reason_type == "rule") is (deny == "deny")
    if deny == "deny":
        assert decisions[1].reason == f"the rule {rule} denies it"


@pytest.mark.parametrize(
    ("tool", "given_input", "kinds"),
    [
        ("Bash", {"command": "git commit -m x"}, ["addRules"]),
        ("Bash", {"command": "git commit -m x; cat /x/a"}, []),
        ("Bash", {"command": "ls"}, []),
        ("Write", {"file_path": "a"}, ["setMode"]),
        ("Write", {"file_path": "/x/a"}, ["setMode", "addDirectories"]),
        ("Read", {"file_path": "/x/a"}, ["addRules"]),
        ("Glob", {"pattern": "/x/y/*"}, ["addRules"]),
        ("Read", {"file_path": "a"}, []),
        ("WebFetch", {"url": "https://a.com"}, ["addRules"]),
        ("mcp__s__t", {}, ["addRules"]),
        ("Odd", {}, []),
    ],
)
def test_suggestions_belong_to_the_question(tool: str, given_input: dict[str, Any], kinds: list[str]):
    assert sorted(update.type for update in ask_for(tool, given_input).suggestions) == sorted(kinds)
    assert ask_for(tool, given_input, can_prompt=False).suggestions == ()
    assert ask_for(tool, given_input, ask=["*"]).suggestions == ()


def test_the_mode_counts_for_what_is_suggested():
    asked = ask_for("Write", {"file_path": "/x/a"}, mode="acceptEdits")
    assert [update.type for update in asked.suggestions] == ["addDirectories"]
    assert [update.type for update in ask_about("touch /x/a", mode="acceptEdits").suggestions] == []
    assert "setMode" in [update.type for update in ask_about("touch a").suggestions]


@pytest.mark.parametrize(
    ("tool", "pattern", "behavior"),
    [("Glob", "*", "allow"), ("Grep", "x", "allow"), ("Glob", "/etc/*", "ask"), ("Glob", "../*", "ask")],
)
def test_an_empty_path_of_a_search_is_the_working_folder(tool: str, pattern: str, behavior: str):
    found = ask_for(tool, {"pattern": pattern, "path": ""})
    assert found == ask_for(tool, {"pattern": pattern})
    assert found.behavior == behavior
    assert ask_for(tool, {"pattern": pattern, "path": ""}, deny=["Read"]).behavior == "deny"
