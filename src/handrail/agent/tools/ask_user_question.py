"""The AskUserQuestion tool: multiple-choice questions to the user.

The permission prompt asks them. The host puts the answers into the input, keyed by the text of the question; other keys
are ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import msgspec
from msgspec import Meta, Struct, field

from handrail.agent.tools.base import JsonObject, Outcome, Tool

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk

__all__ = ["AskUserQuestion", "AskUserQuestionInput", "Option", "Question"]

_DESCRIPTION: Final = """\
Asks the user one to four questions with two to four choices each.

- For decisions that are the user's: preferences, requirements, a direction with consequences. Not for what you can \
find out yourself, nor for leave to go on; not for the approval of a plan, which ExitPlanMode asks for.
- The user can always answer in other words, so offer no choice such as "other". If you recommend one, put it first \
and say so in its label."""
_PREVIEW: Final = (
    "\n- Where options are best compared by sight, such as layouts or code, give each a `preview`{}. Only questions"
    " with a single choice show previews."
)
_PREVIEWS: Final = {
    "markdown": _PREVIEW.format(" in Markdown, which is shown in a monospaced font"),
    "html": _PREVIEW.format(": a fragment of HTML with inline styles, without html, body, script and style elements"),
}


class Option(Struct, frozen=True, omit_defaults=True):
    """One choice."""

    label: Annotated[str, Meta(description="The answer, in one to five words.")]
    description: Annotated[str, Meta(description="What this choice means.")]
    preview: Annotated[str | None, Meta(description="Content to show next to it, for comparison.")] = None


class Question(Struct, frozen=True):
    """One question."""

    question: Annotated[str, Meta(description="The full question, ending with a question mark.")]
    header: Annotated[str, Meta(description="A label of at most 12 characters.")]
    options: Annotated[
        list[Option], Meta(description="Two to four distinct choices; the user can always type another.")
    ]
    multi_select: Annotated[bool, Meta(description="Whether several may be chosen.")] = field(
        default=False, name="multiSelect"
    )


class AskUserQuestionInput(Struct, frozen=True):
    """The questions; the host fills in `answers` and `annotations`."""

    questions: Annotated[list[Question], Meta(description="One to four questions.")]
    answers: dict[str, str | list[str]] | None = None
    annotations: dict[str, Any] | None = None


class AskUserQuestion(Tool[AskUserQuestionInput]):
    """Asks the user."""

    name = "AskUserQuestion"
    Input = AskUserQuestionInput
    preview_format = ""
    """The format in which the host shows previews: markdown or html; "" if it shows none."""

    @property
    def description(self) -> str:  # type: ignore[override]
        """What the tool does, and how previews are written if the host shows them."""
        return f"{_DESCRIPTION}{_PREVIEWS.get(self.preview_format, '')}"

    def read(self, input: Any) -> AskUserQuestionInput:
        """Validate an input, including counts and lengths, before the user is asked."""
        given = super().read(input)
        if problem := _problem(given.questions):
            raise msgspec.ValidationError(problem)
        return given

    async def run(self, given: AskUserQuestionInput, desk: Desk) -> Outcome:
        answers = given.answers or {}
        detail: JsonObject = {"questions": msgspec.to_builtins(given.questions), "answers": answers}
        if given.annotations:
            detail["annotations"] = given.annotations
        return Outcome(_summary(given.questions, answers, given.annotations or {}), detail)


def _problem(questions: list[Question]) -> str:
    """The first problem with the questions, or ""."""
    if not 1 <= len(questions) <= 4:
        return f"There are {len(questions)} questions; ask one to four at once"
    if len({question.question for question in questions}) < len(questions):
        return "Two questions have the same text; their answers could not be distinguished"
    for question in questions:
        named = f"The question {question.question!r}"
        if not 2 <= len(question.options) <= 4:
            return f"{named} has {len(question.options)} options; it needs two to four"
        if len({option.label for option in question.options}) < len(question.options):
            return f"{named} has two options with the same label"
    return ""


def _summary(questions: list[Question], answers: dict[str, Any], annotations: dict[str, Any]) -> str:
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
    """An answer as text; a list has several choices."""
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
    """Whether the answer consists of offered options (several only if the question allows it)."""
    labels = {option.label for option in question.options}
    if isinstance(answer, str) and answer in labels:
        return True
    parts = cast("list[object]", answer) if isinstance(answer, list) else str(answer).split(", ")
    return (question.multi_select or len(parts) == 1) and all(part in labels for part in parts)
