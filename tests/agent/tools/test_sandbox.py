"""The box around a command."""

import asyncio
import fcntl
import shutil
import socket
from pathlib import Path

import pytest

from handrail.agent.desk import Desk
from handrail.agent.tools.base import ToolFailed
from handrail.agent.tools.sandbox import is_boxed, make_box, network_allowed
from tests.agent.tools.workplace import call, desk_in

needs_bubblewrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


def test_commands_run_without_a_box_unless_the_setting_says_so(tmp_path: Path):
    desk = desk_in(tmp_path)
    assert not is_boxed(desk)
    desk.notes["sandbox"] = {"enabled": True}
    assert is_boxed(desk)


def test_the_model_leaves_the_box_only_where_the_settings_allow_it(tmp_path: Path):
    desk = desk_in(tmp_path)
    desk.notes["sandbox"] = {"enabled": True}
    assert is_boxed(desk, unboxed_wanted=True)
    desk.notes["sandbox"] = {"enabled": True, "allowUnsandboxedCommands": True}
    assert not is_boxed(desk, unboxed_wanted=True)


def test_the_network_is_open_only_as_a_whole(tmp_path: Path):
    desk = desk_in(tmp_path)
    desk.notes["sandbox"] = {"enabled": True, "network": {"allowedDomains": ["example.com"]}}
    assert not network_allowed(desk)
    desk.notes["sandbox"] = {"enabled": True, "network": {"allowedDomains": ["*"]}}
    assert network_allowed(desk)


async def test_without_bubblewrap_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    desk = desk_in(tmp_path)
    desk.notes["sandbox"] = {"enabled": True}
    with pytest.raises(ToolFailed, match="bubblewrap"):
        await call(desk, "Bash", command="touch made")
    assert not (tmp_path / "project" / "made").exists()


def test_only_the_folders_of_the_desk_are_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "bwrap").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    desk = desk_in(tmp_path)
    box = make_box(desk)
    writable = [box.argv[at + 1] for at, word in enumerate(box.argv) if word in ("--bind", "--bind-try")]
    box.tidy()
    assert writable == [desk.project]
    assert "--unshare-net" in box.argv


def in_the_box(tmp_path: Path, *, repository: bool = True) -> tuple[Desk, Path]:
    """A desk whose commands run in a box, and its project."""
    desk = desk_in(tmp_path)
    desk.notes["sandbox"] = {"enabled": True}
    project = tmp_path / "project"
    if repository:
        (project / ".git" / "hooks").mkdir(parents=True)
        (project / ".git" / "config").write_text("[core]\n")
    return desk, project


@needs_bubblewrap
async def test_in_the_box_only_the_project_can_be_written(tmp_path: Path):
    desk, project = in_the_box(tmp_path)
    await call(desk, "Bash", command=f"echo a > in; echo b > {tmp_path}/out; echo c > /tmp/gone; true")
    assert (project / "in").read_text() == "a\n"
    assert not (tmp_path / "out").exists()
    assert (await call(desk, "Bash", command="ls /tmp/gone")).is_error


@needs_bubblewrap
async def test_what_would_run_outside_of_the_box_cannot_be_changed(tmp_path: Path):
    desk, project = in_the_box(tmp_path)
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text("{}")
    for command in (
        "echo x > .git/hooks/pre-commit",
        "echo x > .git/config",
        "echo x > .claude/settings.json",
        "rm -r .claude",
        "mv .claude elsewhere",
        "mv .git elsewhere",
        "mv .git/hooks elsewhere",
    ):
        assert (await call(desk, "Bash", command=command)).is_error, command
    assert (project / ".git" / "config").read_text() == "[core]\n"
    assert (project / ".claude" / "settings.json").read_text() == "{}"
    assert list((project / ".git" / "hooks").iterdir()) == []


@needs_bubblewrap
@pytest.mark.parametrize("repository", [True, False])
async def test_what_would_run_outside_of_the_box_cannot_be_made(tmp_path: Path, *, repository: bool):
    desk, project = in_the_box(tmp_path, repository=repository)
    if repository:
        (project / ".git" / "hooks").rmdir()
    for command in (
        "mkdir -p .claude && echo {} > .claude/settings.json",
        "echo {} > .mcp.json",
        "rm .mcp.json && echo {} > .mcp.json",
        "rmdir .claude && mkdir .claude",
        "mv .claude other && mkdir .claude",
        "echo {} > other && mv other .mcp.json",
        "mkdir -p .vscode/x",
        *(["mkdir -p .git/hooks && echo x > .git/hooks/pre-commit"] if repository else []),
    ):
        assert (await call(desk, "Bash", command=command)).is_error, command
    left = {path.name for path in project.iterdir()}
    assert left - {"other"} == ({".git"} if repository else set[str]())


@needs_bubblewrap
async def test_an_empty_place_stays_while_another_box_needs_it(tmp_path: Path):
    desk, project = in_the_box(tmp_path)
    first, second = make_box(desk), make_box(desk)
    (project / ".claude").mkdir()
    first.tidy()
    assert (project / ".claude").exists()
    second.tidy()
    assert not (project / ".claude").exists()


@needs_bubblewrap
async def test_in_the_box_nobody_has_a_privilege_and_nobody_else_is_seen(tmp_path: Path):
    desk, _ = in_the_box(tmp_path)
    caps = await call(desk, "Bash", command="grep CapEff /proc/self/status; ls /run; mount -o remount,rw / 2>&1")
    assert "CapEff:\t0000000000000000" in str(caps.content)
    assert caps.is_error
    seen = await call(desk, "Bash", command="ls -d /proc/[0-9]* | wc -l")
    assert int(str(seen.content)) < 10


@needs_bubblewrap
@pytest.mark.parametrize("domains", [[], ["*"]])
async def test_in_the_box_there_is_a_network_only_where_the_settings_open_it(tmp_path: Path, domains: list[str]):
    desk, _ = in_the_box(tmp_path)
    desk.notes["sandbox"]["network"] = {"allowedDomains": domains}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        reached = await call(desk, "Bash", command=f"exec 3<>/dev/tcp/127.0.0.1/{port}")
    assert reached.is_error is not bool(domains)


@needs_bubblewrap
async def test_what_a_command_leaves_running_ends_with_its_box(tmp_path: Path):
    desk, project = in_the_box(tmp_path)
    held = "(exec 9>lock; flock 9; touch held; exec sleep 60) & until test -e held; do :; done"
    await call(desk, "Bash", command=held)
    assert (project / "held").exists()
    with (project / "lock").open() as lock:
        async with asyncio.timeout(20):
            await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)  # only the end of its holder lets it go
