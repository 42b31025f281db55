"""Where git would look from a folder."""

import os
import subprocess

import pytest

from handrail.settings.git_folders import git_directories, inside_git, main_top
from tests.settings.folder import Folder


def test_a_folder_outside_of_git_has_no_configuration(folder: Folder):
    assert git_directories(str(folder.path)) == []


def test_a_file_in_place_of_the_folder_leads_to_it(folder: Folder):
    folder.put("sub/.git", "gitdir: ../real\n")
    folder.put("real/commondir", "../shared\n")
    assert git_directories(str(folder.path / "sub")) == [str(folder.path / "real"), str(folder.path / "shared")]


def test_an_odd_thing_in_place_of_the_folder_leads_nowhere(folder: Folder):
    os.mkfifo(folder.path / ".git")
    assert git_directories(str(folder.path)) == [str(folder.path)]


def test_it_agrees_with_git_itself_in_a_further_worktree(folder: Folder):
    def git(*arguments: str, at: str = "project") -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a", *arguments]
        done = subprocess.run(command, cwd=folder.root / at, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "x")
    git("worktree", "add", "-q", "../two")
    below = folder.root / "two" / "below"
    below.mkdir()
    told = [git("rev-parse", "--absolute-git-dir", at="two"), str(folder.path / ".git")]
    assert git_directories(str(below)) == told
    assert inside_git(str(below)) == [str(below), str(below.parent)]
    assert main_top(str(below)) == str(folder.path)


def test_folder_outside_of_git_is_its_own_top(folder: Folder):
    assert inside_git(str(folder.path)) == [str(folder.path)]
    assert main_top(str(folder.path)) == str(folder.path)


def test_unusual_gitdir_gives_the_folder_itself(folder: Folder):
    folder.put(".git", "gitdir: elsewhere\n")
    assert main_top(str(folder.path)) == str(folder.path)


@pytest.mark.parametrize("decoy", ["empty", "garbage", "link", "pipe"])
def test_a_decoy_does_not_hide_the_repository_above(folder: Folder, decoy: str):
    subprocess.run(["git", "init", "-q", str(folder.path)], check=True)
    below = folder.path / "below"
    place = below / ".git"
    below.mkdir()
    if decoy == "pipe":
        os.mkfifo(place)
    else:
        for name in ("objects", "refs"):
            (place / name).mkdir(parents=True)
    if decoy == "garbage":
        (place / "HEAD").write_text("x")
    elif decoy == "link":
        (place / "HEAD").symlink_to("nowhere")
    told = subprocess.run(
        ["git", "rev-parse", "--absolute-git-dir"], cwd=below, check=True, capture_output=True, text=True
    )
    assert told.stdout.strip() == str(folder.path / ".git")
    assert inside_git(str(below)) == [str(below), str(folder.path)]
    assert str(folder.path / ".git") in git_directories(str(below))


def test_the_inside_of_a_repository_counts_from_any_depth(folder: Folder):
    subprocess.run(["git", "init", "-q", "--bare", str(folder.path)], check=True)
    deep = folder.path / "a" / "b"
    deep.mkdir(parents=True)
    assert git_directories(str(deep)) == [str(folder.path)]


def test_a_head_that_is_a_link_into_refs_is_one(folder: Folder):
    subprocess.run(["git", "init", "-q", str(folder.path)], check=True)
    head = folder.path / ".git" / "HEAD"
    head.unlink()
    head.symlink_to("refs/heads/main")
    assert inside_git(str(folder.path)) == [str(folder.path)]
