"""EnterWorktree and ExitWorktree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, text, tool_use
from tests.agent.stage import StagedHost, stage
from tests.agent.tools.workplace import text_in


def git(folder: Path, *arguments: str) -> str:
    words = ("git", "-c", "user.email=a@example.com", "-c", "user.name=n", *arguments)
    return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with one commit."""
    folder = tmp_path / "project"
    (folder / "secrets").mkdir(parents=True)
    (folder / "a.txt").write_text("one\n")
    (folder / "secrets" / "key").write_text("hidden\n")
    git(folder, "init", "-q", "-b", "main", ".")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "First")
    return folder


@asynccontextmanager
async def session(
    folder: Path, *calls: Any, flags: tuple[str, ...] = (), trusted: bool = True
) -> AsyncIterator[StagedHost]:
    trust = ("--trust-folder",) if trusted else ()
    async with stage(folder, Script.of(*calls, text("done")), *trust, *flags) as host:
        await host.turn("go")
        yield host


def texts_of(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).glob("*.txt"))


def exists(path: str) -> bool:
    return os.path.exists(path)


def enter(**given: Any) -> Any:
    return tool_use("EnterWorktree", **given)


def leave(action: str, **given: Any) -> Any:
    return tool_use("ExitWorktree", action=action, **given)


def bash(command: str) -> Any:
    return tool_use("Bash", command=command)


def results(host: StagedHost) -> list[str]:
    return [str(block["content"]) for block in host.results_of_tools()]


def details(host: StagedHost) -> list[Any]:
    return [line["tool_use_result"] for line in host.of("user") if "tool_use_result" in line]


async def test_the_session_works_in_a_new_worktree_until_it_leaves(tmp_path: Path, project: Path):
    calls = [enter(name="feat/one"), bash("pwd; git branch --show-current"), bash("cd /; pwd"), bash("pwd")]
    async with session(tmp_path, *calls, leave("keep"), bash("pwd")) as host:
        place = project / ".claude" / "worktrees" / "feat+one"
        assert details(host)[0]["worktreePath"] == str(place)
        assert details(host)[0]["worktreeBranch"] == "worktree-feat+one"
        assert results(host)[1] == f"{place}\nworktree-feat+one"
        assert results(host)[3] == str(place)  # `cd` outside is reset to the worktree
        left = details(host)[4]
        assert (left["action"], left["restoredCwd"], left["originalCwdMissing"]) == ("keep", str(project), False)
        assert results(host)[5] == str(project)
        assert (place / "a.txt").exists()
        assert "worktree-feat+one" in git(project, "branch", "--list", "worktree-*")


async def test_the_working_folder_of_permissions_follows(tmp_path: Path, project: Path):
    writes = [tool_use("Write", file_path=name, content="x") for name in ("new.txt", str(project / "new.txt"))]
    async with session(tmp_path, enter(name="w"), *writes, flags=("--permission-mode", "acceptEdits")) as host:
        asked = [request["input"]["file_path"] for request in host.requests("can_use_tool")]
        assert asked == [str(project / "new.txt")]
        assert (project / ".claude" / "worktrees" / "w" / "new.txt").exists()


@pytest.mark.parametrize("rule", ["Read(/secrets/**)", "Read(./secrets/**)", "Read(secrets/key)", "Read(key)"])
async def test_deny_rules_apply_in_both_folders(tmp_path: Path, project: Path, rule: str):
    reads = [tool_use("Read", file_path=name) for name in ("secrets/key", str(project / "secrets" / "key"))]
    calls = [enter(name="w"), *reads, bash("cat secrets/key")]
    async with session(tmp_path, *calls, flags=("--disallowedTools", rule)) as host:
        assert not [result for result in results(host) if "hidden" in result]


async def test_unsaved_work_is_removed_only_on_request(tmp_path: Path, project: Path):
    place = project / ".claude" / "worktrees" / "w"
    async with session(tmp_path, enter(name="w")) as host:
        (place / "new.txt").write_text("x")
        git(place, "commit", "-q", "--allow-empty", "-m", "Second")
        host.model.play(leave("remove"), leave("remove", discard_changes=True), leave("keep"), text("done"))
        await host.turn("leave")
        refused, removed, again = results(host)[1:]
        assert "1 uncommitted file and 1 commit" in refused
        assert "in no worktree" in again
        assert (details(host)[2]["discardedFiles"], details(host)[2]["discardedCommits"]) == (1, 1)
        assert str(place) in removed
        assert not place.exists()
        assert git(project, "branch") == "* main"


async def test_an_unchanged_worktree_is_removed(tmp_path: Path, project: Path):
    async with session(tmp_path, enter(), leave("remove")) as host:
        assert not exists(details(host)[0]["worktreePath"])
        assert git(project, "branch") == "* main"


async def test_an_existing_worktree_is_entered_and_not_removed(tmp_path: Path, project: Path):
    place = project / ".claude" / "worktrees" / "w"
    git(project, "worktree", "add", "-q", "-b", "side", str(place))
    calls = [enter(path=str(place)), leave("remove"), leave("keep"), enter(name="w"), enter(name="other")]
    async with session(tmp_path, *calls) as host:
        assert details(host)[0]["worktreeBranch"] == "side"
        assert "did not make" in results(host)[1]
        assert "existing" in results(host)[3]
        assert "already" in results(host)[4]
        assert place.exists()


