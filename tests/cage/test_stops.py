"""Recognising that the cage stopped a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.cage.base import Limits
from handrail.cage.stops import what_was_stopped


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project beside a file that is not readable in the cage."""
    found = tmp_path / "project"
    found.mkdir()
    (found / "inside.txt").touch()
    (tmp_path / "outside.txt").touch()
    return found


def stopped(project: Path, code: int, output: str) -> str:
    return what_was_stopped(code, output, Limits(read=(str(project), "/usr"), write=("/t",)), str(project))


@pytest.mark.parametrize(
    "line",
    [
        "cat: ../outside.txt: Permission denied",
        "touch: cannot touch 'new': Permission denied",
        "bash: line 1: a.txt: Permission denied",
        "chmod: changing permissions of 'a': Operation not permitted",
        "Error: EACCES: permission denied, open '/x/y'",
        "PermissionError: [Errno 13] Permission denied: 'x'",
        "curl: (6) Could not resolve host: example.com",
        "npm error getaddrinfo EAI_AGAIN registry.example.com",
        "error: insufficient permission for adding an object to repository database .git/objects",
        "java.nio.file.AccessDeniedException: /x/m2.conf",
        "fatal: could not create work tree dir 'x': Read-only file system",
    ],
)
def test_failed_command_that_complains_was_stopped(project: Path, line: str):
    assert stopped(project, 1, f"some output\n{line}\nmore") == line


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("output", ["", "all is well", "inside.txt: No such file or directory", "3 tests failed"])
def test_other_output_is_not_a_stop(project: Path, code: int, output: str):
    assert stopped(project, code, output) == ""


@pytest.mark.parametrize(
    ("line", "is_stop"),
    [
        ("cat: ../outside.txt: Permission denied", True),
        ("ls: cannot open directory '..': Permission denied", True),
        ("cat: inside.txt: Permission denied", False),
        ("cat: ../missing.txt: Permission denied", False),
        ("log line 7: user 'root' got permission denied", False),
        ("could not resolve host", False),
    ],
)
def test_successful_command_was_stopped_only_at_a_file_outside(project: Path, line: str, *, is_stop: bool):
    assert bool(stopped(project, 0, line)) is is_stop


def test_only_the_first_complaints_are_shown(project: Path):
    output = "\n".join(f"cat: file{number}: Permission denied" for number in range(9))
    assert len(stopped(project, 1, output).splitlines()) == 3
    assert len(stopped(project, 1, "Permission denied " + "x" * 1000)) == 300
