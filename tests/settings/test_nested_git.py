"""Repositories below a folder are found at any depth, and each is trusted on its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from handrail.settings import accept, look
from handrail.settings.nested_git import NestedGit, may_run_git
from tests.settings.folder import Folder

EVIL = "[core]\nfsmonitor = evil\n"


def unsafe(folder: Folder, *more: Path, accepted: bool = False) -> str:
    found = NestedGit(str(folder.home)).unsafe(str(folder.path), [str(path) for path in more], accepted=accepted)
    return os.path.relpath(found, folder.path) if found else ""


def put_repository(folder: Folder, name: str, config: str = EVIL) -> None:
    for part, text in (("HEAD", "ref: refs/heads/main\n"), ("objects/x", ""), ("refs/x", ""), ("config", config)):
        folder.put(f"{name}/{part}", text)


def test_a_folder_without_repositories_is_safe(folder: Folder):
    folder.put("src/HEAD", "x")
    assert unsafe(folder) == ""


@pytest.mark.parametrize("place", ["sub", "a/b/c/d", ".hidden/x", "node_modules/p"])
def test_a_nested_repository_that_runs_something_is_found(folder: Folder, place: str):
    put_repository(folder, f"{place}/.git")
    assert unsafe(folder) == place


@pytest.mark.parametrize("config", ["", '[core]\nbare = false\n[remote "o"]\nurl = https://example.org/x\n'])
def test_a_nested_repository_that_runs_nothing_is_safe(folder: Folder, config: str):
    put_repository(folder, "sub/.git", config)
    assert unsafe(folder) == ""


def test_a_hook_script_of_a_nested_repository_counts(folder: Folder):
    put_repository(folder, "sub/.git", "")
    folder.put("sub/.git/hooks/post-checkout.sample", "x", mode=0o755)
    assert unsafe(folder) == ""
    folder.put("sub/.git/hooks/post-checkout", "x", mode=0o755)
    assert unsafe(folder) == "sub"


def test_a_folder_that_looks_like_a_git_directory_is_found(folder: Folder):
    put_repository(folder, "docs/kit")
    assert unsafe(folder) == "docs/kit"


def test_a_git_directory_whose_objects_are_elsewhere_is_found(folder: Folder):
    put_repository(folder, "hidden.d/base")
    folder.put("docs/HEAD", "ref: refs/heads/main\n")
    folder.put("docs/commondir", "../hidden.d/base\n")
    (folder.path / "hidden.d" / "base" / "HEAD").unlink()
    assert unsafe(folder) == "docs"


def test_a_git_file_leads_to_the_directory(folder: Folder):
    put_repository(folder, ".git", "")
    put_repository(folder, ".git/modules/lib", f"{EVIL}worktree = ../../../lib\n")
    folder.put("lib/.git", "gitdir: ../.git/modules/lib\n")
    assert unsafe(folder, accepted=True) in ("lib", ".git/modules/lib")


def test_a_submodule_as_git_makes_it_is_safe(folder: Folder, tmp_path: Path):
    def git(*words: str, cwd: Path) -> None:
        names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always")
        subprocess.run(["git", *names, *words], cwd=cwd, check=True, capture_output=True)

    library = tmp_path / "library"
    library.mkdir()
    for place in (library, folder.path):
        git("init", "-q", "--template=", cwd=place)
        git("commit", "-q", "--allow-empty", "-m", "x", cwd=place)
    git("submodule", "add", "-q", str(library), "lib", cwd=folder.path)
    assert unsafe(folder) == ""
    with (folder.path / ".git/modules/lib/config").open("a") as file:
        file.write(EVIL)
    assert unsafe(folder) in ("lib", ".git/modules/lib")


def test_a_worktree_that_leads_elsewhere_counts(folder: Folder):
    put_repository(folder, "sub/.git", "[core]\nworktree = ../../other\n")
    folder.put("other/x", "")
    assert unsafe(folder) == "sub"


def test_worktrees_of_an_accepted_repository_are_covered(folder: Folder):
    put_repository(folder, ".git")
    folder.put(".git/worktrees/w/HEAD", "ref: refs/heads/w\n")
    folder.put(".git/worktrees/w/commondir", "../..\n")
    assert unsafe(folder) == "."
    assert unsafe(folder, accepted=True) == ""


def test_a_nested_repository_is_accepted_on_its_own(folder: Folder):
    put_repository(folder, "sub/.git")
    folder.accept()
    assert unsafe(folder, accepted=True) == "sub"
    accept(look(str(folder.path / "sub"), str(folder.home)).contents, str(folder.home))
    assert unsafe(folder, accepted=True) == ""
    folder.put("sub/.git/config", f"{EVIL}pager = evil\n")
    assert unsafe(folder, accepted=True) == "sub"


def test_additional_folders_are_searched_too(folder: Folder, tmp_path: Path):
    other = Folder(tmp_path / "other")
    put_repository(other, ".git")
    assert unsafe(folder) == ""
    assert unsafe(folder, other.path).endswith("other/project")
    folder.put("sub/x", "")
    assert unsafe(folder, folder.path / "sub") == ""


def test_a_repository_that_appears_later_is_found(folder: Folder):
    nested = NestedGit(str(folder.home))
    folder.put("a/b/x", "")
    assert nested.unsafe(str(folder.path)) == ""
    put_repository(folder, "a/b/.git")
    assert nested.unsafe(str(folder.path)) == str(folder.path / "a" / "b")


def test_a_configuration_that_changes_later_is_noticed(folder: Folder):
    nested = NestedGit(str(folder.home))
    put_repository(folder, "a/.git", "")
    assert nested.unsafe(str(folder.path)) == ""
    folder.put("a/.git/config", EVIL)
    assert nested.unsafe(str(folder.path)) == str(folder.path / "a")


def test_links_are_not_followed_and_what_vanishes_is_left_out(folder: Folder, tmp_path: Path):
    other = Folder(tmp_path / "other")
    put_repository(other, ".git")
    (folder.path / "link").symlink_to(other.path)
    assert unsafe(folder) == ""
    assert unsafe(folder, tmp_path / "missing") == ""


def test_too_many_folders_are_not_safe(folder: Folder):
    for name in "abc":
        (folder.path / name).mkdir()
    assert NestedGit(str(folder.home), most_folders=2).unsafe(str(folder.path)) == str(folder.path)
    assert NestedGit(str(folder.home), most_folders=4).unsafe(str(folder.path)) == ""


@pytest.mark.parametrize(
    "command", ["git status", "cd x && gi't' log", "g\\it status", "/usr/bin/git x", "GIT_PAGER=x y"]
)
def test_commands_that_may_run_git(command: str):
    assert may_run_git(command)
    assert not may_run_git("ls -la")
    assert not may_run_git(None)