@pytest.mark.parametrize(
    "given",
    [
        {"name": "../x"},
        {"name": "a b"},
        {"name": "x" * 65},
        {"name": "a/./b"},
        {"name": "a", "path": "b"},
        {"path": "/tmp"},
    ],
    ids=str,
)
async def test_invalid_names_and_paths_are_refused(tmp_path: Path, project: Path, given: dict[str, str]):
    async with session(tmp_path, enter(**given)) as host:
        assert host.results_of_tools()[0]["is_error"]
        assert not (project / ".claude").exists()


async def test_a_link_is_not_followed(tmp_path: Path, project: Path):
    (tmp_path / "elsewhere").mkdir()
    (project / ".claude").symlink_to(tmp_path / "elsewhere")
    async with session(tmp_path, enter(name="w")) as host:
        assert "link" in results(host)[0]
        assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("config", [("core.fsmonitor", "touch {ran}"), ("filter.x.smudge", "touch {ran}; cat")])
async def test_git_runs_nothing_that_the_repository_configures(tmp_path: Path, project: Path, config: tuple[str, str]):
    ran = tmp_path / "ran"
    hook = project / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    (project / ".gitattributes").write_text("* filter=x\n")
    git(project, "add", ".gitattributes")
    git(project, "commit", "-q", "-m", "Attributes")
    git(project, "config", config[0], config[1].format(ran=ran))
    async with session(tmp_path, enter(name="w"), leave("remove", discard_changes=True)):
        assert not ran.exists()


async def test_it_fails_without_trust_without_git_and_in_plan_mode(tmp_path: Path, project: Path):
    (project / ".mcp.json").write_text('{"mcpServers": {"theirs": {"command": "false"}}}')
    async with session(tmp_path, enter(name="w"), trusted=False) as host:
        assert "not trusted" in results(host)[0]
    (project / ".mcp.json").unlink()
    async with session(tmp_path, enter(name="w"), flags=("--permission-mode", "plan")) as host:
        assert "plan mode" in results(host)[0]
    assert not (project / ".claude").exists()
    (tmp_path / "plain" / "project").mkdir(parents=True)
    async with session(tmp_path / "plain", enter(name="w"), leave("keep")) as host:
        assert "not in a git repository" in results(host)[0]


async def test_hooks_make_and_remove_worktrees(tmp_path: Path):
    (tmp_path / "project").mkdir()
    made, seen = tmp_path / "project" / "made", tmp_path / "seen"
    commands = {
        "WorktreeCreate": f"cat > {seen}-create; mkdir -p {made}; echo {made}",
        "WorktreeRemove": f"cat > {seen}-remove",
    }
    hooks = {event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in commands.items()}
    flags = ("--settings", json.dumps({"hooks": hooks}))
    calls = [enter(name="w"), bash("pwd"), leave("remove"), leave("remove", discard_changes=True), bash("pwd")]
    async with session(tmp_path, *calls, flags=flags) as host:
        assert details(host)[0]["worktreePath"] == str(made)
        assert results(host)[1] == str(made)
        assert "cannot be checked" in results(host)[2]
        assert results(host)[4] == str(tmp_path / "project")
    created, removed = (json.loads(text_in(f"{seen}-{word}")) for word in ("create", "remove"))
    assert (created["hook_event_name"], created["name"]) == ("WorktreeCreate", "w")
    assert (removed["hook_event_name"], removed["worktree_path"]) == ("WorktreeRemove", str(made))


@pytest.mark.parametrize(("base", "files"), [("head", ["a.txt", "b.txt"]), ("fresh", ["a.txt"]), (3, ["a.txt"])])
async def test_the_settings_choose_where_a_branch_begins(tmp_path: Path, project: Path, base: Any, files: list[str]):
    git(project, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(project, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    (project / "b.txt").write_text("two\n")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "Local")
    settings = ("--settings", json.dumps({"worktree": {"baseRef": base}}))
    async with session(tmp_path, enter(name="w"), flags=settings) as host:
        assert texts_of(details(host)[0]["worktreePath"]) == files


SANDBOXED = ("--settings", json.dumps({"sandbox": {"enabled": True}}), "--dangerously-skip-permissions")
COMMIT = (
    "echo n > n.txt && git add n.txt && git -c user.email=a@b -c user.name=n commit -qm New && git log -1 --format=%s"
)


@pytest.mark.parametrize("guard", ["bubblewrap", "landlock"])
async def test_commits_in_a_worktree_work_in_the_sandbox(
    tmp_path: Path, project: Path, guard: str, monkeypatch: pytest.MonkeyPatch
):
    if guard == "landlock":
        (tmp_path / "programs").mkdir()
        (tmp_path / "programs" / "git").symlink_to(shutil.which("git") or "git")
        monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    elif shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    attacks = [
        "echo x > {git}/hooks/post-commit",
        "echo x >> {git}/config",
        "echo /tmp > {git}/worktrees/w/commondir",
        "rm .git && echo gitdir: /tmp > .git",
        "echo x > {project}/a.txt",
    ]
    git_folder = project / ".git"
    before = {path: path.read_text() for path in (git_folder / "config", project / "a.txt")}
    calls = [bash(attack.format(git=git_folder, project=project)) for attack in attacks]
    async with session(tmp_path, enter(name="w"), bash(COMMIT), *calls, flags=SANDBOXED) as host:
        place = project / ".claude" / "worktrees" / "w"
        assert results(host)[1] == "New"
        assert git(place, "log", "-1", "--format=%s") == "New"
        assert (place / ".git").read_text() == f"gitdir: {git_folder}/worktrees/w\n"
    assert {path: path.read_text() for path in before} == before
    assert not (git_folder / "hooks" / "post-commit").exists()
    assert (git_folder / "worktrees" / "w" / "commondir").read_text() == "../..\n"
