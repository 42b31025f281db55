"""The fault table in docs/reliability.md lists every row, and each row names files with a test for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = [f"F{number:02d}" for number in range(1, 43)]
MEASURED = {"F30", "F32"}
"""Rows covered by benchmarks instead of tests."""


def _table() -> dict[str, list[str]]:
    lines = (ROOT / "docs" / "reliability.md").read_text().splitlines()
    cells = [line.split("|")[1:-1] for line in lines if re.match(r"\| F\d\d \|", line)]
    return {row.strip(): re.findall(r"`((?:tests|benchmarks)/[^`]+)`", tests) for row, _, _, tests in cells}


def test_every_row_is_listed():
    assert list(_table()) == ROWS


@pytest.mark.parametrize("row", ROWS)
def test_row_has_a_test_in_each_named_file(row: str):
    files = [ROOT / name for name in _table()[row]]
    assert files
    for file in files:
        assert file.exists()
        if row not in MEASURED and file.name != "test_ownership.py":
            assert re.search(rf"def test_\w+_{row.lower()}\b|def test_\w+_{row.lower()}_f", file.read_text()), file
