"""Rules are read and written so that nothing is lost, and what cannot be read errs to the safe side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.permissions.rules.rule import (
    LONGEST_RULE,
    Rule,
    RuleError,
    SourcedRule,
    parse_rule,
    read_rules,
    split_rules,
)

TOOLS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
SEEN = st.characters(categories=["L", "N", "P", "S", "Zs"])
CONTENTS = st.text(SEEN | st.sampled_from("()\\\"',*: \n\t"), min_size=1, max_size=60).filter(str.strip)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Read", Rule("Read")),
        (" Read ", Rule("Read")),
        ("_x.y-z9", Rule("_x.y-z9")),
        ("Bash(git push:*)", Rule("Bash", "git push:*")),
        ("  Bash(x) ", Rule("Bash", "x")),
        ("Bash( x )", Rule("Bash", " x ")),
        ("Bash(a\tb\nc)", Rule("Bash", "a\tb\nc")),
        ("Bash(rm (x))", Rule("Bash", "rm (x)")),
        ("Bash(a) b)", Rule("Bash", "a) b")),
        ("Bash())", Rule("Bash", ")")),
        ('Bash(echo "a, b")', Rule("Bash", 'echo "a, b"')),
        (r"Bash(echo \(\))", Rule("Bash", "echo ()")),
        (r"Bash(a\\)", Rule("Bash", "a\\")),
        (r"Bash(\\\))", Rule("Bash", "\\)")),
        (r"Bash(find \;)", Rule("Bash", r"find \;")),
        (r"Bash(a\b\\c)", Rule("Bash", r"a\b\c")),
        ("mcp__server", Rule("mcp__server")),
        ("mcp__server__*", Rule("mcp__server__*")),
        ("mcp__server__get_*(x)", Rule("mcp__server__get_*", "x")),
        ("WebFetch(domain:example.com)", Rule("WebFetch", "domain:example.com")),
        ("*", Rule("*")),
        ("*(x)", Rule("*", "x")),
        pytest.param("B" * LONGEST_RULE, Rule("B" * LONGEST_RULE), id="the longest"),
    ],
)
def test_a_rule_is_read(text: str, rule: Rule):
    assert parse_rule(text) == rule


EMPTY = "the rule is empty"
NO_TOOL = "the tool before the bracket is missing"
NO_END = "the closing bracket is missing"
NOTHING = "there is nothing between the brackets; for the whole tool write its name alone"
LETTERS = "a tool's name has letters, digits, _ . and - only"
UNSEEN = "the rule contains a character that cannot be seen"
LONG = "the rule is longer than 20000 characters"


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("", 0, EMPTY),
        ("   ", 0, EMPTY),
        ("(x)", 0, NO_TOOL),
        ("  (x)", 2, NO_TOOL),
        ("Bash(rm", 7, NO_END),
        ("  Bash(rm", 9, NO_END),
        ("Bash(", 5, NO_END),
        (r"Bash(rm\)", 9, NO_END),
        (r"Bash(rm\\\)", 11, NO_END),
        ("Bash(rm) x", 10, NO_END),
        ("Bash()", 5, NOTHING),
        (" Bash( )", 6, NOTHING),
        ("Ba sh", 2, LETTERS),
        ("  Ba sh(x)", 4, LETTERS),
        ("a*b", 2, LETTERS),
        ("**", 1, LETTERS),
        ("7x", 0, LETTERS),
        (" 7x(y)", 1, LETTERS),
        ("-x", 0, LETTERS),
        ("Bäsh", 1, LETTERS),
        ("Bash(a\u202eb)", 6, UNSEEN),
        pytest.param("B" * (LONGEST_RULE + 1), LONGEST_RULE, LONG, id="a long name"),
        pytest.param(f"Bash({'x' * LONGEST_RULE})", LONGEST_RULE, LONG, id="a long content"),
    ],
)
def test_invalid_rule_is_reported_with_its_position(text: str, position: int, problem: str):
    with pytest.raises(RuleError) as caught:
        parse_rule(text)
    assert (caught.value.position, caught.value.problem) == (position, problem)
    assert str(caught.value) == f"{problem} (at character {position + 1})"


@pytest.mark.parametrize(
    "sign",
    "\x00\x08\x0b\x0c\r\x1f\x7f\x80\x9f\u00ad\u061c\u200b\u200f\u2028\u202e\u2060\u206f\ufeff\ud800\udfff",
)
def test_invisible_character_in_a_rule_is_rejected(sign: str):
    with pytest.raises(RuleError, match=UNSEEN) as caught:
        parse_rule(f"Bash(a{sign}b)")
    assert caught.value.position == 6


@pytest.mark.parametrize("sign", "\t\n !~\u00a0\u00ac\u00ae\u200a\u2010\u2027\u202f\u205f\u2070\ufefe\uff00")
def test_a_sign_beside_them_is_not_refused(sign: str):
    assert parse_rule(f"Bash(a{sign}b)") == Rule("Bash", f"a{sign}b")


@given(TOOLS, st.none() | CONTENTS)
def test_a_rule_written_down_reads_back_as_the_same_rule(tool: str, content: str | None):
    rule = Rule(tool, content)
    assert parse_rule(str(rule)) == rule


@pytest.mark.parametrize(
    ("content", "written"),
    [
        (None, "Bash"),
        ("rm (x)", "Bash(rm (x))"),
        (r"a\b", r"Bash(a\b)"),
        ("a\\", r"Bash(a\\)"),
        (r"\(", r"Bash(\\()"),
        (r"\)", r"Bash(\\))"),
        (r"a\\b", r"Bash(a\\\\b)"),
        (r"\n\(", r"Bash(\\n\\()"),
    ],
)
def test_a_rule_is_written_as_people_write_it(content: str | None, written: str):
    assert str(Rule("Bash", content)) == written
    assert parse_rule(written) == Rule("Bash", content)


def test_rules_have_an_order():
    assert sorted([Rule("B", "x"), Rule("A", "y"), Rule("A", "x")]) == [Rule("A", "x"), Rule("A", "y"), Rule("B", "x")]


def test_rules_keep_where_they_came_from():
    assert read_rules(["Read", "Edit"], "deny", "userSettings", "f.json", [3]) == [
        SourcedRule(Rule("Read"), "deny", "userSettings", "f.json", 3, ""),
        SourcedRule(Rule("Edit"), "deny", "userSettings", "f.json", 0, ""),
    ]
    assert read_rules(["Read"], "ask", "session") == [SourcedRule(Rule("Read"), "ask", "session", "", 0, "")]
    assert SourcedRule(Rule("Read"), "ask") == SourcedRule(Rule("Read"), "ask", "session", "", 0, "")


@pytest.mark.parametrize(
    ("text", "legible"),
    [
        ("Bash(rm -rf", Rule("Bash", "rm -rf")),
        ("  Bash(rm", Rule("Bash", "rm")),
        ("Bash( rm ", Rule("Bash", "rm")),
        ("mcp__a__b-2.x(y", Rule("mcp__a__b-2.x", "y")),
        ("_own(", Rule("_own")),
        ("Bash(rm\\)", Rule("Bash", "rm")),
        ("Bash(rm \\ ", Rule("Bash", "rm")),
        ("Bash(rm) x", Rule("Bash", "rm) x")),
        ("Bash(", Rule("Bash")),
        ("Bash()", Rule("Bash")),
        ("(rm)", Rule("*")),
        ("7(rm)", Rule("*")),
        ("[x(rm", Rule("*")),
        ("`x(rm", Rule("*")),
        ("", Rule("*")),
        ("Bash x", Rule("Bash")),
        ("Bash x(rm", Rule("Bash", "rm")),
        pytest.param(f"Bash({'x' * LONGEST_RULE}y)", Rule("Bash", "x" * LONGEST_RULE), id="too long"),
    ],
)
def test_of_a_broken_rule_what_is_legible_is_kept(text: str, legible: Rule):
    (rule,) = read_rules([text], "deny", "policySettings", "f.json", [7])
    assert (rule.rule, rule.behavior, rule.scope, rule.source, rule.line) == (
        legible, "deny", "policySettings", "f.json", 7,
    )  # fmt: skip
    assert rule.broken


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Bash(", "'Bash(' is not a valid rule: the closing bracket is missing (at character 6)"),
        ("7" * 80, f"'{'7' * 80}' is not a valid rule: {LETTERS} (at character 1)"),
        ("7" * 81, f"'{'7' * 79}…' is not a valid rule: {LETTERS} (at character 1)"),
    ],
)
def test_reason_for_an_invalid_rule_contains_its_shortened_text(text: str, told: str):
    (rule,) = read_rules([text], "deny", "session")
    assert rule.broken == told


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Read", ["Read"]),
        ("Read,Edit Bash(a, b c),X", ["Read", "Edit", "Bash(a, b c)", "X"]),
        ("Bash(a (b, c) d) Y", ["Bash(a (b, c) d)", "Y"]),
        (r"Bash(a\)b,c) Y", [r"Bash(a\)b,c)", "Y"]),
        (r"Bash(a\(b) Y", [r"Bash(a\(b)", "Y"]),
        (r"Bash(a\\) Y", [r"Bash(a\\)", "Y"]),
        ("Bash(a, b", ["Bash(a, b"]),
        (") A", [")", "A"]),
        (") Bash(a b)", [")", "Bash(a b)"]),
        ("A\tB\nC", ["A", "B", "C"]),
        (" , ", []),
        ("", []),
    ],
)
def test_rules_in_one_text_are_parted(text: str, parts: list[str]):
    assert split_rules(text) == parts
