from __future__ import annotations

from typing import Any

import pytest

from handrail.agent.hooks.registration import (
    CallbackHook,
    CommandHook,
    InvalidHooks,
    is_meant,
    read_callbacks,
    read_commands,
)
from handrail.settings.merge import HookEntry


@pytest.mark.parametrize(
    ("matcher", "name", "meant"),
    [
        ("", "Bash", True),
        ("*", "Bash", True),
        ("Bash", "Bash", True),
        ("Bash", "bash", False),
        ("Bash", "BashOutput", False),
        ("Bash|Write", "Write", True),
        ("Bash | Write", "Write", True),
        ("Bash|Write", "Read", False),
        ("Notebook.*", "NotebookEdit", True),
        ("Notebook.*", "MyNotebook", True),
        ("^Notebook.*", "MyNotebook", False),
        ("ea.", "Read", True),
        ("mcp__memory__.*", "mcp__memory__add", True),
        ("mcp__memory__.*", "mcp__other__add", False),
        ("(", "Bash", False),
        ("(Bash", "Bash", False),
        ("[", "Bash", False),
        ("(a+)+", "b", True),
        ("x" * 2000 + ".", "b", True),
    ],
)
def test_a_matcher_matches_names(matcher: str, name: str, *, meant: bool):
    assert is_meant(matcher, name) is meant


def test_callbacks_are_read():
    registered = {
        "PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["a", "b"], "timeout": 2}],
        "Stop": [{"matcher": None, "hookCallbackIds": ["c"]}],
        "Tomorrow": [{"hookCallbackIds": ["d"]}],
    }
    assert read_callbacks(registered) == (
        CallbackHook("PreToolUse", "Bash", "a", 2.0),
        CallbackHook("PreToolUse", "Bash", "b", 2.0),
        CallbackHook("Stop", "", "c"),
        CallbackHook("Tomorrow", "", "d"),
    )
    assert read_callbacks(None) == read_callbacks({}) == ()


UNUSABLE: list[tuple[Any, str]] = [
    ([], "must be an object"),
    ({"Stop": "x"}, "hooks.Stop must be a list"),
    ({"Stop": ["x"]}, r"hooks.Stop\[0\] must be an object"),
    ({"Stop": [{}]}, "hookCallbackIds must be a list of texts"),
    ({"Stop": [{"hookCallbackIds": [1]}]}, "hookCallbackIds must be a list of texts"),
    ({"Stop": [{"hookCallbackIds": [], "matcher": 5}]}, "matcher must be text"),
    ({"Stop": [{"hookCallbackIds": [], "timeout": 0}]}, "above 0"),
    ({"Stop": [{"hookCallbackIds": [], "timeout": True}]}, "above 0"),
]


@pytest.mark.parametrize(("registered", "words"), UNUSABLE)
def test_an_invalid_registration_is_explained(registered: Any, words: str):
    with pytest.raises(InvalidHooks, match=words):
        read_callbacks(registered)


IN_BACKGROUND: dict[str, Any] = {"async": True}


def entry(event: str = "Stop", **hook: Any) -> HookEntry:
    return HookEntry(event, "m", hook, "userSettings", "settings.json", 7)


def test_commands_are_read_and_invalid_ones_reported():
    hooks, problems = read_commands(
        [
            entry(type="command", command="a", timeout=3),
            entry(command="b"),
            entry(command="c", **IN_BACKGROUND),
            entry(type="prompt", prompt="x"),
            entry(type="command"),
            entry("Nonsense", command="x"),
            entry(command="x", timeout="soon"),
            entry("Setup", command="x"),
            entry(command="x", shell="powershell"),
            entry(command="x", args="one"),
            entry(command="x", **{"if": "Bash"}),
            entry("PreToolUse", command="d", args=["x"], **{"if": "Bash(git *)"}),
            entry("PreToolUse", command="e", **{"if": "Bash("}),
        ]
    )
    assert hooks == (
        CommandHook("Stop", "m", "a", 3.0),
        CommandHook("Stop", "m", "b"),
        CommandHook("Stop", "m", "c", in_background=True),
        CommandHook("PreToolUse", "m", "d", condition="Bash(git *)", arguments=("x",)),
        CommandHook("PreToolUse", "m", "e"),
    )
    assert len(problems) == 9
    assert all(problem.startswith("settings.json:7: ") for problem in problems)


@pytest.mark.parametrize(
    ("event", "given", "limit"),
    [
        ("Stop", {}, 600),
        ("UserPromptSubmit", {}, 30),
        ("SessionEnd", {}, 1.5),
        ("SessionEnd", {"timeout": 10}, 10),
        ("SessionEnd", {"timeout": 1000}, 60),
        ("Stop", {"timeout": 1e9}, 24 * 3600),
    ],
)
def test_commands_have_a_time_limit(event: str, given: dict[str, Any], limit: float):
    (hook,), _ = read_commands([entry(event, command="x", **given)])
    assert hook.limit == limit
