"""What a git configuration would run, and the variables that keep it from doing so."""

import os
import subprocess
from pathlib import Path

import pytest

from handrail.settings.git_config import git_entries, git_guard, hook_folders, read_git_config
from tests.settings.folder import Folder

CONFIG = r"""
[core]
	repositoryformatversion = 0
	fsmonitor = "touch \"x\""   # runs
	pager = less \
-R
	editor
[alias]
	st = status
	pwn = "!sh -c evil ; #"
[filter "a\"b"]
	clean = cat ; comment
[remote "origin"]
	url = https://example.org/x.git
	url = ssh://[::1]/x
[remote "evil"] url = ext::sh -c evil
[submodule "a"]
	update = rebase
[submodule "b"]
	update = !evil
[branch "main"]
	remote = origin
not an entry at all
"""


def test_entries_are_read_as_git_reads_them():
    entries = [(entry.name, entry.value, entry.line) for entry in read_git_config(CONFIG, "config")]
    assert entries == [
        ("core.repositoryformatversion", "0", 3),
        ("core.fsmonitor", 'touch "x"', 4),
        ("core.pager", "less -R", 5),
        ("core.editor", "true", 7),
        ("alias.st", "status", 9),
        ("alias.pwn", "!sh -c evil ; #", 10),
        ('filter.a"b.clean', "cat", 12),
        ("remote.origin.url", "https://example.org/x.git", 14),
        ("remote.origin.url", "ssh://[::1]/x", 15),
        ("remote.evil.url", "ext::sh -c evil", 16),
        ("submodule.a.update", "rebase", 18),
        ("submodule.b.update", "!evil", 20),
        ("branch.main.remote", "origin", 22),
    ]


def test_it_agrees_with_git_itself(folder: Folder):
    path = folder.put("config", CONFIG.replace("not an entry at all\n", ""))
    command = ["git", "config", "--file", str(path), "--list", "-z"]
    listed = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split("\0")[:-1]
    ours = [(entry.name, entry.value) for entry in read_git_config(path.read_text(), str(path))]
    assert [(name.partition("\n")[0], name.partition("\n")[2] or "true") for name in listed] == ours


def test_only_what_runs_something_counts(folder: Folder):
    folder.put(".git/config", CONFIG)
    entries, problems = git_entries(str(folder.path))
    assert [entry.name for entry in entries] == [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "alias.pwn",
        'filter.a"b.clean',
        "remote.evil.url",
        "submodule.b.update",
    ]
    assert problems == []


@pytest.mark.parametrize("value", ["true", "false", "", "on", "0"])
def test_a_monitor_that_is_built_into_git_is_harmless(folder: Folder, value: str):
    folder.put(".git/config", f"[core]\nfsmonitor = {value}\n")
    assert git_entries(str(folder.path)) == ([], [])


def test_a_configuration_that_cannot_be_read_is_a_problem(folder: Folder):
    (folder.path / ".git").mkdir()
    os.mkfifo(folder.path / ".git" / "config")
    entries, problems = git_entries(str(folder.path))
    assert (entries, [problem.text for problem in problems]) == ([], ["a pipe, where a plain file is expected"])


def test_continued_last_line_is_read(folder: Folder):
    assert [(e.value, e.line) for e in read_git_config("[core]\npager = a\\", "x")] == [("a", 2)]


def test_a_repository_inside_of_another_is_seen(folder: Folder):
    for name in ("HEAD", "objects/x", "refs/x", "config"):
        folder.put(name, "[core]\nfsmonitor = evil\n")
    assert [entry.value for entry in git_entries(str(folder.path))[0]] == ["evil"]


def test_hooks_are_looked_for_where_git_looks(folder: Folder):
    folder.put(".git/config", "[core]\nhooksPath = .husky/_\n")
    entries, _ = git_entries(str(folder.path))
    assert hook_folders(str(folder.path), entries) == [
        str(folder.path / ".git" / "hooks"),
        str(folder.path / ".husky/_"),
    ]


def repository(path: Path, canary: Path) -> None:
    """A real repository whose configuration runs things whenever git is used in it."""
    subprocess.run(["git", "init", "-q", str(path)], check=True)
    monitor, hook = path / ".git" / "monitor.sh", path / ".git" / "hooks" / "post-index-change"
    for script in (monitor, hook):
        script.write_text(f"#!/bin/sh\necho ran >> '{canary}'\n")
        script.chmod(0o755)
    (path / "a.txt").write_text("a")
    (path / ".gitattributes").write_text("*.txt filter=evil\n")
    with (path / ".git" / "config").open("a") as config:
        config.write(f'[core]\n\tfsmonitor = "{monitor}"\n[filter "evil"]\n\tclean = "sh -c \'{monitor}; cat\'"\n')


def test_the_guard_keeps_a_real_git_from_running_what_is_configured(folder: Folder, tmp_path: Path):
    canary = tmp_path / "canary"
    repository(folder.path, canary)
    commands = (["git", "status"], ["git", "add", "a.txt"], ["git", "diff", "--cached"])
    guard = folder.load().environment
    for command in commands:
        subprocess.run(command, cwd=folder.path, check=True, capture_output=True, env={**os.environ, **guard})
    assert not canary.exists()
    subprocess.run(["git", "status"], cwd=folder.path, check=True, capture_output=True)
    assert canary.exists()


def test_harmless_configuration_needs_no_guard():
    assert git_guard([], has_hooks=False) == {}


def test_included_files_are_guarded_against(folder: Folder):
    folder.put(".git/config", "[include]\npath = ../evil\n")
    entries, _ = git_entries(str(folder.path))
    guard = git_guard(entries, has_hooks=False)
    assert "core.fsmonitor" in guard.values()
    assert int(guard["GIT_CONFIG_COUNT"]) == sum(name.startswith("GIT_CONFIG_KEY_") for name in guard)


def test_included_file_of_the_folder_is_read_and_asked_about(folder: Folder):
    folder.put(".git/config", "[include]\npath = ../more.cfg\n[include]\npath =\n")
    folder.put("more.cfg", "[core]\nfsmonitor = ./a\n[include]\npath = .git/config\n")
    assert [entry.value for entry in git_entries(str(folder.path))[0]] == ["../more.cfg", "", "./a", ".git/config"]
    folder.accept()
    folder.put("more.cfg", "[core]\nfsmonitor = ./b\n[include]\npath = .git/config\n")
    assert folder.look().must_ask


def test_a_chain_of_files_that_never_ends_is_left(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("handrail.settings.git_config.MOST_FILES", 4)
    folder.put(".git/config", "[include]\npath = ../0\n")
    for number in range(9):
        folder.put(str(number), f"[include]\npath = {number + 1}\n[core]\nfsmonitor = {number}x\n")
    values = [entry.value for entry in git_entries(str(folder.path))[0] if entry.name == "core.fsmonitor"]
    assert values == ["0x", "1x"]
