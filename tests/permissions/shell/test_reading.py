"""What is known of variables."""

from __future__ import annotations

from collections import Counter

import pytest

from handrail.permissions.shell.reading import MOST_VALUES, Notes, Reading
from handrail.permissions.shell.words import HOLE, HOME, NUMBER, Word, fixed_word


def notes(*values: Word | str | None) -> Notes:
    found = Notes()
    for value in values:
        found.give("x", fixed_word(value) if isinstance(value, str) else value)
    return found


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("a",), ["a"]),
        (("a", "b", "a"), ["a", "b", "a"]),
        ((f"{HOME}/a",), [f"{HOME}/a"]),
        ((), None),
        (("a", None), None),
        (("a", Word(HOLE, "$y", ("y",))), None),
        ((Word("a*", "a*", globs=True),), None),
        (("a",) * MOST_VALUES, ["a"] * MOST_VALUES),
        (("a",) * (MOST_VALUES + 1), None),
    ],
)
def test_a_variable_is_known_if_all_its_values_are(values: tuple[Word | str | None, ...], expected: list[str] | None):
    assert notes(*values).known_values("x") == expected


def test_a_variable_that_a_sum_sets_is_not_known():
    found = notes("a")
    found.numbers.add("x")
    assert found.known_values("x") is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("1",), True),
        (("-1", "20"), True),
        ((NUMBER,), True),
        ((f"1{NUMBER}",), True),
        (("9" * 18,), True),
        (("9" * 19,), False),
        (("",), False),
        (("-",), False),
        (("--1",), False),
        (("1a",), False),
        (("²",), False),
        (("٣",), False),
        (("1", None), False),
        (("1", Word(HOLE, "$y", ("y",))), False),
        (("1",) * MOST_VALUES, True),
        (("1",) * (MOST_VALUES + 1), False),
        ((), False),
    ],
)
def test_a_variable_is_a_number_if_all_its_values_are(values: tuple[Word | str | None, ...], expected: bool):
    assert notes(*values).is_number("x") is expected


def test_some_variables_are_always_numbers_unless_they_are_set():
    found = Notes()
    assert found.is_number("RANDOM")
    assert not found.is_number("HOME")
    found.give("RANDOM", fixed_word("a"))
    assert not found.is_number("RANDOM")


def test_variable_set_only_by_arithmetic_is_a_number():
    found = Notes(numbers={"x"})
    assert found.is_number("x")
    found.give("x", fixed_word("a"))
    assert not found.is_number("x")


def test_the_first_variable_that_cannot_be_counted_is_named():
    found = Notes(counted={"z", "b", "n", "RANDOM"})
    found.give("n", fixed_word("1"))
    assert found.uncountable() == "b is evaluated as a sum, and what it holds is not known"
    assert Notes(counted={"RANDOM"}).uncountable() == ""


def test_readings_and_notes_begin_empty():
    assert Reading("a") == Reading("a", "", {}, {}, {}, [], 2)
    assert Notes() == Notes({}, Counter(), set(), set(), [], set(), 0, 0)
