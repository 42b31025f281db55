"""The Glob tool."""

import os
from pathlib import Path

import pytest

from handrail.agent.tools.base import ToolFailed
from tests.agent.tools.workplace import call, desk_in


def make(folder: Path, *names: str) -> None:
    for age, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (1_000_000 - age, 1_000_000 - age))


async def test_newest_first_with_hidden_files_but_without_git(tmp_path: Path):
    desk = desk_in(tmp_path)
    make(tmp_path / "project", "new.txt", ".hidden.txt", "d/old.txt", ".git/x.txt", "other.py")
    (tmp_path / "project" / ".gitignore").write_text("new.txt")
    outcome = await call(desk, "Glob", pattern="**/*.txt")
    assert outcome.content == "new.txt\n.hidden.txt\nd/old.txt"
    assert outcome.detail["filenames"] == ["new.txt", ".hidden.txt", "d/old.txt"]
    assert {key: outcome.detail[key] for key in ("numFiles", "truncated", "totalMatches", "countIsComplete")} == {
        "numFiles": 3,
        "truncated": False,
        "totalMatches": 3,
        "countIsComplete": True,
    }


async def test_at_most_a_hundred_files_are_listed(tmp_path: Path):
    desk = desk_in(tmp_path)
    make(tmp_path / "project", *(f"{number:03}" for number in range(130)))
    outcome = await call(desk, "Glob", pattern="*")
    assert outcome.detail["filenames"] == [f"{number:03}" for number in range(100)]
    assert (outcome.detail["truncated"], outcome.detail["totalMatches"]) == (True, 130)
    assert "100 of 130" in outcome.content


async def test_folder_in_path_or_in_the_pattern(tmp_path: Path):
    desk = desk_in(tmp_path)
    make(tmp_path / "project", "d/x.py", "y.py")
    assert (await call(desk, "Glob", pattern="*.py", path="d")).content == "d/x.py"
    assert (await call(desk, "Glob", pattern=f"{desk.cwd}/d/*.py")).content == "d/x.py"
    assert (await call(desk, "Glob", pattern=f"{desk.cwd}/d/x.py")).content == "d/x.py"
    assert (await call(desk, "Glob", pattern="*.zzz")).content == "No files found"
    with pytest.raises(ToolFailed, match="Directory does not exist: no"):
        await call(desk, "Glob", pattern="*", path="no")


async def test_links_are_not_followed_and_unreadable_files_not_listed(tmp_path: Path):
    desk = desk_in(tmp_path)
    make(tmp_path / "outside", "secret.txt")
    make(tmp_path / "project", "a.txt", "denied.txt")
    (tmp_path / "project" / "link").symlink_to(tmp_path / "outside")
    desk.may_read = lambda resolved: not resolved.asked.endswith("denied.txt")
    assert (await call(desk, "Glob", pattern="**/*.txt")).content == "a.txt"
