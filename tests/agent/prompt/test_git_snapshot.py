"""The state of the repository in the system prompt."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from handrail.agent.models.script import Script, text
from handrail.agent.prompt.git_snapshot import git_snapshot
from tests.agent.stage import stage

IDENTITY = ("-c", "user.email=a@b", "-c", "user.name=n", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *IDENTITY, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q", "-b", "main", ".")
    (project / "a.txt").write_text("one\n")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "Add a file")
    return project


async def snapshot(folder: Path) -> str:
    return await git_snapshot(str(folder), dict(os.environ))


async def test_branch_status_and_commits_are_shown(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "work")
    (repository / "a.txt").write_text("two\n")
    (repository / "b.txt").write_text("new\n")
    found = await snapshot(repository)
    assert "Git branch: work\nMain branch: main\n" in found
    assert " M a.txt\n?? b.txt" in found
    assert "Add a file" in found


async def test_clean_and_detached_and_missing_repositories(repository: Path, tmp_path: Path) -> None:
    assert "Git status: clean" in await snapshot(repository)
    git(repository, "checkout", "-q", "--detach")
    assert "detached" in await snapshot(repository)
    (tmp_path / "plain").mkdir()
    assert await snapshot(tmp_path / "plain") == ""


async def test_a_long_status_is_cut_and_says_so(repository: Path) -> None:
    for number in range(500):
        (repository / f"file-{number}.txt").write_text("x")
    found = await snapshot(repository)
    assert len(found) < 3000
    assert "more files; run `git status`" in found


PROGRAMS = ["core.fsmonitor", "filter.evil.clean", "core.pager", "core.hooksPath", "gpg.program"]


@pytest.mark.parametrize("name", PROGRAMS)
async def test_programs_of_the_repository_do_not_run(repository: Path, tmp_path: Path, name: str) -> None:
    mark = tmp_path / "it-ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    git(repository, "config", name, str(program))
    git(repository, "config", "log.showSignature", "true")
    (repository / ".gitattributes").write_text("*.txt filter=evil\n")
    os.utime(repository / "a.txt", (1, 1))  # so that git reads the file again
    assert "Git branch: main" in await snapshot(repository)
    assert not mark.exists()


async def test_configuration_that_cannot_be_neutralised_leaves_out_the_status(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "include.path", str(tmp_path / "other"))
    found = await snapshot(repository)
    assert "Git branch: main" in found
    assert "a.txt" not in found
    assert "not read" in found


async def test_the_model_sees_the_state_at_the_start(repository: Path, tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("a"), text("b"))) as host:
        await host.turn("one")
        (repository / "later.txt").write_text("x")
        await host.turn("two")
        first, second = (request["system"] for request in host.model.asked)
    assert "Add a file" in str(first)
    assert first == second
