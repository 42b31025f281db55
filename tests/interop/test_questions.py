"""Questions to the user, and plans to approve."""

from __future__ import annotations

from typing import Any

from handrail import Allow, Deny, PermissionRequest, Question
from handrail.schema.system_messages import InitMessage
from handrail.testing import Endpoint, Lab, text, tool_use
from tests.interop.scenario import Model, Talk, bash, of, results_seen, results_sent

COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
}
SIZES = {
    "question": "Which sizes?",
    "header": "Sizes",
    "multiSelect": True,
    "options": [{"label": "S", "description": "small"}, {"label": "M", "description": "middle"}],
}


def asks(model: Model, *questions: dict[str, Any]) -> Endpoint:
    """A model that asks these questions and then ends its turn."""
    return model(tool_use("AskUserQuestion", questions=list(questions)), text("thanks"))


async def answered(api: Endpoint, talk: Talk, answers: Any) -> tuple[list[Question], str]:
    """Run a turn and answer its questions with a function. Returns the questions and the model's input."""
    given: list[Question] = []

    async def answer(questions: list[Question]) -> Any:
        given.extend(questions)
        return answers

    async with talk(api, answer_questions=answer) as session:
        assert (await session.ask("go")).text == "thanks"
    return given, results_sent(api.main_requests[1])[0]


async def test_a_question_is_answered_with_a_label(model: Model, talk: Talk):
    given, told = await answered(asks(model, COLOUR), talk, {"Which colour?": "Blue"})
    assert [(question.question, question.header, question.multi_select) for question in given] == [
        ("Which colour?", "Colour", False)
    ]
    assert [option.label for option in given[0].options] == ["Red", "Blue"]
    assert '"Which colour?"="Blue"' in told


async def test_several_labels_can_be_chosen_with_multi_select(model: Model, talk: Talk):
    given, told = await answered(asks(model, COLOUR, SIZES), talk, {"Colour": "Red", "Sizes": ["S", "M"]})
    assert [question.multi_select for question in given] == [False, True]
    assert '"Which colour?"="Red"' in told
    assert '"Which sizes?"="S, M"' in told


async def test_answers_can_be_a_list_in_question_order(model: Model, talk: Talk):
    _, told = await answered(asks(model, COLOUR, SIZES), talk, ["Blue", ["M"]])
    assert '"Which colour?"="Blue"' in told
    assert '"Which sizes?"="M"' in told


async def test_free_text_is_a_valid_answer(model: Model, talk: Talk):
    _, told = await answered(asks(model, COLOUR), talk, "Ultraviolet, please")
    assert "Ultraviolet, please" in told


async def test_unanswered_questions_are_reported_to_the_model(model: Model, talk: Talk):
    api = asks(model, COLOUR)
    async with talk(api, answer_questions=lambda questions: None) as session:
        turn = await session.send("go")
        messages = [message async for message in turn]
    assert results_seen(messages)[0].is_error
    assert results_sent(api.main_requests[1]) == ["The user did not answer the questions."]


async def test_permission_callback_gets_questions_without_a_question_callback(model: Model, talk: Talk):
    async def decide(request: PermissionRequest) -> Allow:
        assert request.requires_user_interaction
        return Allow(input={**request.input, "answers": {request.questions[0].question: "Red"}})

    api = asks(model, COLOUR)
    async with talk(api, can_use_tool=decide) as session:
        await session.ask("go")
    assert '"Which colour?"="Red"' in results_sent(api.main_requests[1])[0]


async def test_an_approved_plan_ends_plan_mode(model: Model, talk: Talk, lab: Lab):
    asked: list[PermissionRequest] = []

    async def approve(request: PermissionRequest) -> Allow:
        asked.append(request)
        return Allow()

    api = model(
        tool_use("ExitPlanMode", plan="# Plan\n1. touch it"), bash("touch it.txt"), text("built"), text("later")
    )
    async with talk(api, permission_mode="plan", approve_plan=approve, can_use_tool=lambda request: True) as session:
        first = [message async for message in await session.send("plan and build")]
        second = [message async for message in await session.send("and now?")]
    assert [(request.tool_name, request.requires_user_interaction) for request in asked] == [("ExitPlanMode", True)]
    assert "approved" in results_sent(api.main_requests[1])[0]
    assert (lab.project / "it.txt").exists()
    modes = [message.permission_mode for message in of(InitMessage, [*first, *second])]
    assert modes == ["plan", "default"]


async def test_a_rejected_plan_keeps_plan_mode(model: Model, talk: Talk):
    api = model(tool_use("ExitPlanMode", plan="# Plan\n1. delete it"), text("I will think again."), text("later"))
    async with talk(api, permission_mode="plan", approve_plan=lambda request: Deny("too bold")) as session:
        assert (await session.ask("plan")).text == "I will think again."
        second = [message async for message in await session.send("and now?")]
    assert "too bold" in results_sent(api.main_requests[1])[0]
    assert of(InitMessage, second)[0].permission_mode == "plan"
