"""What a decision and a rule say to a person."""

from __future__ import annotations

import pytest

from handrail.permissions.circumstances import Decision, Step
from handrail.permissions.explain import decision_in_words, rule_in_words
from handrail.permissions.rules.rule import read_rules


def test_a_decision_tells_its_steps_and_what_decided():
    step = Step("ask", "no rule speaks of it", subject="git push")
    decision = Decision("ask", "no rule speaks of it", steps=(step,))
    assert decision_in_words(decision) == [
        "git push: ask, no rule speaks of it",
        "so: ask, because no rule speaks of it",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Read", "every use of Read"),
        ("Bash(git:*)", "commands that begin with `git`"),
        ("Bash(git log *)", "commands that begin with `git log`"),
        ("Bash(* --version)", "commands that match `* --version`"),
        ("Bash(make test)", "exactly the command `make test`"),
        ("Edit(/src/**)", "changing or creating what matches /src/** from the top of the project"),
        ("Glob(src/**)", "Glob on what matches src/** from the working folder"),
        ("Read(//etc/**)", "reading what matches //etc/** from the top of the disk"),
        ("Read(~/.ssh/**)", "reading what matches ~/.ssh/** in your home folder"),
        ("Skill(deploy)", "Skill of deploy"),
        ("*", "every tool"),
        ("WebFetch(domain:example.com)", "fetching from example.com"),
        ("mcp__files", "every tool of the MCP server files"),
        ("mcp__files__*", "every tool of the MCP server files"),
        ("mcp__files__read", "the tool read of files"),
    ],
)
def test_a_rule_says_what_it_lets_pass(text: str, words: str):
    (rule,) = read_rules([text], "allow", "userSettings")
    assert rule_in_words(rule) == f"lets pass without asking {words}"


def test_a_rule_that_cannot_be_read_says_so():
    (rule,) = read_rules(["Bash(git"], "deny", "userSettings")
    assert rule_in_words(rule).startswith("it cannot be read (")
    assert rule_in_words(rule).endswith("so it refuses every use of what it may have meant")


def test_an_allow_that_cannot_be_read_lets_nothing_pass():
    (rule,) = read_rules(["Bash(git"], "allow", "userSettings")
    assert rule_in_words(rule).endswith("so it lets nothing pass")
