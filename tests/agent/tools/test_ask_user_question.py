"""The AskUserQuestion tool."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.agent.tools.ask_user_question import AskUserQuestion
from handrail.agent.tools.registry import Tools
from tests.agent.tools.workplace import call, desk_in


def question(text: str, *labels: str, **more: Any) -> dict[str, Any]:
    options = [{"label": label, "description": "d"} for label in labels]
    return {"question": text, "header": "H", "options": options, "multiSelect": False, **more}


QUESTIONS = [question("Which tea?", "Green", "Black"), question("Which cups?", "1", "2", "3", multiSelect=True)]


@pytest.mark.parametrize(
    ("answers", "summary"),
    [
        (
            {"Which tea?": "Black", "Which cups?": "1, 2"},
            (
                'Your questions have been answered: "Which tea?"="Black", "Which cups?"="1, 2". '
                "You can now continue with these answers in mind."
            ),
        ),
        (
            {"Which tea?": "Black", "Which cups?": ["1", "3"]},
            (
                'Your questions have been answered: "Which tea?"="Black", "Which cups?"="1, 3". '
                "You can now continue with these answers in mind."
            ),
        ),
        (
            {"Which tea?": "Black"},
            (
                'Your questions have been answered: "Which tea?"="Black". Not answered: "Which cups?". '
                "You can now continue with these answers in mind."
            ),
        ),
        (
            {"Which tea?": "None, thanks", "Which cups?": "1"},
            (
                'The user answered: "Which tea?"="None, thanks", "Which cups?"="1". Read the answers carefully — they '
                "may request clarification, changes, or that you not proceed — and follow what they actually say."
            ),
        ),
        ({"0": "Black", "H": "1"}, "The user did not answer the questions."),
        ({}, "The user did not answer the questions."),
    ],
)
async def test_answers_are_summarized(tmp_path: Path, answers: dict[str, Any], summary: str):
    outcome = await call(desk_in(tmp_path), "AskUserQuestion", questions=QUESTIONS, answers=answers)
    assert outcome.content == summary
    assert outcome.detail == {"questions": QUESTIONS, "answers": answers}


async def test_several_choices_for_a_single_choice_count_as_free_text(tmp_path: Path):
    outcome = await call(
        desk_in(tmp_path), "AskUserQuestion", questions=QUESTIONS[:1], answers={"Which tea?": "Green, Black"}
    )
    assert outcome.content.startswith("The user answered: ")


async def test_notes_follow_the_answer(tmp_path: Path):
    notes = {"Which tea?": {"notes": "strong"}}
    outcome = await call(
        desk_in(tmp_path),
        "AskUserQuestion",
        questions=QUESTIONS,
        answers={"Which tea?": "Black", "Which cups?": "1"},
        annotations=notes,
    )
    assert '"Which tea?"="Black" notes: strong, ' in outcome.content
    assert outcome.detail["annotations"] == notes


@pytest.mark.parametrize(
    ("questions", "words"),
    [
        ([], "0 questions"),
        ([question(str(number), "a", "b") for number in range(5)], "5 questions"),
        ([question("q?", "a")], "1 options"),
        ([question("q?", *"abcde")], "5 options"),
        ([question("q?", "a", "a")], "same label"),
        ([question("q?", "a", "b")] * 2, "same text"),
    ],
)
def test_counts_and_lengths_are_validated(questions: list[dict[str, Any]], words: str):
    with pytest.raises(msgspec.ValidationError, match=words):
        Tools()["AskUserQuestion"].read({"questions": questions})


def test_questions_are_required():
    with pytest.raises(msgspec.ValidationError, match="questions"):
        Tools()["AskUserQuestion"].read({"answers": {}})


def test_an_answer_is_text_or_a_list_of_texts():
    question = {"question": "Which?", "header": "H", "options": [{"label": name, "description": ""} for name in "AB"]}
    with pytest.raises(msgspec.ValidationError):
        AskUserQuestion().read({"questions": [question], "answers": {"Which?": 3}})
