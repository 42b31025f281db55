"""A suggested rule says how broad it is, and how long it holds."""

from __future__ import annotations

import msgspec
import pytest

from handrail.cli.suggestion_words import rule_text, usable_suggestions, words_of
from handrail.schema.permission_types import PermissionRuleValue, read_suggestions


def rules(tool: str, content: str | None = None, destination: str = "session", behavior: str = "allow") -> object:
    rule = {"toolName": tool} | ({} if content is None else {"ruleContent": content})
    return {"type": "addRules", "rules": [rule], "behavior": behavior, "destination": destination}


LOCAL = "always in this project, for you: .claude/settings.local.json"


@pytest.mark.parametrize(
    ("suggestion", "what", "scope"),
    [
        (rules("Bash", "npm test *", "localSettings"), "allow every command that begins with `npm test`", LOCAL),
        (rules("Bash", "git:*", "localSettings"), "allow every command that begins with `git`", LOCAL),
        (rules("Bash", "make"), "allow exactly `make`", "in this session"),
        (rules("WebSearch"), "allow every use of WebSearch", "in this session"),
        (rules("WebFetch", "domain:a.example"), "allow fetching anything from a.example", "in this session"),
        (rules("Read", "//etc/**"), "allow Read of everything below /etc", "in this session"),
        (rules("Odd", "x", "tomorrow"), "allow Odd(x)", "kept in tomorrow"),
        (rules("Bash", "rm *", behavior="deny"), "deny every command that begins with `rm`", "in this session"),
        (
            {"type": "addDirectories", "directories": ["/a", "/b"], "destination": "session"},
            "work in /a, /b too",
            "in this session",
        ),
        (
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
            "from now on edit files and run simple file commands without asking",
            "mode acceptEdits, in this session",
        ),
        (
            {"type": "setMode", "mode": "bypassPermissions", "destination": "userSettings"},
            "from now on do everything without asking",
            "mode bypassPermissions, always in all your projects: ~/.claude/settings.json",
        ),
    ],
)
def test_a_suggestion_in_words(suggestion: object, what: str, scope: str):
    (update,) = usable_suggestions(read_suggestions(msgspec.json.encode([suggestion])))
    assert words_of(update) == (what, scope)


def test_only_what_can_be_handed_back_is_offered():
    raw = b'[{"behavior":"allow","message":"old"},{"type":"tomorrow"},{"type":"setMode","mode":"plan"}]'
    assert [update.type for update in usable_suggestions(read_suggestions(raw))] == ["setMode"]


def test_a_rule_is_written_as_the_option_takes_it():
    assert rule_text(PermissionRuleValue(tool_name="Bash", rule_content="make *")) == "Bash(make *)"
    assert rule_text(PermissionRuleValue(tool_name="WebSearch")) == "WebSearch"
