"""The lines that the CLI was recorded to write have only fields that their views know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.shapes import line_problems

RECORDINGS = sorted((Path(__file__).parents[1] / "recordings" / "golden").glob("*.ndjson"))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_field_of_a_recorded_line_is_known(path: Path):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    lines = [row["msg"] for row in rows if row.get("dir") == "out" and "type" in row.get("msg", {})]
    assert lines
    unknown = {problem for line in lines for problem in line_problems(line) if ": unknown" in problem}
    assert unknown == set()
