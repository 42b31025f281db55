"""What an answer means for a question, and that it is taken once."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.questions import Answer, Chosen, Questions, answered, question_of, turned_away
from handrail.client.callbacks import Allow, Deny, ElicitationAnswer, ElicitationRequest, PermissionRequest
from handrail.schema.view import read_view

RULE = {"type": "addRules", "behavior": "allow", "destination": "localSettings", "rules": [{"toolName": "Edit"}]}
DENIES = {**RULE, "behavior": "deny"}
BYPASS = {"type": "setMode", "mode": "bypassPermissions", "destination": "userSettings"}


def request(tool: str = "Bash", **fields: Any) -> PermissionRequest:
    body = {
        "subtype": "can_use_tool",
        "tool_name": tool,
        "tool_use_id": "t1",
        "input": {"command": "ls"},
        "permission_suggestions": [RULE, BYPASS, DENIES],
        **fields,
    }
    return read_view(PermissionRequest, json.dumps(body).encode())


def elicitation() -> ElicitationRequest:
    body = {"subtype": "elicitation", "mcp_server_name": "shop", "message": "Your size?"}
    return read_view(ElicitationRequest, json.dumps(body).encode())


def test_a_question_has_the_hash_of_all_that_was_asked():
    asked = request()
    question = question_of("q", asked)
    assert (question.kind, question.tool_use_id) == ("permission", "t1")
    assert question.hash == hashlib.sha256(asked.raw).hexdigest()
    assert question_of("q", request(input={"command": "ls "})).hash != question.hash
    kinds = [question_of("q", one).kind for one in (request("AskUserQuestion"), request("ExitPlanMode"), elicitation())]
    assert kinds == ["questions", "plan", "elicitation"]


async def test_a_question_is_taken_once_a_thousand_times():
    questions = Questions()
    for n in range(1000):
        question = question_of(str(n), request())
        questions.put(question, request())
        questions.claim(str(n), question.hash, Answer(behavior="allow" if n % 2 else "deny"))
        with pytest.raises(CommandRefused) as refused:
            questions.claim(str(n), question.hash, Answer(behavior="allow"))
        assert refused.value.code == "not_pending"
    assert len(questions) == 0


async def test_an_answer_that_does_not_fit_leaves_the_question_open():
    questions = Questions()
    question = question_of("q", request())
    questions.put(question, request())
    for shown, answer in (
        ("0" * 64, Answer(behavior="allow")),
        (question.hash, Answer(behavior="allow", updates=[Chosen(9)])),
        (question.hash, Answer(behavior="allow", updates=[Chosen(-1)])),
        (question.hash, Answer(behavior="allow", mode="default")),
    ):
        with pytest.raises(CommandRefused):
            questions.claim("q", shown, answer)
    assert questions.all() == [question]
    entry, _ = questions.claim("q", question.hash, Answer(behavior="deny"))
    questions.put_back(entry)
    assert questions.drop("q")
    entry.reply.cancel()
    questions.put_back(entry)
    assert questions.drop_all() == []


def test_deny_goes_to_the_model_with_its_reason():
    granted = answered(request(), Answer(behavior="deny", reason="not now", interrupt=True, updates=[Chosen(0)]))
    assert granted.reply == Deny("not now", interrupt=True)
    assert granted.rules == ()


def test_allow_grants_what_was_shown_for_the_chosen_scope_and_never_bypass():
    granted = answered(request(), Answer(behavior="allow", updates=[Chosen(0, "session")]))
    assert granted.reply == Allow(updates=[{**RULE, "destination": "session"}])
    assert granted.rules == ({**RULE, "destination": "session"},)
    assert answered(request(), Answer(behavior="allow", updates=[Chosen(0, "userSettings")])).rules == ()
    with pytest.raises(CommandRefused, match="bypassPermissions"):
        answered(request(), Answer(behavior="allow", updates=[Chosen(1)]))


def test_a_mode_is_no_rule_that_lapses():
    mode = {"type": "setMode", "mode": "acceptEdits", "rules": [], "destination": "session"}
    granted = answered(request(permission_suggestions=[mode]), Answer(behavior="allow", updates=[Chosen(0)]))
    assert (granted.reply, granted.rules) == (Allow(updates=[mode]), ())


def test_answers_go_by_the_text_of_the_question():
    asked = request("AskUserQuestion", input={"questions": [{"question": "Which?", "header": "h", "options": []}]})
    granted = answered(asked, Answer(behavior="allow", answers={"Which?": ["Red", "Blue"]}))
    assert isinstance(granted.reply, Allow)
    assert granted.reply.input == {**asked.input, "answers": {"Which?": "Red, Blue"}}
    for one, answer in ((asked, {"What?": "x"}), (request(), {"Which?": "x"})):
        with pytest.raises(CommandRefused):
            answered(one, Answer(behavior="allow", answers=answer))


def test_a_plan_is_gone_on_with_in_a_mode():
    granted = answered(request("ExitPlanMode", permission_suggestions=[]), Answer(behavior="allow", mode="acceptEdits"))
    assert granted.reply == Allow(updates=[{"type": "setMode", "mode": "acceptEdits", "destination": "session"}])


def test_an_elicitation_is_accepted_with_content_or_declined():
    accepted = answered(elicitation(), Answer(behavior="allow", content={"size": 7}))
    assert accepted.reply == ElicitationAnswer("accept", {"size": 7})
    assert answered(elicitation(), Answer(behavior="deny", content={"size": 7})).reply == ElicitationAnswer("decline")


def test_one_question_too_many_is_told_no():
    assert isinstance(turned_away(request()), Deny)
    assert turned_away(elicitation()) == ElicitationAnswer("cancel")


def test_notes_go_with_the_questions_they_belong_to():
    asked = request("AskUserQuestion", input={"questions": [{"question": "Which?", "header": "h", "options": []}]})
    granted = answered(asked, Answer(behavior="allow", answers={"Which?": "Red"}, notes={"Which?": "a dark one"}))
    assert isinstance(granted.reply, Allow)
    noted = {"answers": {"Which?": "Red"}, "annotations": {"Which?": {"notes": "a dark one"}}}
    assert granted.reply.input == {**asked.input, **noted}
    without = answered(asked, Answer(behavior="allow", answers={"Which?": "Red"}, notes={"Which?": " "}))
    assert without.reply == Allow(input={**asked.input, "answers": {"Which?": "Red"}}, updates=[])
    for one, notes in ((asked, {"What?": "x"}), (request(), {"Which?": "x"})):
        with pytest.raises(CommandRefused):
            answered(one, Answer(behavior="allow", notes=notes))
