"""The Grep tool."""

import os
from pathlib import Path

import msgspec
import pytest

from handrail.agent.tools.base import ToolFailed
from handrail.agent.tools.desk import Desk
from tests.agent.tools.workplace import call, desk_in


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = desk_in(tmp_path)
    project = tmp_path / "project"
    (project / "d").mkdir()
    (project / "d" / "x.py").write_text("def hello():\n    return 1\n# hello hello\n")
    (project / "a:b.txt").write_text("hello:1\n")
    (project / ".git").mkdir()
    (project / ".git" / "config").write_text("hello\n")
    os.utime(project / "d" / "x.py", (1, 1))
    return desk


async def test_files_with_matches_are_listed_newest_first(desk: Desk):
    outcome = await call(desk, "Grep", pattern="hello")
    assert outcome.content == "Found 2 files\na:b.txt\nd/x.py"
    assert outcome.detail == {
        "mode": "files_with_matches",
        "filenames": ["a:b.txt", "d/x.py"],
        "numFiles": 2,
        "totalFiles": 2,
    }


async def test_lines_are_shown_with_names_and_numbers(desk: Desk):
    outcome = await call(desk, "Grep", pattern="hello", output_mode="content", glob="*.txt")
    assert outcome.content == "a:b.txt:1:hello:1"
    assert outcome.detail == {
        "mode": "content",
        "numFiles": 0,
        "filenames": [],
        "content": "a:b.txt:1:hello:1",
        "numLines": 1,
        "totalLines": 1,
    }


async def test_context_lines_are_marked_and_case_can_be_ignored(desk: Desk):
    given = {"-i": True, "-n": False, "-A": 1, "type": "py"}
    outcome = await call(desk, "Grep", pattern="DEF", output_mode="content", **given)
    assert outcome.content == "d/x.py:def hello():\nd/x.py-    return 1"


async def test_path_is_omitted_for_a_single_file(desk: Desk):
    outcome = await call(desk, "Grep", pattern="return", output_mode="content", path="d/x.py", **{"-C": 1})
    assert outcome.content == "1-def hello():\n2:    return 1\n3-# hello hello"


async def test_occurrences_are_counted(desk: Desk):
    outcome = await call(desk, "Grep", pattern="hello", output_mode="count", path="d")
    assert outcome.content == "d/x.py:3\n\nFound 3 total occurrences across 1 file."
    assert (outcome.detail["numMatches"], outcome.detail["content"]) == (3, "d/x.py:3")


async def test_a_match_may_span_lines(desk: Desk):
    outcome = await call(desk, "Grep", pattern=r"hello.*return", multiline=True)
    assert outcome.detail["filenames"] == ["d/x.py"]


async def test_results_are_paginated(desk: Desk):
    first = await call(desk, "Grep", pattern="hello", head_limit=1)
    assert first.content == "Found 1 file [Showing results with pagination = limit: 1]\na:b.txt"
    assert (first.detail["appliedLimit"], first.detail["totalFiles"]) == (1, 2)
    behind = await call(desk, "Grep", pattern="hello", offset=5)
    assert behind.content == "No entries at this offset. [Showing results with pagination = offset: 5]"


async def test_no_matches(desk: Desk):
    assert (await call(desk, "Grep", pattern="zzz")).content == "No files found"
    assert (await call(desk, "Grep", pattern="zzz", output_mode="content")).content == "No matches found"
    counted = await call(desk, "Grep", pattern="zzz", output_mode="count")
    assert counted.content == "No matches found\n\nFound 0 total occurrences across 0 files."


async def test_invalid_patterns_and_paths_are_reported(desk: Desk):
    with pytest.raises(ToolFailed, match="unclosed group"):
        await call(desk, "Grep", pattern="(")
    with pytest.raises(ToolFailed, match="Path does not exist: no"):
        await call(desk, "Grep", pattern="x", path="no")
    with pytest.raises(msgspec.ValidationError):
        await call(desk, "Grep", pattern="x", **{"-A": -1})


async def test_a_pattern_that_looks_like_an_option_is_a_pattern(desk: Desk, tmp_path: Path):
    (tmp_path / "project" / "o").write_text("--files\n")
    assert (await call(desk, "Grep", pattern="--files")).detail["filenames"] == ["o"]


async def test_links_are_not_followed_and_unreadable_files_not_searched(desk: Desk, tmp_path: Path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("hello")
    (tmp_path / "project" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "project" / "file-link").symlink_to(tmp_path / "outside" / "secret")
    desk.may_read = lambda resolved: not resolved.asked.endswith(".txt")
    for mode in ("files_with_matches", "count", "content"):
        shown = (await call(desk, "Grep", pattern="hello", output_mode=mode)).content
        assert "link" not in shown
        assert "a:b" not in shown
        assert "x.py" in shown


async def test_large_results_are_saved_to_a_file(desk: Desk, tmp_path: Path):
    (tmp_path / "project" / "many").write_text(f"{'y' * 200}\n" * 400)
    outcome = await call(desk, "Grep", pattern="yy", output_mode="content")
    assert outcome.content.startswith("<persisted-output>")
    assert (outcome.detail["numLines"], outcome.detail["totalLines"]) == (250, 400)
    (path,) = (tmp_path / "results").iterdir()
    assert len(path.read_text().splitlines()) == 252
