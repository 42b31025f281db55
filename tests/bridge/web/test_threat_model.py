"""Every row of the threat model has a test: web attacks in the attack table, others in the names of their tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from handrail.attacks import attacks
from handrail.attacks.browser import SERVER_SIDE
from tests.bridge.session import test_approvals
from tests.bridge.web import test_process_attacks


def rows_of(module: object) -> set[str]:
    """The rows named by a module's tests; `test_x11_x12_nothing_runs` names two."""
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


def test_rows_that_need_a_page_have_a_browser_test():
    """Rows that the server covers only in part are named by a browser test."""
    browser = Path(__file__).parents[3] / "web" / "browser"
    names = [
        name for file in browser.glob("*.test.ts") for name in re.findall(r'^test\("([^"]+)"', file.read_text(), re.M)
    ]
    tested = {row for name in names for row in re.findall(r"\bW\d\d\b", name)}
    assert {row.id for row in attacks() if row.note == SERVER_SIDE} <= tested
