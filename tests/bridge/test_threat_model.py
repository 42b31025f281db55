"""No row of the threat model is without a test: those of the web are a table, the others are named by their tests."""

from __future__ import annotations

import re

import pytest

from handrail.bridge.attacks import attacks
from tests.bridge import test_approvals, test_process_attacks


def rows_of(module: object) -> set[str]:
    """The rows that the names of a module's tests tell of: test_x11_x12_nothing_runs is two."""
    names = [re.match(r"test((?:_[a-z]\d\d)+)_", name) for name in vars(module)]
    return {row.upper() for name in names if name for row in name[1].split("_")[1:]}


@pytest.mark.parametrize(
    ("found", "letter", "count"),
    [
        ({row.id for row in attacks()}, "W", 48),
        (rows_of(test_process_attacks), "X", 12),
        (rows_of(test_approvals), "A", 13),
    ],
)
def test_every_row_is_tested(found: set[str], letter: str, count: int):
    assert found == {f"{letter}{number:02}" for number in range(1, count + 1)}
