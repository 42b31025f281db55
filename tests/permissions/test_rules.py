"""Rules are read and written so that nothing is lost, and what cannot be read errs to the safe side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.permissions.rules import LONGEST_RULE, Rule, RuleError, SourcedRule, parse_rule, read_rules, split_rules

TOOLS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
SEEN = st.characters(categories=["L", "N", "P", "S", "Zs"])
CONTENTS = st.text(SEEN | st.sampled_from("()\\\"',*: \n\t"), min_size=1, max_size=60).filter(str.strip)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Read", Rule("Read")),
        (" Read ", Rule("Read")),
        ("Bash(git push:*)", Rule("Bash", "git push:*")),
        ("Bash(rm (x))", Rule("Bash", "rm (x)")),
        ('Bash(echo "a, b")', Rule("Bash", 'echo "a, b"')),
        (r"Bash(echo \(\))", Rule("Bash", "echo ()")),
        (r"Bash(a\\)", Rule("Bash", "a\\")),
        (r"Bash(find \;)", Rule("Bash", r"find \;")),
        ("mcp__server", Rule("mcp__server")),
        ("mcp__server__*", Rule("mcp__server__*")),
        ("WebFetch(domain:example.com)", Rule("WebFetch", "domain:example.com")),
        ("*", Rule("*")),
    ],
)
def test_a_rule_is_read(text: str, rule: Rule):
    assert parse_rule(text) == rule


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("", 0, "empty"),
        ("   ", 0, "empty"),
        ("(x)", 0, "no tool"),
        ("Bash(rm", 7, "closing bracket"),
        (r"Bash(rm\)", 9, "closing bracket"),
        ("Bash(rm) x", 10, "closing bracket"),
        ("Bash()", 5, "nothing between"),
        ("Bash( )", 5, "nothing between"),
        ("Ba sh", 2, "letters"),
        ("7x", 0, "letters"),
        ("Bash(a\u202eb)", 6, "cannot be seen"),
        ("B" * (LONGEST_RULE + 1), LONGEST_RULE, "longer"),
    ],
)
def test_a_text_that_is_no_rule_is_reported_with_its_position(text: str, position: int, problem: str):
    with pytest.raises(RuleError, match=problem) as caught:
        parse_rule(text)
    assert caught.value.position == position


@given(TOOLS, st.none() | CONTENTS)
def test_a_rule_written_down_reads_back_as_the_same_rule(tool: str, content: str | None):
    rule = Rule(tool, content)
    assert parse_rule(str(rule)) == rule


def test_a_rule_is_written_as_people_write_it():
    assert [str(Rule("Bash", text)) for text in ("rm (x)", "a\\", r"\(")] == [
        "Bash(rm (x))",
        r"Bash(a\\)",
        r"Bash(\\()",
    ]


def test_rules_keep_where_they_came_from():
    assert read_rules(["Read", "Edit"], "deny", "userSettings", "f.json", [3]) == [
        SourcedRule(Rule("Read"), "deny", "userSettings", "f.json", 3),
        SourcedRule(Rule("Edit"), "deny", "userSettings", "f.json", 0),
    ]


@pytest.mark.parametrize(
    ("text", "legible"),
    [
        ("Bash(rm -rf", Rule("Bash", "rm -rf")),
        ("Bash(", Rule("Bash")),
        ("Bash()", Rule("Bash")),
        ("(rm)", Rule("*")),
        ("", Rule("*")),
        ("Bash x", Rule("Bash")),
    ],
)
def test_of_a_broken_rule_what_is_legible_is_kept(text: str, legible: Rule):
    (rule,) = read_rules([text], "deny", "session", "f.json", [7])
    assert (rule.rule, rule.line, bool(rule.broken)) == (legible, 7, True)


def test_a_long_broken_text_is_shown_shortened():
    (rule,) = read_rules(["x" * 10 + " " * 10 + "y" * 200], "deny", "session")
    assert "…" in rule.broken


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Read,Edit Bash(a, b c),X", ["Read", "Edit", "Bash(a, b c)", "X"]),
        (r"Bash(a\)b,c) Y", [r"Bash(a\)b,c)", "Y"]),
        (") A", [")", "A"]),
        (" , ", []),
    ],
)
def test_rules_in_one_text_are_parted(text: str, parts: list[str]):
    assert split_rules(text) == parts
