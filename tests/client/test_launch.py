"""Starting the CLI: private files that are removed, stderr, recording."""

import asyncio
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest

import handrail.client.launch as module
from handrail import Options, Session, StartFailed
from handrail.client.launch import Launch
from handrail.testing import ScriptedCli
from handrail.transport.process import ProcessTransport
from handrail.transport.recording import RecordingTransport
from tests.client.conversation import PATIENCE, joined
from tests.client.scripted_cli import write_cli

SETTINGS = {"env": {"TOKEN": "sk-ant-secret"}}


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def named(launch: Launch, flag: str) -> Path:
    return Path(next(item.partition("=")[2] for item in launch.argv if item.startswith(f"{flag}=")))


def test_files_are_private_and_removed(tmp_path: Path, temporary: Path):
    cli = write_cli(tmp_path, "")
    launch = Launch(Options(cli_path=cli, settings=SETTINGS, mcp_servers={"a": {"command": "x"}}))
    settings, servers = named(launch, "--settings"), named(launch, "--mcp-config")
    assert json.loads(settings.read_text()) == SETTINGS
    assert json.loads(servers.read_text()) == {"mcpServers": {"a": {"command": "x"}}}
    assert [stat.S_IMODE(path.stat().st_mode) for path in (settings, servers, settings.parent)] == [0o600, 0o600, 0o700]
    launch.clean()
    launch.clean()
    assert os.listdir(temporary) == []


def test_failed_launch_leaves_no_files(tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> Any:
        assert os.listdir(temporary)  # the files exist by now
        raise RuntimeError("out of luck")

    monkeypatch.setattr(module, "arguments", fail)
    with pytest.raises(RuntimeError, match="luck"):
        Launch(Options(cli_path=write_cli(tmp_path, ""), settings=SETTINGS))
    assert os.listdir(temporary) == []


def test_no_folder_is_created_without_files(tmp_path: Path, temporary: Path):
    Launch(Options(cli_path=write_cli(tmp_path, "")))
    assert os.listdir(temporary) == []


async def test_tilde_in_cwd_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "project").mkdir()
    cli = write_cli(tmp_path, "")
    async with asyncio.timeout(PATIENCE), Session(Options(cli_path=cli, cwd="~/project")) as session:
        assert os.readlink(f"/proc/{session.pid}/cwd") == str(tmp_path / "project")


async def test_files_exist_while_the_session_runs(tmp_path: Path, temporary: Path):
    cli = write_cli(
        tmp_path,
        """
        prompt()
        path = next(item.partition("=")[2] for item in sys.argv if item.startswith("--settings="))
        say(assistant("read"), result(open(path).read()))
        """,
    )
    async with asyncio.timeout(PATIENCE), Session(Options(cli_path=cli, settings=SETTINGS)) as session:
        assert json.loads((await session.ask("Read it")).text) == SETTINGS
    assert os.listdir(temporary) == []


async def test_failed_start_leaves_no_files(tmp_path: Path, temporary: Path):
    options = Options(cli_path=write_cli(tmp_path, "raise SystemExit(3)"), settings=SETTINGS)
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(StartFailed, match="exit code 3"):
            await Session(options).start()
    assert os.listdir(temporary) == []


def test_handrail_cli_is_used_but_not_inherited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HANDRAIL_CLI", write_cli(tmp_path, ""))
    launch = Launch(Options())
    assert launch.argv[0] == str(tmp_path / "cli-0")
    assert "HANDRAIL_CLI" not in launch.env


def test_shown_argv_has_no_secrets(tmp_path: Path):
    launch = Launch(Options(cli_path=write_cli(tmp_path, ""), extra_args={"api-key": "sk-ant-abcdefgh"}))
    assert "--api-key=sk-ant-abcdefgh" in launch.argv
    assert launch.shown[-1] == "--api-key=***"


def test_launch_is_recorded_if_requested(tmp_path: Path):
    cli = write_cli(tmp_path, "")
    assert isinstance(Launch(Options(cli_path=cli)).transport(), ProcessTransport)
    assert isinstance(Launch(Options(cli_path=cli, record=tmp_path / "r")).transport(), RecordingTransport)


async def test_custom_transport_is_recorded(tmp_path: Path):
    path = tmp_path / "conversation.ndjson"
    async with joined(ScriptedCli([["Hello"]]), Options(record=path)) as session:
        await session.ask("Hi")
    assert b'"Hi' in path.read_bytes().replace(b"\\", b"")


SPEAKS_UP = r"""
import os
os.write(2, "grün\nhalf".encode()[:3])
os.write(2, "grün\nhalf".encode()[3:])
prompt()
say(result())
"""


async def test_stderr_callback_receives_lines_and_the_unfinished_rest(tmp_path: Path):
    told: list[str] = []
    options = Options(cli_path=write_cli(tmp_path, SPEAKS_UP), stderr=told.append)
    async with asyncio.timeout(PATIENCE), Session(options) as session:
        await session.ask("Hi")
    assert told == ["grün", "half"]
    assert session.stderr == "grün\nhalf"


async def test_failing_stderr_callback_does_not_stop_the_cli(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    script = """
        prompt()
        for _ in range(40):
            sys.stderr.write("x" * 10_000 + "\\n")
        sys.stderr.flush()
        say(result("survived"))
    """

    def fail(line: str) -> None:
        raise ValueError("not me")

    options = Options(cli_path=write_cli(tmp_path, script), stderr=fail)
    async with asyncio.timeout(PATIENCE), Session(options) as session:
        assert (await session.ask("Hi")).text == "survived"
    assert "Options.stderr failed" in caplog.text
