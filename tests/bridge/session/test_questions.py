"""Questions: opened by the CLI, answered once by a person, and what each answer means."""

from __future__ import annotations

import asyncio
import hashlib
import json
from itertools import count
from typing import Any

import pytest

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.questions import (
    DESTINATIONS,
    MOST_QUESTIONS,
    MOST_SUGGESTIONS,
    SUGGESTION_BYTES,
    Answer,
    Chosen,
    Question,
    Questions,
    offered_suggestions,
    verdict,
)
from handrail.client.callbacks import Allow, Deny, ElicitationAnswer, ElicitationRequest, PermissionRequest
from handrail.protocol import Request, decode
from handrail.schema.view import read_view

RULE = {"type": "addRules", "behavior": "allow", "destination": "localSettings", "rules": [{"toolName": "Edit"}]}
DENIES = {**RULE, "behavior": "deny"}
BYPASS = {"type": "setMode", "mode": "bypassPermissions", "destination": "userSettings"}
_numbers = count(1)


def permission(tool: str = "Bash", **fields: Any) -> dict[str, Any]:
    return {
        "subtype": "can_use_tool",
        "tool_name": tool,
        "tool_use_id": "t1",
        "input": {"command": "ls"},
        "permission_suggestions": [RULE, BYPASS, DENIES],
        **fields,
    }


ELICITATION = {"subtype": "elicitation", "mcp_server_name": "shop", "message": "Your size?"}


def request(tool: str = "Bash", **fields: Any) -> PermissionRequest:
    return read_view(PermissionRequest, json.dumps(permission(tool, **fields)).encode())


def elicitation() -> ElicitationRequest:
    return read_view(ElicitationRequest, json.dumps(ELICITATION).encode())


def frame(body: dict[str, Any], id: str = "") -> Request:
    line = {"type": "control_request", "request_id": id or f"r{next(_numbers)}", "request": body}
    found = decode(json.dumps(line).encode())
    assert isinstance(found, Request)
    return found


def opened(questions: Questions, body: dict[str, Any] | None = None, id: str = "") -> Question:
    [asked] = questions.ask(frame(body or permission(), id), {})
    assert asked.kind == "asked"
    return questions.all()[-1]


def called(body: dict[str, Any], id: str) -> PermissionRequest:
    """The view that the SDK gives to the callback of a request."""
    view = read_view(PermissionRequest, json.dumps(body).encode())
    view.__dict__["_request_id"] = id
    return view


async def test_a_question_carries_the_hash_of_the_whole_request():
    questions = Questions()
    question = opened(questions)
    assert (question.kind, question.tool_use_id) == ("permission", "t1")
    assert question.hash == hashlib.sha256(question.request).hexdigest()
    assert opened(questions, permission(input={"command": "ls "})).hash != question.hash
    bodies = (permission("AskUserQuestion"), permission("ExitPlanMode"), ELICITATION)
    assert [opened(questions, body).kind for body in bodies] == ["questions", "plan", "elicitation"]


async def test_other_and_malformed_requests_open_no_question():
    questions = Questions()
    for body in ({"subtype": "hook_callback"}, {"subtype": "can_use_tool", "input": 7}):
        assert questions.ask(frame(body), {}) == []
    assert len(questions) == 0


async def test_a_question_is_answered_once():
    questions = Questions()
    for n in range(1000):
        question = opened(questions)
        questions.claim(question.id, question.hash, Answer(behavior="allow" if n % 2 else "deny"))
        with pytest.raises(CommandRefused) as refused:
            questions.claim(question.id, question.hash, Answer(behavior="allow"))
        assert refused.value.code == "not_pending"
    assert len(questions) == 0


async def test_an_answer_that_does_not_fit_leaves_the_question_open():
    questions = Questions()
    question = opened(questions, id="r")
    for shown, answer in (
        ("0" * 64, Answer(behavior="allow")),
        (question.hash, Answer(behavior="allow", updates=[Chosen(9)])),
        (question.hash, Answer(behavior="allow", updates=[Chosen(-1)])),
        (question.hash, Answer(behavior="allow", mode="default")),
    ):
        with pytest.raises(CommandRefused):
            questions.claim(question.id, shown, answer)
    assert questions.all() == [question]


