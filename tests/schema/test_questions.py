"""Questions of the tool AskUserQuestion."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.schema.questions import Option, Question, read_questions


def test_questions_are_read_with_their_options():
    wire = {
        "questions": [
            {
                "question": "Which color?",
                "header": "Color",
                "multiSelect": True,
                "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "preview": "<b>"}],
            },
            {"question": "Sure?"},
        ]
    }
    assert read_questions(wire) == [
        Question(
            question="Which color?",
            header="Color",
            multi_select=True,
            options=[Option(label="Red", description="warm"), Option(label="Blue", preview="<b>")],
        ),
        Question(question="Sure?"),
    ]


@pytest.mark.parametrize("wire", [{}, {"questions": "x"}, {"questions": [{"header": "no text"}]}, {"questions": [7]}])
def test_request_without_questions_has_none(wire: dict[str, Any]):
    assert read_questions(wire) == []
