"""Callbacks for questions, plans, elicitations and dialogs."""

from typing import Any

import pytest

from handrail import (
    Allow,
    ControlRefused,
    Deny,
    ElicitationAnswer,
    ElicitationRequest,
    Options,
    Question,
    UserDialogRequest,
)
from handrail.testing import asks
from tests.client.asking import BASH, answer, answers, returns

SIZES = {
    "question": "Which size?",
    "header": "Size",
    "options": [{"label": "S", "description": "small"}, {"label": "M"}],
    "multiSelect": True,
}

COLOURS = {"question": "Which colour?", "header": "Colour", "options": [{"label": "red"}]}

ASKED = {"questions": [SIZES, COLOURS], "metadata": {"kept": True}}

QUESTIONS = asks("can_use_tool", tool_name="AskUserQuestion", input=ASKED, tool_use_id="toolu_2")

PLAN = asks("can_use_tool", tool_name="ExitPlanMode", input={"plan": "1. Try"}, tool_use_id="toolu_3")


def told_answers(told: Any) -> Any:
    assert told["behavior"] == "allow"
    assert {**told["updatedInput"], "answers": None} == {**ASKED, "answers": None}
    return told["updatedInput"]["answers"]


ANSWERED: list[tuple[Any, dict[str, str]]] = [
    ({"Which size?": "S", "Which colour?": "red"}, {"Which size?": "S", "Which colour?": "red"}),
    ({"Which size?": ["S", "M"]}, {"Which size?": "S, M"}),
    ({"Size": "S", "Colour": "red"}, {"Which size?": "S", "Which colour?": "red"}),
    ({0: "S", "1": "red"}, {"Which size?": "S", "Which colour?": "red"}),
    ([["S", "M"], "red"], {"Which size?": "S, M", "Which colour?": "red"}),
    (["S"], {"Which size?": "S"}),
    ("whatever fits", {"Which size?": "whatever fits"}),
    ([None, "red"], {"Which colour?": "red"}),
    ({}, {}),
]


@pytest.mark.parametrize(("given", "expected"), ANSWERED)
async def test_answers_are_keyed_by_question_text(given: Any, expected: dict[str, str]):
    assert told_answers(await answer(Options(answer_questions=returns(given)), QUESTIONS)) == expected


async def test_questions_are_typed():
    seen: list[Question] = []

    def reply(questions: list[Question]) -> list[str]:
        seen.extend(questions)
        return ["S", "red"]

    await answer(Options(answer_questions=reply), QUESTIONS)
    assert [(one.question, one.header, one.multi_select) for one in seen] == [
        ("Which size?", "Size", True),
        ("Which colour?", "Colour", False),
    ]
    assert [(option.label, option.description) for option in seen[0].options] == [("S", "small"), ("M", "")]


async def test_no_answer_denies():
    told = await answer(Options(answer_questions=returns(None)), QUESTIONS)
    assert told == {
        "behavior": "deny",
        "message": "The user did not answer the questions.",
        "toolUseID": "toolu_2",
    }


async def test_decision_instead_of_answers_is_used():
    told = await answer(Options(answer_questions=returns(Deny("Ask me later."))), QUESTIONS)
    assert told["message"] == "Ask me later."


@pytest.mark.parametrize(
    ("given", "problem"),
    [({"Which shape?": "round"}, "'Which shape?', which was not asked"), (["a", "b", "c"], "3 answers to 2 questions")],
)
async def test_answer_to_an_unknown_question_is_an_error(given: Any, problem: str):
    told = await answer(Options(answer_questions=returns(given)), QUESTIONS)
    assert isinstance(told, ControlRefused)
    assert problem in told.error


async def test_each_kind_of_request_has_its_callback():
    options = Options(
        can_use_tool=returns(Deny("tool")),
        answer_questions=returns(Deny("questions")),
        approve_plan=returns(Allow(input={"plan": "2. Do"})),
    )
    told = await answers(options, BASH, QUESTIONS, PLAN)
    assert [one.get("message") for one in told] == ["tool", "questions", None]
    assert told[2] == {"behavior": "allow", "updatedInput": {"plan": "2. Do"}, "toolUseID": "toolu_3"}


async def test_questions_and_plans_fall_back_to_can_use_tool():
    told = await answers(Options(can_use_tool=returns(Deny("all"))), BASH, QUESTIONS, PLAN)
    assert [one["message"] for one in told] == ["all"] * 3


# Elicitations and dialogs

ELICITATION = asks("elicitation", mcp_server_name="a", message="Your name?", requested_schema={"type": "object"})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (ElicitationAnswer("accept", {"name": "Ada"}), {"action": "accept", "content": {"name": "Ada"}}),
        (ElicitationAnswer("cancel"), {"action": "cancel"}),
        (ElicitationAnswer(), {"action": "decline"}),
        ({"name": "Ada"}, {"action": "accept", "content": {"name": "Ada"}}),
        (None, {"action": "decline"}),
    ],
)
async def test_an_elicitation_is_accepted_declined_or_cancelled(given: Any, expected: dict[str, Any]):
    seen: list[ElicitationRequest] = []

    async def reply(request: ElicitationRequest) -> Any:
        seen.append(request)
        return given

    assert await answer(Options(on_elicitation=reply), ELICITATION) == expected
    assert (seen[0].mcp_server_name, seen[0].message, seen[0].requested_schema) == (
        "a",
        "Your name?",
        {"type": "object"},
    )


async def test_elicitation_is_declined_without_a_callback():
    assert await answer(Options(), ELICITATION) == {"action": "decline"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [({"x": 1}, {"behavior": "completed", "result": {"x": 1}}), (None, {"behavior": "cancelled"})],
)
async def test_a_dialog_is_completed_or_cancelled(given: Any, expected: dict[str, Any]):
    async def show(request: UserDialogRequest) -> Any:
        assert (request.dialog_kind, request.payload) == ("survey", {"q": 1})
        return given

    options = Options(on_user_dialog=show, supported_dialog_kinds=["survey"])
    told = await answer(options, asks("request_user_dialog", dialog_kind="survey", payload={"q": 1}))
    assert told == expected


@pytest.mark.parametrize("subtype", ["request_user_dialog", "of_tomorrow"])
async def test_unknown_request_is_refused(subtype: str):
    told = await answer(Options(), asks(subtype, dialog_kind="x"))
    assert isinstance(told, ControlRefused)
    assert told.code == "unsupported_request"


# Calling
