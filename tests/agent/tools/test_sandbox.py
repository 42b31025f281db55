"""The sandbox around commands."""

import asyncio
import fcntl
import shutil
import socket
from pathlib import Path

import pytest

from handrail.agent.tools.desk import Desk
from handrail.agent.tools.sandbox import is_sandboxed, make_sandbox, network_allowed
from tests.agent.tools.workplace import call, desk_in

needs_bubblewrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


def test_sandbox_is_off_by_default(tmp_path: Path):
    desk = desk_in(tmp_path)
    assert not is_sandboxed(desk)
    desk.sandbox = {"enabled": True}
    assert is_sandboxed(desk)


def test_model_can_opt_out_only_if_the_settings_allow_it(tmp_path: Path):
    desk = desk_in(tmp_path)
    desk.sandbox = {"enabled": True}
    assert is_sandboxed(desk, opt_out=True)
    desk.sandbox = {"enabled": True, "allowUnsandboxedCommands": True}
    assert not is_sandboxed(desk, opt_out=True)


def test_network_cannot_be_opened_for_single_domains(tmp_path: Path):
    desk = desk_in(tmp_path)
    desk.sandbox = {"enabled": True, "network": {"allowedDomains": ["example.com"]}}
    assert not network_allowed(desk)
    desk.sandbox = {"enabled": True, "network": {"allowedDomains": ["*"]}}
    assert network_allowed(desk)


def test_only_folders_of_the_desk_are_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "bwrap").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    desk = desk_in(tmp_path)
    sandbox = make_sandbox(desk)
    writable = [sandbox.argv[at + 1] for at, word in enumerate(sandbox.argv) if word in ("--bind", "--bind-try")]
    sandbox.clean_up()
    assert writable == [desk.project]
    assert "--unshare-net" in sandbox.argv


def sandboxed_desk(tmp_path: Path, *, repository: bool = True) -> tuple[Desk, Path]:
    """A desk with the sandbox enabled, and its project."""
    desk = desk_in(tmp_path)
    desk.sandbox = {"enabled": True}
    project = tmp_path / "project"
    if repository:
        (project / ".git" / "hooks").mkdir(parents=True)
        (project / ".git" / "config").write_text("[core]\n")
    return desk, project


@needs_bubblewrap
async def test_only_the_project_is_writable(tmp_path: Path):
    desk, project = sandboxed_desk(tmp_path)
    await call(desk, "Bash", command=f"echo a > in; echo b > {tmp_path}/out; echo c > /tmp/private; true")
    assert (project / "in").read_text() == "a\n"
    assert not (tmp_path / "out").exists()
    assert (await call(desk, "Bash", command="ls /tmp/private")).is_error


@needs_bubblewrap
async def test_protected_files_cannot_be_changed(tmp_path: Path):
    desk, project = sandboxed_desk(tmp_path)
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
async def test_protected_files_cannot_be_created(tmp_path: Path, *, repository: bool):
    desk, project = sandboxed_desk(tmp_path, repository=repository)
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
async def test_mount_point_is_removed_by_its_last_user(tmp_path: Path):
    desk, project = sandboxed_desk(tmp_path)
    first, second = make_sandbox(desk), make_sandbox(desk)
    (project / ".claude").mkdir()
    first.clean_up()
    assert (project / ".claude").exists()
    second.clean_up()
    assert not (project / ".claude").exists()


@needs_bubblewrap
async def test_no_capabilities_and_no_other_processes_are_visible(tmp_path: Path):
    desk, _ = sandboxed_desk(tmp_path)
    caps = await call(desk, "Bash", command="grep CapEff /proc/self/status; ls /run; mount -o remount,rw / 2>&1")
    assert "CapEff:\t0000000000000000" in str(caps.content)
    assert caps.is_error
    seen = await call(desk, "Bash", command="ls -d /proc/[0-9]* | wc -l")
    assert int(str(seen.content)) < 10


@needs_bubblewrap
@pytest.mark.parametrize("domains", [[], ["*"]])
async def test_network_is_available_only_if_the_settings_allow_it(tmp_path: Path, domains: list[str]):
    desk, _ = sandboxed_desk(tmp_path)
    desk.sandbox["network"] = {"allowedDomains": domains}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        reached = await call(desk, "Bash", command=f"exec 3<>/dev/tcp/127.0.0.1/{port}")
    assert reached.is_error is not bool(domains)


@needs_bubblewrap
async def test_processes_left_by_a_command_exit_with_the_sandbox(tmp_path: Path):
    desk, project = sandboxed_desk(tmp_path)
    held = "(exec 9>lock; flock 9; touch held; exec sleep 60) & until test -e held; do :; done"
    await call(desk, "Bash", command=held)
    assert (project / "held").exists()
    with (project / "lock").open() as lock:
        async with asyncio.timeout(20):
            await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)  # succeeds when its holder has exited
