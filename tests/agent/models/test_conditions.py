"""handrail.agent.models.conditions: which requests a reply is for."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.agent.models.conditions import Asked
from handrail.agent.models.script import Script, ScriptError, When

CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "two files"}
FAILURE = {**RESULT, "content": [{"type": "text", "text": "denied"}], "is_error": True}
SAID = {"type": "text", "text": "Step 3: look."}


def asked(*contents: Any, **request: Any) -> Asked:
    """A conversation in which user and model take turns."""
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": content} for number, content in enumerate(contents)]
    return Asked({"messages": messages, **request})


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
def test_the_last_message_and_the_newest_results_are_looked_at(when: When):
    assert asked("go", [SAID, CALL], [RESULT]).fits(when, main=True)


@pytest.mark.parametrize("when", [When(said="Step 4"), When(after="Read"), When(failed=True), When(prompt="go")])
def test_a_condition_that_does_not_hold_is_not_met(when: When):
    assert not asked("go", [SAID, CALL], [RESULT]).fits(when, main=True)


def test_a_failed_result_is_told_from_a_good_one():
    assert asked("go", [CALL], [FAILURE]).fits(When(failed=True, tool_result="denied"), main=True)


def test_what_the_model_said_earlier_does_not_count():
    later = asked("go", [SAID, CALL], [RESULT], "Done.", "thanks")
    assert not later.fits(When(said="Step 3"), main=True)
    assert not later.fits(When(after="Bash"), main=True)


def test_at_the_start_the_model_has_said_nothing():
    assert not asked("go").fits(When(said="go"), main=True)
    assert not asked("go").fits(When(after="Bash"), main=True)


def test_a_message_of_the_model_that_comes_in_parts_is_one():
    parts = [{"role": "assistant", "content": [SAID]}, {"role": "assistant", "content": [CALL]}]
    request = {"messages": [{"role": "user", "content": "go"}, *parts, {"role": "user", "content": [RESULT]}]}
    assert Asked(request).fits(When(said="Step 3", after="Bash", tool_result="two"), main=True)


def test_an_expression_is_searched_in_the_newest_text():
    assert asked("Give me the TOUR, please").fits(When(matches=r"(?i)\btour\b"), main=True)
    assert not asked("a contour").fits(When(matches=r"(?i)\btour\b"), main=True)


def test_an_expression_that_is_none_is_refused_with_its_place():
    with pytest.raises(ScriptError, match="no regular expression"):
        Script.from_dict({"replies": [{"when": {"matches": "("}, "blocks": [{"type": "ping"}]}]})


def test_several_messages_of_the_user_are_one_prompt_in_their_order():
    request = {"messages": [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]}
    assert Asked(request).prompt == "one\ntwo"


def test_what_is_offered_is_found_by_name_or_pattern():
    tools = [{"name": "mcp__time__now"}]
    assert asked("x", tools=tools).fits(When(offers="mcp__*"), main=True)
    assert not asked("x", tools=tools).fits(When(offers="Bash"), main=True)


@pytest.mark.parametrize("messages", [None, "x", [1, None], [{"role": "assistant", "content": 7}], {"a": 1}])
def test_a_conversation_in_any_shape_does_no_harm(messages: Any):
    assert Asked({"messages": messages}).prompt == ""
