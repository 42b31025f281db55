"""What the word of a hook makes of a decision."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.permissions.decide import Circumstances, Step, with_hook
from tests.permissions.bash_cases import ANCHORS, ask_about, ask_for


@pytest.mark.parametrize(
    ("command", "texts", "word", "behavior"),
    [
        ("make", {}, "allow", "allow"),
        ("make", {"deny": ["Bash(make)"]}, "allow", "deny"),
        ("make", {"ask": ["Bash(make)"]}, "allow", "ask"),
        ("rm -rf /", {}, "allow", "ask"),
        ("ls", {}, "deny", "deny"),
        ("ls", {}, "ask", "ask"),
        ("ls", {}, "allow", "allow"),
        ("make", {}, "ask", "ask"),
        ("make", {}, "deny", "deny"),
        ("make", {"deny": ["Bash(make)"]}, "ask", "deny"),
        ("make", {"deny": ["Bash(make)"]}, "deny", "deny"),
        ("make; cat /proc/1/environ", {}, "allow", "ask"),
        ("make; cargo x", {}, "allow", "allow"),
        ("make; cargo x", {"ask": ["Bash(cargo:*)"]}, "allow", "ask"),
        ("make", {"can_prompt": False}, "allow", "deny"),
    ],
)
def test_a_hook_may_refuse_anything_and_lift_little(command: str, texts: dict[str, Any], word: Any, behavior: str):
    before = ask_about(command, **texts)
    after = with_hook(before, word, "because")
    assert after.behavior == behavior
    if after.reason_type == "hook":
        assert after.steps == (*before.steps, Step(behavior, "because", "hook", subject="a hook"))  # pyright: ignore[reportArgumentType]
        assert (after.reason, after.rule, after.suggestions, after.blocked_path) == ("because", None, (), None)
    else:
        assert after is before


@pytest.mark.parametrize(("command", "word"), [("make", "allow"), ("make", "deny"), ("ls", "ask"), ("ls", "deny")])
def test_a_hook_that_decides_is_the_reason(command: str, word: Any):
    after = with_hook(ask_about(command), word)
    assert (after.behavior, after.reason_type, after.reason) == (word, "hook", f"a hook said {word}")


def test_a_hook_does_not_answer_for_a_person():
    decision = ask_for("AskUserQuestion", {})
    assert with_hook(decision, "allow") is decision


@pytest.mark.parametrize(
    ("mode", "can_prompt", "word", "behavior", "kind"),
    [
        ("default", True, "ask", "ask", "hook"),
        ("default", False, "ask", "deny", "asyncAgent"),
        ("dontAsk", True, "ask", "deny", "mode"),
        ("default", False, "deny", "deny", "hook"),
        ("dontAsk", True, "deny", "deny", "hook"),
        ("default", False, "allow", "allow", "other"),
    ],
)
def test_hook_that_asks_denies_without_a_person(mode: str, can_prompt: bool, word: Any, behavior: str, kind: str):
    given_here = Circumstances(ANCHORS, mode=mode, can_prompt=can_prompt)
    after = with_hook(ask_about("ls"), word, circumstances=given_here)
    assert (after.behavior, after.reason_type) == (behavior, kind)
    if kind in ("asyncAgent", "mode"):
        assert (after.steps[-1].subject, after.steps[-2].reason_type) == ("a hook", "hook")
