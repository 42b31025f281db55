"""The branch that is checked out, read without running anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.settings.git_branch import git_branch


def repository(folder: Path, head: str = "ref: refs/heads/beans/tall\n") -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text(head)
    return folder


def test_the_branch_of_the_repository_around_a_folder_is_found(tmp_path: Path):
    inner = repository(tmp_path) / "src" / "deep"
    inner.mkdir(parents=True)
    assert git_branch(str(inner)) == "beans/tall"


@pytest.mark.parametrize(("head", "branch"), [("0c1f\n", "HEAD"), ("", "")])
def test_without_a_branch_there_is_a_commit_or_nothing(tmp_path: Path, head: str, branch: str):
    assert git_branch(str(repository(tmp_path, head))) == branch


def test_a_worktree_says_where_its_repository_is(tmp_path: Path):
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "HEAD").write_text("ref: refs/heads/side\n")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".git").write_text(f"gitdir: {place}\n")
    assert git_branch(str(tmp_path / "work")) == "side"


def test_a_link_and_a_folder_in_place_of_head_are_not_read(tmp_path: Path):
    (tmp_path / "secret").write_text("ref: refs/heads/secret\n")
    (tmp_path / "one" / ".git").mkdir(parents=True)
    (tmp_path / "one" / ".git" / "HEAD").symlink_to(tmp_path / "secret")
    (tmp_path / "two" / ".git" / "HEAD").mkdir(parents=True)
    assert [git_branch(str(tmp_path / name)) for name in ("one", "two")] == ["", ""]


def test_a_folder_without_a_repository_has_no_branch(tmp_path: Path):
    assert git_branch(str(tmp_path)) == ""
