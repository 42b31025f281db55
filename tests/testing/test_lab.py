"""The lab: folders and environment for a CLI, and leftover processes."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from handrail.agent.models.script import Script
from handrail.conform import lab as surroundings
from handrail.conform.messages_api import ScriptedMessagesApi
from handrail.testing import lab as lab_module
from handrail.testing.lab import Lab, real_cli


def test_lab_has_four_folders(tmp_path: Path):
    lab = Lab(tmp_path / "lab")
    folders = {lab.home, lab.project, lab.outside, lab.temporary}
    assert {folder.parent for folder in folders if folder.is_dir()} == {lab.root}
    assert len(folders) == 4


async def test_environment_is_clean_and_loopback_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-real")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "sk-real")
    lab = Lab(tmp_path)
    async with ScriptedMessagesApi() as api:
        endpoint = api.session(Script())
        environment = lab.environment(endpoint, CLAUDE_CODE_MAX_RETRIES="1")
    assert environment == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "HOME": str(lab.home),
        "TMPDIR": str(lab.temporary),
        "ANTHROPIC_API_KEY": "sk-test-not-a-key",
        "ANTHROPIC_BASE_URL": endpoint.url,
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1,localhost",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
    }


def test_model_is_unreachable_without_an_endpoint(tmp_path: Path):
    assert Lab(tmp_path).environment()["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:9"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
async def test_leftover_process_is_found_until_it_exits(tmp_path: Path):
    lab, neighbour = Lab(tmp_path / "a"), Lab(tmp_path / "a2")
    assert lab.leftovers() == []
    pipe = asyncio.subprocess.PIPE
    program = "import sys; print('up', flush=True); sys.stdin.read()"
    async with asyncio.timeout(20):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, env=lab.environment(), stdin=pipe, stdout=pipe
        )
        assert process.stdout
        assert await process.stdout.readline() == b"up\n"
        assert (lab.leftovers(), neighbour.leftovers()) == ([process.pid], [])
        await process.communicate(b"")
    assert lab.leftovers() == []


def test_leftovers_are_not_denied_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(surroundings, "PROCESSES", tmp_path / "none")
    with pytest.raises(RuntimeError, match="/proc"):
        Lab(tmp_path).leftovers()


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_real_cli_from_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    named = executable(tmp_path / "bin" / "claude")
    monkeypatch.setenv("HANDRAIL_REAL_CLI", str(named))
    assert real_cli() == named


def test_missing_real_cli_from_the_variable_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HANDRAIL_REAL_CLI", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match="HANDRAIL_REAL_CLI is"):
        real_cli()


def test_real_cli_defaults_to_the_copy_in_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("HANDRAIL_REAL_CLI", raising=False)
    monkeypatch.setattr(lab_module, "REPOSITORY", tmp_path)
    assert real_cli() is None
    installed = executable(tmp_path / ".interop" / "node_modules" / ".bin" / "claude")
    assert real_cli() == installed


def test_repository_contains_the_project_file():
    assert os.access(lab_module.REPOSITORY / "pyproject.toml", os.R_OK)