async def test_a_question_whose_answer_was_not_stored_is_open_again_unless_it_was_withdrawn():
    questions = Questions()
    question = opened(questions, id="r")
    claimed = questions.claim(question.id, question.hash, Answer(behavior="deny"))
    questions.put_back(claimed)
    assert questions.all() == [question]
    claimed = questions.claim(question.id, question.hash, Answer(behavior="deny"))
    assert questions.withdraw("r") == []
    questions.put_back(claimed)
    questions.deliver(claimed, "me")
    assert len(questions) == 0


@pytest.mark.parametrize("callback_first", [True, False])
async def test_the_callback_gets_the_answer_whichever_comes_first(callback_first: bool):
    questions, body = Questions(), permission()
    reply = asyncio.ensure_future(questions.reply(called(body, "r"))) if callback_first else None
    question = opened(questions, body, "r")
    reply = reply or asyncio.ensure_future(questions.reply(called(body, "r")))
    questions.deliver(questions.claim(question.id, question.hash, Answer(behavior="deny", reason="no")), "me")
    assert await reply == Deny("no")


async def test_a_withdrawn_request_closes_its_question():
    questions = Questions()
    question = opened(questions, id="r")
    opened(questions, id="s")
    [closed] = questions.withdraw("r")
    assert json.loads(closed.data) == {"question": question.id, "why": "withdrawn"}
    assert len(questions) == 1
    assert questions.withdraw("unknown") == []


async def test_too_many_questions_are_refused_without_being_shown():
    questions = Questions()
    for _ in range(MOST_QUESTIONS):
        opened(questions)
    assert questions.ask(frame(permission(), "r"), {}) == []
    reply = await questions.reply(called(permission(), "r"))
    assert isinstance(reply, Deny)
    assert "too_many_prompts" in reply.reason
    assert len(questions.close_all("the process ended")) == MOST_QUESTIONS


def test_a_denial_reaches_the_model_with_its_reason():
    granted = verdict(request(), Answer(behavior="deny", reason="not now", interrupt=True, updates=[Chosen(0)]))
    assert granted.reply == Deny("not now", interrupt=True)
    assert granted.rules == ()


def test_an_approval_grants_the_shown_rule_for_the_chosen_scope_and_never_bypass():
    granted = verdict(request(), Answer(behavior="allow", updates=[Chosen(0, "session")]))
    assert granted.reply == Allow(updates=[{**RULE, "destination": "session"}])
    assert granted.rules == ({**RULE, "destination": "session"},)
    assert verdict(request(), Answer(behavior="allow", updates=[Chosen(0, "userSettings")])).rules == ()
    with pytest.raises(CommandRefused, match="bypassPermissions"):
        verdict(request(), Answer(behavior="allow", updates=[Chosen(1)]))


def test_a_mode_does_not_lapse_as_a_rule():
    mode = {"type": "setMode", "mode": "acceptEdits", "rules": [], "destination": "session"}
    granted = verdict(request(permission_suggestions=[mode]), Answer(behavior="allow", updates=[Chosen(0)]))
    assert (granted.reply, granted.rules) == (Allow(updates=[mode]), ())


def test_answers_are_keyed_by_the_question_text():
    asked = request("AskUserQuestion", input={"questions": [{"question": "Which?", "header": "h", "options": []}]})
    granted = verdict(asked, Answer(behavior="allow", answers={"Which?": ["Red", "Blue"]}))
    assert isinstance(granted.reply, Allow)
    assert granted.reply.input == {**asked.input, "answers": {"Which?": "Red, Blue"}}
    for one, answer in ((asked, {"What?": "x"}), (request(), {"Which?": "x"})):
        with pytest.raises(CommandRefused):
            verdict(one, Answer(behavior="allow", answers=answer))


def test_a_plan_continues_in_the_chosen_mode():
    granted = verdict(request("ExitPlanMode", permission_suggestions=[]), Answer(behavior="allow", mode="acceptEdits"))
    assert granted.reply == Allow(updates=[{"type": "setMode", "mode": "acceptEdits", "destination": "session"}])


def test_an_elicitation_is_accepted_with_content_or_declined():
    accepted = verdict(elicitation(), Answer(behavior="allow", content={"size": 7}))
    assert accepted.reply == ElicitationAnswer("accept", {"size": 7})
    assert verdict(elicitation(), Answer(behavior="deny", content={"size": 7})).reply == ElicitationAnswer("decline")


