"""AskUserQuestion: questions to the human. In: the questions, with the answers that came back. Out: what was answered.

The answers are put into the input by whoever asked the human, keyed by the text of the question; other keys are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import msgspec
from msgspec import Meta, Struct, field

from handrail.agent.tools.base import JsonObject, Outcome, Tool

if TYPE_CHECKING:
    from handrail.agent.desk import Desk

__all__ = ["AskUserQuestion", "AskUserQuestionInput", "Option", "Question"]

_LONGEST_HEADER: Final = 12


class Option(Struct, frozen=True, omit_defaults=True):
    """One answer to choose."""

    label: Annotated[str, Meta(description="The answer, in one to five words.")]
    description: Annotated[str, Meta(description="What choosing it means.")]
    preview: Annotated[str | None, Meta(description="What to show beside it, for comparison.")] = None


class Question(Struct, frozen=True):
    """One question."""

    question: Annotated[str, Meta(description="The whole question, with a question mark.")]
    header: Annotated[str, Meta(description="A label of at most 12 characters.")]
    options: Annotated[list[Option], Meta(description="Two to four distinct answers; other text is always possible.")]
    multi_select: Annotated[bool, Meta(description="May several be chosen?")] = field(default=False, name="multiSelect")


class AskUserQuestionInput(Struct, frozen=True):
    """What to ask; `answers` and `annotations` come from the human."""

    questions: Annotated[list[Question], Meta(description="One to four questions.")]
    answers: dict[str, Any] | None = None
    annotations: dict[str, Any] | None = None


class AskUserQuestion(Tool[AskUserQuestionInput]):
    """Asks the human."""

    name = "AskUserQuestion"
    description = (
        "Asks the user one to four questions with two to four answers each, when a decision is theirs: what they want, "
        "which way to go. They may also answer in their own words. Not for asking whether a plan is good."
    )
    Input = AskUserQuestionInput

    def read(self, input: Any) -> AskUserQuestionInput:
        """Check an input, its amounts and lengths too: before anybody is asked."""
        given = super().read(input)
        if problem := _problem(given.questions):
            raise msgspec.ValidationError(problem)
        return given

    async def run(self, given: AskUserQuestionInput, desk: Desk) -> Outcome:
        answers = given.answers or {}
        detail: JsonObject = {"questions": msgspec.to_builtins(given.questions), "answers": answers}
        if given.annotations:
            detail["annotations"] = given.annotations
        return Outcome(_said(given.questions, answers, given.annotations or {}), detail)


def _problem(questions: list[Question]) -> str:
    """What is wrong with the questions, in words."""
    if not 1 <= len(questions) <= 4:
        return f"There are {len(questions)} questions, and one to four can be asked at once"
    if len({question.question for question in questions}) < len(questions):
        return "Two questions have the same text, so that their answers could not be told apart"
    for question in questions:
        named = f"The question {question.question!r}"
        if not 2 <= len(question.options) <= 4:
            return f"{named} has {len(question.options)} options, and two to four are needed"
        if len({option.label for option in question.options}) < len(question.options):
            return f"{named} has two options with the same label"
        if len(question.header) > _LONGEST_HEADER:
            return f"{named} has a header of {len(question.header)} characters, and at most {_LONGEST_HEADER} may be"
    return ""


def _said(questions: list[Question], answers: dict[str, Any], annotations: dict[str, Any]) -> str:
    answered = [question for question in questions if _answer(answers.get(question.question))]
    if not answered:
        return "The user did not answer the questions."
    parts = [_part(question, answers[question.question], _notes(annotations, question)) for question in answered]
    chosen = all(_is_chosen(question, answers[question.question]) for question in answered)
    left = [f'"{question.question}"' for question in questions if question not in answered]
    unanswered = f" Not answered: {', '.join(left)}." if left else ""
    if chosen and not any(_notes(annotations, question) for question in answered):
        return (
            f"Your questions have been answered: {', '.join(parts)}.{unanswered} "
            "You can now continue with these answers in mind."
        )
    return (
        f"The user answered: {', '.join(parts)}.{unanswered} Read the answers carefully — they may request "
        "clarification, changes, or that you not proceed — and follow what they actually say."
    )


def _answer(value: object) -> str:
    """An answer as one text; a list is several choices."""
    if isinstance(value, list):
        return ", ".join(part for part in cast("list[object]", value) if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _notes(annotations: dict[str, Any], question: Question) -> str:
    found = annotations.get(question.question)
    notes = cast("JsonObject", found).get("notes") if isinstance(found, dict) else None
    return notes if isinstance(notes, str) else ""


def _part(question: Question, answer: object, notes: str) -> str:
    return f'"{question.question}"="{_answer(answer)}"{f" notes: {notes}" if notes else ""}'


def _is_chosen(question: Question, answer: object) -> bool:
    """Is it one of the options, or several where that is allowed?"""
    labels = {option.label for option in question.options}
    if isinstance(answer, str) and answer in labels:
        return True
    parts = cast("list[object]", answer) if isinstance(answer, list) else str(answer).split(", ")
    return (question.multi_select or len(parts) == 1) and all(part in labels for part in parts)
