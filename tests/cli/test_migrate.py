"""handrail migrate: shows a diff, changes files whole, reports what it leaves, and stays below the given path."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from handrail.cli.migrate import app
from tests.cli.command import piped

OLD = "from claude_agent_sdk import query\n"
NEW = "from handrail.claude_agent_sdk import query\n"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "package").mkdir(parents=True)
    (project / "package" / "one.py").write_text(f"import os\n{OLD}")
    (project / "package" / "two.pyi").write_text(OLD)
    (project / "other.py").write_text("import os\n")
    (project / "notes.txt").write_text(OLD)
    return project


def test_diff_is_shown_and_nothing_is_changed(project: Path):
    result = run(project)
    assert (result.exit_code, (project / "package" / "one.py").read_text()) == (0, f"import os\n{OLD}")
    assert f"--- a/{project}/package/one.py\n+++ b/{project}/package/one.py\n" in result.stdout
    assert f" import os\n-{OLD}+{NEW}" in result.stdout
    assert result.stderr == "handrail migrate: 2 files would change; run again with --write to change them\n"


def test_shown_diff_can_be_applied(project: Path, monkeypatch: pytest.MonkeyPatch):
    (project / "latin.py").write_bytes(b"# coding: latin-1\r\nx = '\xe9'\r\nimport claude_agent_sdk as c")
    monkeypatch.chdir(project)
    diff = piped("migrate", ".").stdout
    subprocess.run(["git", "apply", "-"], cwd=project, input=diff, check=True)
    patched = {path: path.read_bytes() for path in project.rglob("*.py*")}
    assert patched[project / "latin.py"].endswith(b"\xe9'\r\nimport handrail.claude_agent_sdk as c")
    assert run(project, "--write").stderr == "handrail migrate: 0 files changed\n"
    assert {path: path.read_bytes() for path in project.rglob("*.py*")} == patched


def test_write_changes_the_files_and_keeps_their_modes(project: Path):
    one = project / "package" / "one.py"
    one.chmod(0o750)
    result = run(project, "--write")
    assert (result.exit_code, result.stderr) == (0, "handrail migrate: 2 files changed\n")
    assert result.stdout.splitlines() == [str(one), str(project / "package" / "two.pyi")]
    assert (one.read_text(), one.stat().st_mode & 0o777) == (f"import os\n{NEW}", 0o750)
    assert ((project / "notes.txt").read_text(), sorted(os.listdir(project / "package"))) == (
        OLD,
        ["one.py", "two.pyi"],
    )
    assert run(project, "--write").stderr == "handrail migrate: 0 files changed\n"


def test_one_file_can_be_named(project: Path):
    result = run(project / "package" / "one.py", "--write")
    assert (result.exit_code, (project / "package" / "two.pyi").read_text()) == (0, OLD)
    assert (project / "package" / "one.py").read_text() == f"import os\n{NEW}"


@pytest.mark.parametrize("folder", [".venv", "node_modules", ".git", "package/__pycache__"])
def test_folders_of_others_are_skipped(project: Path, folder: str):
    (project / folder).mkdir()
    (project / folder / "x.py").write_text(OLD)
    run(project, "--write")
    assert (project / folder / "x.py").read_text() == OLD


def test_virtual_environment_of_any_name_is_skipped(project: Path):
    environment = project / "my-env"
    environment.mkdir()
    (environment / "pyvenv.cfg").write_text("home = /usr\n")
    (environment / "x.py").write_text(OLD)
    run(project, "--write")
    assert (environment / "x.py").read_text() == OLD


def test_links_are_not_followed(project: Path):
    outside = project.parent / "outside"
    outside.mkdir()
    (outside / "far.py").write_text(OLD)
    (project / "linked").symlink_to(outside)
    (project / "far.py").symlink_to(outside / "far.py")
    (project / "loop").symlink_to(project)
    result = run(project, "--write")
    assert (result.stderr, (outside / "far.py").read_text()) == ("handrail migrate: 2 files changed\n", OLD)
    assert (project / "far.py").is_symlink()


def test_unparsable_and_private_files_are_reported_and_the_others_changed(project: Path):
    broken, private = project / "broken.py", project / "private.py"
    broken.write_text(f"{OLD}def f(:\n")
    private.write_text(f"{OLD}from claude_agent_sdk._internal import x\n")
    result = run(project, "--write")
    assert (result.exit_code, broken.read_text()) == (1, f"{OLD}def f(:\n")
    assert private.read_text() == f"{NEW}from claude_agent_sdk._internal import x\n"
    lines = result.stderr.splitlines()
    assert lines[0].startswith(f"handrail migrate: {broken}:2: cannot be parsed: ")
    assert lines[0].endswith("; it was left as it is")
    assert lines[1].startswith(f"handrail migrate: {private}:2: claude_agent_sdk._internal has no counterpart")
    assert lines[2] == "handrail migrate: 3 files changed"


def test_pipe_in_place_of_a_source_is_not_waited_for(project: Path):
    os.mkfifo(project / "pipe.py")
    assert run(project).exit_code == 0


def test_hostile_name_is_printed_escaped(project: Path):
    (project / "a\x1b[2J.py").write_text(f"{OLD}(")
    assert "a\\x1b[2J.py" in run(project).stderr


@pytest.mark.parametrize("name", ["nothing", "loop"])
def test_path_that_cannot_be_used_is_a_usage_error(tmp_path: Path, name: str):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    result = run(f"{tmp_path}/{name}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr


def test_help_has_an_example_and_the_exit_codes():
    shown = piped("migrate", "--help").stdout.decode()
    assert "handrail migrate src --write" in shown
    assert "Exit codes: 0 all done" in shown
