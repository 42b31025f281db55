"""Conditions of scripted replies."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.agent.models.conditions import RequestView
from handrail.agent.models.script import Script, ScriptError, When

CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "two files"}
FAILURE = {**RESULT, "content": [{"type": "text", "text": "denied"}], "is_error": True}
SAID = {"type": "text", "text": "Step 3: look."}


def asked(*contents: Any, **request: Any) -> RequestView:
    """A conversation that alternates between user and model."""
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": content} for number, content in enumerate(contents)]
    return RequestView({"messages": messages, **request})


@pytest.mark.parametrize(
    "when",
    [
        When(said="Step 3"),
        When(after="Bash"),
        When(tool_result="two"),
        When(failed=False),
        When(said="Step 3", after="Bash", failed=False),
    ],
)
def test_last_message_and_newest_results_are_matched(when: When):
    assert asked("go", [SAID, CALL], [RESULT]).fits(when, main=True)


@pytest.mark.parametrize("when", [When(said="Step 4"), When(after="Read"), When(failed=True), When(prompt="go")])
def test_unmet_conditions_do_not_match(when: When):
    assert not asked("go", [SAID, CALL], [RESULT]).fits(when, main=True)


def test_failed_result_is_recognized():
    assert asked("go", [CALL], [FAILURE]).fits(When(failed=True, tool_result="denied"), main=True)


def test_earlier_messages_of_the_model_are_ignored():
    later = asked("go", [SAID, CALL], [RESULT], "Done.", "thanks")
    assert not later.fits(When(said="Step 3"), main=True)
    assert not later.fits(When(after="Bash"), main=True)


def test_conditions_on_the_model_fail_at_the_start():
    assert not asked("go").fits(When(said="go"), main=True)
    assert not asked("go").fits(When(after="Bash"), main=True)


def test_split_message_of_the_model_is_joined():
    parts = [{"role": "assistant", "content": [SAID]}, {"role": "assistant", "content": [CALL]}]
    request = {"messages": [{"role": "user", "content": "go"}, *parts, {"role": "user", "content": [RESULT]}]}
    assert RequestView(request).fits(When(said="Step 3", after="Bash", tool_result="two"), main=True)


def test_expression_is_searched_in_the_newest_text():
    assert asked("Give me the TOUR, please").fits(When(matches=r"(?i)\btour\b"), main=True)
    assert not asked("a contour").fits(When(matches=r"(?i)\btour\b"), main=True)


def test_invalid_expression_is_rejected():
    with pytest.raises(ScriptError, match="not a valid regular expression"):
        Script.from_dict({"replies": [{"when": {"matches": "("}, "blocks": [{"type": "ping"}]}]})


def test_consecutive_user_messages_are_joined_in_order():
    request = {"messages": [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]}
    assert RequestView(request).prompt == "one\ntwo"


def test_offered_tools_are_matched_by_name_or_pattern():
    tools = [{"name": "mcp__time__now"}]
    assert asked("x", tools=tools).fits(When(offers="mcp__*"), main=True)
    assert not asked("x", tools=tools).fits(When(offers="Bash"), main=True)


@pytest.mark.parametrize("messages", [None, "x", [1, None], [{"role": "assistant", "content": 7}], {"a": 1}])
def test_malformed_conversations_are_tolerated(messages: Any):
    assert RequestView({"messages": messages}).prompt == ""