def test_notes_are_attached_to_their_questions():
    asked = request("AskUserQuestion", input={"questions": [{"question": "Which?", "header": "h", "options": []}]})
    granted = verdict(asked, Answer(behavior="allow", answers={"Which?": "Red"}, notes={"Which?": "a dark one"}))
    assert isinstance(granted.reply, Allow)
    noted = {"answers": {"Which?": "Red"}, "annotations": {"Which?": {"notes": "a dark one"}}}
    assert granted.reply.input == {**asked.input, **noted}
    without = verdict(asked, Answer(behavior="allow", answers={"Which?": "Red"}, notes={"Which?": " "}))
    assert without.reply == Allow(input={**asked.input, "answers": {"Which?": "Red"}}, updates=[])
    for one, notes in ((asked, {"What?": "x"}), (request(), {"Which?": "x"})):
        with pytest.raises(CommandRefused):
            verdict(one, Answer(behavior="allow", notes=notes))


# Calls that are remembered for the session


async def test_a_remembered_call_is_allowed_again_once_that_is_durable():
    questions, body = Questions(), permission(permission_suggestions=[])
    question = opened(questions, body, "r1")
    questions.deliver(questions.claim(question.id, question.hash, Answer(behavior="allow", remember=True)), "phone")
    asked, answered = questions.ask(frame(body, "r2"), {})
    assert (asked.kind, json.loads(answered.data)["by"]) == ("asked", "phone")
    reply = asyncio.ensure_future(questions.reply(called(body, "r2")))
    questions.deliver_remembered()
    assert await reply == Allow()
    assert [one.kind for one in questions.ask(frame({**body, "input": {"command": "ls -l"}}), {})] == ["asked"]
    questions.close_all("the process ended")
    assert [one.kind for one in questions.ask(frame(body), {})] == ["asked"]


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (permission(), Answer(behavior="deny", remember=True)),
        (permission(), Answer(behavior="allow", remember=True, input={"command": "ls -l"})),
        (permission("ExitPlanMode"), Answer(behavior="allow", remember=True)),
        (permission("AskUserQuestion"), Answer(behavior="allow", remember=True)),
        (permission(requires_user_interaction=True), Answer(behavior="allow", remember=True)),
    ],
)
def test_some_answers_cannot_be_remembered(body: dict[str, Any], answer: Answer):
    with pytest.raises(CommandRefused) as refused:
        verdict(read_view(PermissionRequest, json.dumps(body).encode()), answer)
    assert refused.value.code == "bad_answer"


# Suggestions


def rule(content: str | None, destination: str = "localSettings") -> dict[str, Any]:
    value = {"toolName": "Bash"} | ({"ruleContent": content} if content else {})
    return {"type": "addRules", "behavior": "allow", "destination": destination, "rules": [value]}


EDITS = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
DISGUISED = rule("ls\u200b")


def offers(*suggestions: Any) -> list[dict[str, Any]]:
    return offered_suggestions(request(permission_suggestions=list(suggestions)))


def test_each_suggestion_shows_its_breadth_and_its_destinations():
    shown = offers(rule("npm run *"), BYPASS, "no object", EDITS, DISGUISED, rule(None, "cliArg"))
    assert [(one["index"], one["suggested"]) for one in shown] == [(0, "localSettings"), (2, "session"), (4, "session")]
    assert shown[0]["words"] == "every command that begins with `npm run`"
    assert shown[1]["words"].endswith("without asking, in this session")
    assert shown[2]["words"] == "every command at all"
    assert [one["destinations"] for one in shown] == [list(DESTINATIONS), ["session"], list(DESTINATIONS)]


def test_unknown_suggestions_are_not_offered():
    assert offers({"behavior": "allow", "message": "why not"}, {"type": "tomorrow"}) == []


@pytest.mark.parametrize(
    ("index", "destination"), [(0, "session"), (1, "session"), (2, "userSettings"), (3, "session"), (-1, "session")]
)
def test_a_suggestion_that_was_not_offered_cannot_be_chosen(index: int, destination: Any):
    asked = request(permission_suggestions=[BYPASS, DISGUISED, EDITS])
    with pytest.raises(CommandRefused) as refused:
        verdict(asked, Answer(behavior="allow", updates=[Chosen(index, destination)]))
    assert refused.value.code == "bad_answer"


def test_suggestions_that_are_too_long_or_too_many_are_not_offered():
    assert offers(rule("a;" * SUGGESTION_BYTES)) == []
    assert len(offers(*[rule("ls")] * MOST_SUGGESTIONS * 2)) == MOST_SUGGESTIONS
