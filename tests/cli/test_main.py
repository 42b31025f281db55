"""The `handrail` command finds its subcommands, starts fast, and fails in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from handrail.cli.main import COMMANDS, main
from tests.cli.command import PATIENCE, piped


def test_alone_it_prints_the_commands_as_a_usage_error(capsys: pytest.CaptureFixture[str]):
    assert main([]) == 2
    out = capsys.readouterr().out
    assert [name for name in COMMANDS if f"  {name} " not in out] == []


def test_help_and_version_succeed(capsys: pytest.CaptureFixture[str]):
    assert (main(["--help"]), main(["--version"])) == (0, 0)
    assert capsys.readouterr().out.splitlines()[-1].startswith("handrail ")


def test_an_unknown_command_is_a_usage_error_in_one_line(capsys: pytest.CaptureFixture[str]):
    assert main(["fly\x1b"]) == 2
    assert capsys.readouterr().err == "handrail: unknown command 'fly\\x1b'; `handrail --help` lists the commands\n"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "sessions"])
def test_every_command_has_help_with_an_example(name: str, capsys: pytest.CaptureFixture[str]):
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert "Example" in out
    assert f"handrail {name}" in out


def test_it_can_be_run_as_a_module():
    done = piped("--version")
    assert (done.returncode, done.stdout.startswith(b"handrail ")) == (0, True)


def test_an_unknown_option_is_a_usage_error():
    done = piped("doctor", "--no-such-option")
    assert (done.returncode, done.stdout, b"Traceback" in done.stderr) == (2, b"", False)


def test_missing_package_is_reported_in_one_line(tmp_path: Path):
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError(\"No module named 'typer'\", name='typer')\n")
    done = piped("doctor", PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"handrail doctor needs the package typer: pip install typer\n"


@pytest.mark.parametrize("name", ["run", "doctor", "tour"])
def test_help_loads_nothing_heavy(name: str):
    heavy = ("rich", "mcp", "starlette", "uvicorn", "httpx2", "handrail.client.session")
    code = f"import sys; from handrail.cli import main; main([{name!r}, '--help'])"
    code += f"; print(sorted(set(sys.modules) & {set(heavy)}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=PATIENCE, check=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"
