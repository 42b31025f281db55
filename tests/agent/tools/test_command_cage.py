"""Bash in the cage: commands that only read, and the sandbox of a session without bubblewrap."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

from handrail.agent.tools import process_tree
from handrail.agent.tools.base import StoppedByCage, ToolFailed
from handrail.agent.tools.desk import Desk
from handrail.cage import guards
from handrail.cage.hidden import hidden_files
from handrail.permissions.circumstances import Circumstances
from handrail.permissions.rules.rule import SourcedRule, parse_rule
from tests.agent.tools.workplace import Background, call, desk_in, fill
from tests.cage.caged import needs_guard

pytestmark = needs_guard


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk whose commands run in the cage, with a secret outside of the project."""
    (tmp_path / "secret.txt").write_text("SECRET\n")
    found = desk_in(tmp_path)
    found.caged = True
    (tmp_path / "project" / "a.txt").write_text("INSIDE\n")
    return found


async def test_reading_command_runs_in_the_cage(desk: Desk):
    assert (await call(desk, "Bash", command="cat a.txt | tr A-Z a-z; echo $TMPDIR")).content != ""
    outcome = await call(desk, "Bash", command="cat a.txt; set | grep -c ^GIT_CONFIG_VALUE")
    assert str(outcome.content).startswith("INSIDE\n")


@pytest.mark.parametrize(
    ("command", "tried"),
    [
        ("cat ../secret.txt", "../secret.txt: Permission denied"),
        ("cat $(echo ../secret.txt) | head", "../secret.txt: Permission denied"),
        ("echo x > a.txt", "a.txt: Permission denied"),
        ("touch new", "Permission denied"),
        ("chmod 777 a.txt", "Operation not permitted"),
        ("exec 3<>/dev/tcp/127.0.0.1/1", "Operation not permitted"),
    ],
)
async def test_stopped_command_is_reported_with_what_it_tried(desk: Desk, command: str, tried: str):
    with pytest.raises(StoppedByCage) as stop:
        await call(desk, "Bash", command=command)
    assert tried in stop.value.tried
    assert "SECRET" not in stop.value.output


@pytest.mark.parametrize("command", ["false", "cat missing", "grep nothing a.txt", "echo Permission denied", "exit 3"])
async def test_other_failures_are_not_blamed_on_the_cage(desk: Desk, command: str):
    await call(desk, "Bash", command=command)


async def test_hidden_files_stay_hidden(desk: Desk):
    fill(Path(desk.project, ".env"), "SECRET\n")
    rule = SourcedRule(parse_rule("Read(.env)"), "deny", "session")
    desk.hidden_files = lambda: hidden_files(Circumstances(desk.anchors(), rules=(rule,)))
    with pytest.raises(StoppedByCage) as stop:
        await call(desk, "Bash", command="cat .env a.txt")
    assert "INSIDE" in stop.value.output
    assert "SECRET" not in stop.value.output


async def test_command_that_cannot_be_caged_is_not_run(desk: Desk):
    rule = SourcedRule(parse_rule("Read(//**/key)"), "deny", "session")
    desk.hidden_files = lambda: hidden_files(Circumstances(desk.anchors(), rules=(rule,)))
    with pytest.raises(StoppedByCage, match="cannot run in the cage: more than"):
        await call(desk, "Bash", command="cat a.txt")


async def test_folder_of_a_caged_cd_is_kept(desk: Desk):
    os.mkdir(f"{desk.project}/deep")
    await call(desk, "Bash", command="cd deep")
    assert desk.cwd.endswith("/project/deep")


async def test_temporary_folder_is_removed(desk: Desk):
    outcome = await call(
        desk, "Bash", command='echo x > "$TMPDIR/file"; mkdir "$TMPDIR/d"; cat "$TMPDIR/file"; echo $TMPDIR'
    )
    text, folder = str(outcome.content).split("\n")
    assert text == "x"
    with pytest.raises(FileNotFoundError):
        os.lstat(folder)


async def test_caged_command_can_run_in_the_background(desk: Desk, tmp_path: Path):
    background = desk.tasks = Background(tmp_path)
    await call(desk, "Bash", command="cat a.txt; cat ../secret.txt", run_in_background=True)
    status, summary = await background.tasks[0]
    assert (status, "exit code 1" in summary) == ("failed", True)
    assert "SECRET" not in (tmp_path / "0.output").read_text()


async def test_machine_without_a_guard_runs_the_command_outside(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(guards, "guard_problem", lambda: "the kernel has no Landlock")
    assert (await call(desk, "Bash", command="cat a.txt")).content == "INSIDE"


@pytest.fixture
def sandboxed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A desk with the sandbox enabled on a machine without bubblewrap."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in "bash cat echo mkdir touch chmod rm mv ls ln sleep env".split():
        if (found := shutil.which(name)) is not None:
            (programs / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(programs))
    found = desk_in(tmp_path, environment={"PATH": str(programs), "HOME": str(tmp_path)})
    found.sandbox = {"enabled": True}
    return found


async def test_session_may_change_its_project_only(sandboxed: Desk, tmp_path: Path):
    inside = "echo a > in; mkdir -p deep/er; echo b > deep/er/file; chmod 700 in"
    command = f"{inside}; echo c > ../out; echo d > $TMPDIR/t; cat $TMPDIR/t"
    outcome = await call(sandboxed, "Bash", command=command)
    project = tmp_path / "project"
    assert (project / "in").read_text() == "a\n"
    assert (project / "in").stat().st_mode & 0o777 == 0o700
    assert (project / "deep" / "er" / "file").exists()
    assert not (tmp_path / "out").exists()
    assert str(outcome.content).endswith("\nd")


@pytest.mark.parametrize("domains", [[], ["*"]])
async def test_session_has_network_only_if_the_settings_allow_it(sandboxed: Desk, domains: list[str]):
    sandboxed.sandbox["network"] = {"allowedDomains": domains}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        reached = await call(sandboxed, "Bash", command=f"exec 3<>/dev/tcp/127.0.0.1/{listener.getsockname()[1]}")
    assert reached.is_error is not bool(domains)


async def test_session_puts_protected_files_back(sandboxed: Desk, tmp_path: Path):
    project = tmp_path / "project"
    (project / ".git" / "hooks").mkdir(parents=True)
    await call(sandboxed, "Bash", command="echo evil > .git/hooks/pre-commit; mkdir .claude; echo x > .git/index")
    assert os.listdir(project / ".git" / "hooks") == []
    assert not (project / ".claude").exists()
    assert (project / ".git" / "index").exists()


async def test_session_without_any_guard_runs_nothing(sandboxed: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(guards, "guard_problem", lambda: "the kernel has no Landlock")
    with pytest.raises(ToolFailed, match="Install bubblewrap"):
        await call(sandboxed, "Bash", command="touch made")
    assert os.listdir(sandboxed.project) == []


async def test_fork_bomb_is_ended(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process_tree, "MOST_PROCESSES", 40)
    command = "for i in {1..300}; do sleep 100 & done; wait"
    for desk.caged in (True, False):
        outcome = await call(desk, "Bash", command=command)
        assert "more than 40 processes" in str(outcome.content)
