"""The verdict of a soak test reports growth, but not fluctuation."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.faults.soak import Mark, judge


def marks(memory: Callable[[int], float] = lambda n: 50.0, tasks: Callable[[int], int] = lambda n: 290) -> list[Mark]:
    return [Mark(float(n), memory(n), 221, 54, tasks(n), 4.0, n * 100) for n in range(21)]


def test_constant_values_are_accepted():
    assert judge(marks()) == []
    assert judge(marks(memory=lambda n: 40.0 if n < 5 else 50.0)) == [], "growth in the first quarter is allowed"
    assert judge(marks(tasks=lambda n: 400 if n == 20 else 290)) == [], "a single high sample is allowed"


@pytest.mark.parametrize(
    ("grown", "words"),
    [
        (marks(memory=lambda n: 50.0 + n), "memory grew from 55.0 to 70.0 MiB"),
        (marks(tasks=lambda n: 290 + 3 * n), "tasks grew from 305 to 338"),
    ],
)
def test_growth_is_reported(grown: list[Mark], words: str):
    assert judge(grown) == [words]


def test_missing_turns_are_reported():
    assert judge([mark._replace(turns=7) for mark in marks()]) == ["no further turns were completed"]
