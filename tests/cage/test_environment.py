"""The environment in the cage, tried with a real git and a repository that wants to run programs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from handrail.cage.environment import caged_environment

GIVEN = {"PATH": os.environ["PATH"], "HOME": "/h/me", "LC_ALL": "C.UTF-8"}


@pytest.mark.parametrize(
    "name",
    """ANTHROPIC_API_KEY AWS_SECRET_ACCESS_KEY GITHUB_TOKEN MY_PASSWORD LD_PRELOAD BASH_ENV ENV PYTHONPATH PYTHONSTARTUP
    NODE_OPTIONS PERL5OPT RUBYOPT GIT_SSH GIT_DIR GIT_EXTERNAL_DIFF LESSOPEN PROMPT_COMMAND SSH_AUTH_SOCK
    DBUS_SESSION_BUS_ADDRESS HTTPS_PROXY PATHX XPATH BASH_FUNC_ls%%""".split(),
)
def test_only_listed_variables_are_kept(name: str):
    assert name not in caged_environment({**GIVEN, name: "value"}, "/t")


def test_listed_variables_are_kept():
    found = caged_environment(GIVEN, "/t")
    assert {name: found[name] for name in GIVEN} == GIVEN
    assert found["TMPDIR"] == "/t"
    assert found["XDG_CONFIG_HOME"] == "/t/config"


PROGRAMS = {
    "core.fsmonitor": "{}; false",
    "core.pager": "{}; cat",
    "diff.external": "{}; true",
    "diff.own.command": "{}; true",
    "diff.own.textconv": "{}; cat",
    "filter.own.clean": "{}; cat",
    "filter.own.smudge": "{}; cat",
    "alias.own": "!{}",
    "man.own.cmd": "{}",
    "man.viewer": "own",
    "pager.log": "{}; cat",
    "core.sshCommand": "{}",
    "credential.helper": "!{}",
    "gpg.program": "{}",
}
COMMANDS = (
    "status",
    "diff",
    "diff --stat",
    "show",
    "log -p",
    "own",
    "blame text",
    "grep x",
    "help -m log",
    "cat-file --textconv HEAD:text",
    "log --show-signature",
    "stash list",
    "ls-remote origin",
    "checkout-index --stdout text",
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose configuration touches a file by each of its programs."""
    clean = {**GIVEN, "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    project = tmp_path / "project"

    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *who, *words], cwd=project, env=clean, check=True, capture_output=True)

    project.mkdir()
    git("init", "-q", "-b", "main")
    (project / ".gitattributes").write_text("* diff=own filter=own\n")
    (project / "text").write_text("one\n")
    git("add", ".")
    git("commit", "-qm", "one")
    (project / "text").write_text("two\n")
    git("remote", "add", "origin", "ssh://host.invalid/x")
    for name, value in PROGRAMS.items():
        git("config", name, value.format(f"touch {tmp_path}/ran-{name}"))
    hook = project / ".git" / "hooks" / "post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-hook\n")
    hook.chmod(0o755)
    return project


def test_git_runs_nothing_that_a_repository_configures(repository: Path, tmp_path: Path):
    (tmp_path / "own").mkdir()
    environment = caged_environment(GIVEN, str(tmp_path / "own"), PROGRAMS)
    for command in COMMANDS:
        subprocess.run(["git", *command.split()], cwd=repository, env=environment, capture_output=True, timeout=60)
        assert [path.name for path in tmp_path.glob("ran-*")] == [], command


def test_git_still_shows_differences(repository: Path, tmp_path: Path):
    (tmp_path / "own").mkdir()
    environment = caged_environment(GIVEN, str(tmp_path / "own"), PROGRAMS)
    for command in ("diff", "diff --no-ext-diff"):
        ran = subprocess.run(["git", *command.split()], cwd=repository, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        assert {"-one", "+two"} <= set(ran.stdout.splitlines())


def test_the_repository_would_run_them_otherwise(repository: Path, tmp_path: Path):
    for command in COMMANDS:
        subprocess.run(["git", *command.split()], cwd=repository, env=GIVEN, capture_output=True, timeout=60)
    ran = {path.name for path in tmp_path.glob("ran-*")}
    assert {
        "ran-core.fsmonitor",
        "ran-diff.own.command",
        "ran-diff.own.textconv",
        "ran-filter.own.clean",
        "ran-alias.own",
    } <= ran
