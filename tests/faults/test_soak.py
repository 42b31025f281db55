"""The verdict of a long day: what grows is told, what only moves is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.faults.soak import Mark, judge


def marks(memory: Callable[[int], float] = lambda n: 50.0, tasks: Callable[[int], int] = lambda n: 290) -> list[Mark]:
    return [Mark(float(n), memory(n), 221, 54, tasks(n), 4.0, n * 100) for n in range(21)]


def test_a_flat_day_is_good():
    assert judge(marks()) == []
    assert judge(marks(memory=lambda n: 40.0 if n < 5 else 50.0)) == [], "at first it may grow"
    assert judge(marks(tasks=lambda n: 400 if n == 20 else 290)) == [], "much is under way at one moment"


@pytest.mark.parametrize(
    ("grown", "words"),
    [
        (marks(memory=lambda n: 50.0 + n), "memory grew from 55.0 to 70.0 MiB"),
        (marks(tasks=lambda n: 290 + 3 * n), "tasks grew from 305 to 338"),
    ],
)
def test_what_grows_is_told(grown: list[Mark], words: str):
    assert judge(grown) == [words]


def test_a_server_that_does_nothing_any_more_is_told():
    assert judge([mark._replace(turns=7) for mark in marks()]) == ["nothing happened any more"]
