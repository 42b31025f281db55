"""Trust in a whole folder: given in the CLI's dialog, or by the host of a session."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from handrail.settings import accept, cli_state_file, host_trusts_folder, load, look
from handrail.settings.given_trust import external_imports_approved
from handrail.settings.trust import accept_own_write
from tests.settings.folder import Folder

HOOK = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "evil"}]}]}}


@pytest.fixture
def folder(folder: Folder) -> Folder:
    folder.put(".claude/settings.json", HOOK)
    return folder


def accept_in_cli(folder: Folder, path: Path | None = None, answer: Any = True) -> Path:
    """Store an answer as the CLI does for the config home of `folder`."""
    state = folder.home / ".claude.json"
    state.write_text(json.dumps({"numStartups": 3, "projects": {str(path or folder.path): answer_of(answer)}}))
    return state


def answer_of(answer: Any) -> dict[str, Any]:
    return {"allowedTools": [], "hasTrustDialogAccepted": answer}


def test_folder_accepted_in_the_cli_is_trusted_with_any_content(folder: Folder):
    accept_in_cli(folder)
    assert (folder.look().trusted, folder.look().given_by) == (True, "cli")
    folder.put(".claude/settings.json", {**HOOK, "env": {"A": "x"}})
    loaded = folder.load()
    assert (loaded.trusted, len(loaded.settings.hooks), loaded.settings.env) == (True, 1, {"A": "x"})


@pytest.mark.parametrize("other", ["..", "../proj", "below"])
def test_answer_for_another_folder_does_not_count(folder: Folder, other: str):
    accept_in_cli(folder, (folder.path / other).resolve())
    assert folder.look().must_ask


def git(*arguments: object) -> None:
    identity = ("-c", "user.email=a@b", "-c", "user.name=n")
    subprocess.run(["git", *identity, *map(str, arguments)], check=True, capture_output=True)


def test_answer_for_a_repository_counts_in_its_folders(folder: Folder):
    git("init", folder.path)
    folder.put("sub/.claude/settings.json", HOOK)
    top, folder.path = folder.path, folder.path / "sub"
    accept_in_cli(folder, folder.path)
    assert folder.look().must_ask
    accept_in_cli(folder, top)
    assert folder.look().given_by == "cli"


def test_answer_for_a_repository_counts_in_its_worktrees(folder: Folder, tmp_path: Path):
    git("init", folder.path)
    git("-C", folder.path, "commit", "--allow-empty", "-m", "x")
    git("-C", folder.path, "worktree", "add", tmp_path / "tree")
    top, folder.path = folder.path, tmp_path / "tree"
    folder.put(".claude/settings.json", HOOK)
    accept_in_cli(folder, top)
    assert folder.look().given_by == "cli"
    accept_in_cli(folder, folder.path)
    assert folder.look().must_ask


@pytest.mark.parametrize("lead", ["{main}/.git", "{main}/.git/worktrees/tree", "{main}/.git/worktrees/none"])
def test_folder_that_poses_as_a_worktree_is_not_trusted(folder: Folder, tmp_path: Path, lead: str):
    """An archive can bring a `.git` file that names a repository which the user trusts."""
    main = tmp_path / "main"
    git("init", main)
    git("-C", main, "commit", "--allow-empty", "-m", "x")
    git("-C", main, "worktree", "add", tmp_path / "tree")
    folder.put(".git", f"gitdir: {lead.format(main=main)}\n")
    accept_in_cli(folder, main)
    assert folder.look().must_ask


@pytest.mark.parametrize("answer", [False, None, "true", 1, {}])
def test_only_true_counts(folder: Folder, answer: Any):
    accept_in_cli(folder, answer=answer)
    assert (folder.look().must_ask, folder.look().problem) == (True, "")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"projects": []}', '{"projects": {"/x": 1}}', "[" * 100_000])
def test_state_file_that_cannot_be_read_counts_as_no_answer(folder: Folder, content: str):
    accept_in_cli(folder).write_text(content)
    standing = folder.look()
    assert (standing.must_ask, ".claude.json" in standing.problem) == (True, True)


@pytest.mark.parametrize("content", ["{}", '{"projects": {}}', '{"projects": {"/x": {}}}'])
def test_state_file_without_an_answer_is_ignored(folder: Folder, content: str):
    accept_in_cli(folder).write_text(content)
    standing = folder.look()
    assert (standing.must_ask, standing.problem) == (True, "")


def test_state_file_that_others_can_write_does_not_count(folder: Folder):
    accept_in_cli(folder).chmod(0o666)
    standing = folder.look()
    assert (standing.must_ask, "others can write it" in standing.problem) == (True, True)


def test_state_file_in_the_folder_itself_does_not_count(folder: Folder):
    state = folder.put("config/.claude.json", {"projects": {str(folder.path): answer_of(answer=True)}})
    standing = look(str(folder.path), str(folder.home), state_file=str(state))
    assert (standing.must_ask, "lies inside of" in standing.problem) == (True, True)
    link = folder.home / ".claude.json"
    link.symlink_to(state)
    assert folder.look().must_ask


def test_state_file_may_be_a_link(folder: Folder, tmp_path: Path):
    state = accept_in_cli(folder)
    state.rename(tmp_path / "kept.json")
    state.symlink_to(tmp_path / "kept.json")
    assert folder.look().trusted


def test_state_file_lies_beside_the_config_home_unless_the_variable_names_one():
    assert cli_state_file({"HOME": "/home/me"}) == "/home/me/.claude.json"
    assert cli_state_file({"HOME": "/home/me", "CLAUDE_CONFIG_DIR": "/cfg"}) == "/cfg/.claude.json"
    assert cli_state_file({"HOME": "/home/me", "CLAUDE_CONFIG_DIR": ""}) == "/home/me/.claude.json"


def test_state_file_of_older_versions_wins(folder: Folder):
    accept_in_cli(folder)
    (folder.home / ".config.json").write_text("{}")
    assert folder.look().must_ask
    (folder.home / ".claude.json").rename(folder.home / ".config.json")
    assert folder.look().given_by == "cli"


def test_default_state_file_is_that_of_the_environment(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    project, config = tmp_path / "p", tmp_path / "cfg"
    (project / ".claude").mkdir(parents=True)
    (project / ".claude" / "settings.json").write_text(json.dumps(HOOK))
    config.mkdir()
    answers = json.dumps({"projects": {str(project): answer_of(answer=True)}})
    (own_home / ".claude.json").write_text(answers)
    assert look(str(project)).given_by == load(str(project)).standing.given_by == "cli"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(config))
    assert look(str(project)).must_ask
    (config / ".claude.json").write_text(answers)
    assert look(str(project)).given_by == "cli"


def test_host_trusts_a_folder_for_its_session_only(folder: Folder):
    standing = look(str(folder.path), str(folder.home), host_trusts=True)
    assert (standing.trusted, standing.given_by) == (True, "host")
    assert load(str(folder.path), home=str(folder.home), host_trusts=True).settings.hooks
    assert folder.look().must_ask


@pytest.mark.parametrize(("value", "trusts"), [("1", True), ("true", True), ("TRUE", True), ("0", False), ("", False)])
def test_variable_of_the_host(value: str, trusts: bool):
    assert host_trusts_folder({"HANDRAIL_TRUST_FOLDER": value}) is trusts
    assert not host_trusts_folder({})


def test_given_trust_is_not_turned_into_an_acceptance(folder: Folder):
    state = accept_in_cli(folder)
    before = folder.look()
    path = folder.put(".claude/settings.local.json", {"permissions": {"allow": ["Read"]}})
    after = folder.look().contents
    name = os.path.relpath(path, folder.path)
    assert not accept_own_write(before, after, name, after.files[name], str(folder.home))
    state.unlink()
    assert folder.look().must_ask


def test_acceptance_of_exactly_the_contents_needs_no_state_file(folder: Folder):
    accept(folder.look().contents, str(folder.home))
    os.mkfifo(folder.home / ".claude.json")
    standing = folder.look()
    assert (standing.trusted, standing.given_by, standing.problem) == (True, "", "")


@pytest.mark.parametrize(("answer", "approved"), [(True, True), (False, False), ("yes", False), (None, False)])
def test_imports_from_outside_are_approved_apart_from_trust(tmp_path: Path, answer: Any, approved: bool):
    project, state = tmp_path / "project", tmp_path / ".claude.json"
    project.mkdir()
    path = str(project.resolve())
    recorded = {"hasTrustDialogAccepted": True, "hasClaudeMdExternalIncludesApproved": answer}
    state.write_text(json.dumps({"projects": {path: recorded}}))
    state.chmod(0o600)
    assert external_imports_approved(path, str(state)) is approved
