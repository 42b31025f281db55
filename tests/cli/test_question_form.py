"""The model's questions as a form: numbers, several numbers, own words, nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.cli.question_form import read_answer
from handrail.schema.questions import Option, Question
from tests.cli.command import at_a_terminal
from tests.cli.words import cli, told

ONE = Question(question="Which?", options=[Option(label="Red"), Option(label="Blue")])
MANY = Question(question="Which?", options=[Option(label="S"), Option(label="M"), Option(label="L")], multi_select=True)
ASKS = """
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold\\x1b[31m"}]
    prompt()
    decide("AskUserQuestion", questions=[
        {"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False},
        {"question": "Which sizes?", "header": "Sizes", "options": options, "multiSelect": True},
    ])
    say(result())
"""


@pytest.mark.parametrize(
    ("question", "typed", "answer"),
    [
        (ONE, "2", "Blue"),
        (ONE, " 1 ", "Red"),
        (ONE, "something else", "something else"),
        (ONE, "", ""),
        (ONE, "3", None),
        (ONE, "0", None),
        (ONE, "1 2", None),
        (ONE, '"42"', "42"),
        (ONE, "²", "²"),
        (MANY, "1,3", ["S", "L"]),
        (MANY, "3 3 1", ["L", "S"]),
        (MANY, "1, 4", None),
        (MANY, "all of them", "all of them"),
        (Question(question="How many?"), "7", "7"),
    ],
)
def test_typed_text_becomes_an_answer(question: Question, typed: str, answer: str | list[str] | None):
    assert read_answer(typed, question) == answer


def test_a_form_is_filled_in_at_the_terminal(tmp_path: Path):
    path = cli(tmp_path, ASKS)
    with at_a_terminal("run", "--cli", path, "go", NO_COLOR="1") as screen:
        shown = screen.shows("A number, or your own words (Enter skips): ")
        assert "1 of 2 · Colour\nWhich colour?\n  1  Red  warm\n  2  Blue  cold\\x1b[31m\n" in shown
        screen.type("9")
        screen.shows("Please type a number from 1 to 2")
        screen.shows("skips): ")
        screen.type("rather green")
        screen.shows("One or several numbers, or your own words (Enter skips): ")
        screen.type("1, 2")
        assert screen.ends() == 0
    (answer,) = told(path)
    assert answer["updatedInput"]["answers"] == {"Which colour?": "rather green", "Which sizes?": "Red, Blue"}  # type: ignore[index]


@pytest.mark.parametrize(
    ("keys", "interrupt", "code"), [(["\n", "\n"], None, 0), (["\x04"], None, 0), (["\x03"], True, 130)]
)
def test_a_form_can_be_left_open_or_broken_off(tmp_path: Path, keys: list[str], interrupt: bool | None, code: int):
    path = cli(tmp_path, ASKS)
    with at_a_terminal("run", "--cli", path, "go") as screen:
        for key in keys:
            screen.shows("skips): ")
            screen.press(key)
        assert screen.ends() == code
    (answer,) = told(path)
    assert (answer["behavior"], answer.get("interrupt")) == ("deny", interrupt)  # type: ignore[index,attr-defined]
