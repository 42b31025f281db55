"""Sub-commands of the CLI: MCP servers in the files of the CLI, and errors for what is not supported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.agent.errors import Refused
from handrail.agent.flags import SUBCOMMANDS
from handrail.agent.main import main
from handrail.agent.models.script import Script, text
from handrail.agent.subcommands import SUBCOMMAND_STATES, run_subcommand
from tests.agent.stage import stage


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    return tmp_path


def run(folder: Path, *words: str) -> int:
    environment = {"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"}
    return run_subcommand(words, environment, str(folder / "project"))


def refused(folder: Path, *words: str) -> str:
    with pytest.raises(Refused) as error:
        run(folder, *words)
    assert error.value.code == 1
    return error.value.message


def user_file(folder: Path) -> Path:
    return folder / "home" / ".claude.json"


def test_a_local_server_is_written_for_this_folder_only(folder: Path, capsys: pytest.CaptureFixture[str]):
    user_file(folder).write_text('{"machineID": "kept", "projects": {"/other": {"x": 1}}}')
    assert run(folder, "mcp", "add", "srv", "-e", "A=b=c", "--", "npx", "-y", "foo") == 0
    written = json.loads(user_file(folder).read_text())
    assert written["machineID"] == "kept"
    assert written["projects"]["/other"] == {"x": 1}
    assert written["projects"][str((folder / "project").resolve())]["mcpServers"] == {
        "srv": {"type": "stdio", "command": "npx", "args": ["-y", "foo"], "env": {"A": "b=c"}}
    }
    assert "Added stdio MCP server srv with command: npx -y foo to local config" in capsys.readouterr().out


def test_a_user_server_is_written_with_headers(folder: Path):
    run(folder, "mcp", "add", "-s", "user", "-t", "http", "srv", "https://example.com/mcp", "-H", "X-A: b")
    assert json.loads(user_file(folder).read_text()) == {
        "mcpServers": {"srv": {"type": "http", "url": "https://example.com/mcp", "headers": {"X-A": "b"}}}
    }
    assert user_file(folder).stat().st_mode & 0o777 == 0o600


def test_a_project_server_is_written_to_the_folder(folder: Path):
    run(folder, "mcp", "add", "-s", "project", "srv", "cat")
    written = json.loads((folder / "project" / ".mcp.json").read_text())
    assert written == {"mcpServers": {"srv": {"type": "stdio", "command": "cat", "args": [], "env": {}}}}


def test_a_linked_project_file_is_not_written(folder: Path):
    target = folder / "home" / "settings.json"
    target.write_text("{}")
    (folder / "project" / ".mcp.json").symlink_to(target)
    assert "symbolic link" in refused(folder, "mcp", "add", "-s", "project", "srv", "cat")
    assert target.read_text() == "{}"


def test_a_server_is_added_as_json_and_removed(folder: Path, capsys: pytest.CaptureFixture[str]):
    run(folder, "mcp", "add-json", "srv", '{"command": "cat", "args": ["${HOME}"]}')
    run(folder, "mcp", "remove", "srv")
    [project] = json.loads(user_file(folder).read_text())["projects"].values()
    assert project["mcpServers"] == {}
    assert "Removed MCP server srv from local config" in capsys.readouterr().out


def test_a_server_in_several_scopes_needs_a_scope_to_be_removed(folder: Path):
    run(folder, "mcp", "add", "srv", "cat")
    run(folder, "mcp", "add", "-s", "user", "srv", "cat")
    assert "multiple scopes" in refused(folder, "mcp", "remove", "srv")
    assert run(folder, "mcp", "remove", "srv", "-s", "user") == 0


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("add", "bad name", "cat"), "Invalid name"),
        (("add", "srv"), "missing required argument"),
        (("add", "srv", "-e", "A", "--", "cat"), "KEY=value"),
        (("add", "-t", "http", "srv", "not-a-url"), "http or https address"),
        (("add", "-s", "nowhere", "srv", "cat"), "--scope"),
        (("add-json", "srv", "{"), "not JSON"),
        (("add-json", "srv", '{"type": "carrier-pigeon"}'), "type must be one of"),
        (("get", "nope"), 'No MCP server named "nope"'),
        (("remove", "nope"), 'No MCP server named "nope"'),
        (("serve",), "'mcp serve' is not supported"),
        (("nope",), "nope"),
        ((), "COMMAND"),
    ],
)
def test_invalid_words_are_refused_and_nothing_is_written(folder: Path, words: tuple[str, ...], reason: str):
    assert reason in refused(folder, "mcp", *words)
    assert not user_file(folder).exists()


def test_a_second_server_with_the_same_name_is_refused(folder: Path):
    run(folder, "mcp", "add", "srv", "cat")
    assert "already exists in local config" in refused(folder, "mcp", "add", "srv", "dog")


def test_a_broken_user_file_is_not_overwritten(folder: Path):
    user_file(folder).write_text("{broken")
    assert "not a JSON object" in refused(folder, "mcp", "add", "srv", "cat")
    assert user_file(folder).read_text() == "{broken"


def test_servers_are_listed_with_their_health(folder: Path, capsys: pytest.CaptureFixture[str]):
    run(folder, "mcp", "add", "dead", "--", "/nonexistent/server", "x")
    run(folder, "mcp", "add", "-s", "project", "shared", "cat")
    capsys.readouterr()
    assert run(folder, "mcp", "list") == 0
    printed = capsys.readouterr().out
    assert "dead: /nonexistent/server x - ✗ Failed to connect" in printed
    assert "shared: cat - ⏸ Pending approval" in printed


def test_a_server_is_shown_without_its_secrets(folder: Path, capsys: pytest.CaptureFixture[str]):
    run(folder, "mcp", "add", "dead", "-e", "TOKEN=very-secret", "--", "/nonexistent/server")
    capsys.readouterr()
    run(folder, "mcp", "get", "dead")
    printed = capsys.readouterr().out
    assert "Scope: Local config" in printed
    assert "Environment: TOKEN" in printed
    assert "very-secret" not in printed


def test_no_servers_and_no_plugins(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert run(folder, "mcp", "list") == run(folder, "plugin", "list") == 0
    printed = capsys.readouterr().out
    assert "No MCP servers configured" in printed
    assert "No plugins installed" in printed


@pytest.mark.parametrize("name", [name for name, state in SUBCOMMAND_STATES.items() if state == "refused"])
def test_unsupported_subcommands_are_refused_by_name(folder: Path, name: str):
    assert f"'{name}' is not supported by handrail-agent" in refused(folder, *name.split())


@pytest.mark.parametrize("name", sorted(SUBCOMMANDS))
def test_every_subcommand_prints_its_help(name: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end:
        main([name, "--help"])
    assert end.value.code == 0
    assert name in capsys.readouterr().out


async def test_a_session_starts_servers_that_were_added(folder: Path):
    run(folder, "mcp", "add", "mine", "false")
    run(folder, "mcp", "add", "-s", "user", "everywhere", "false")
    async with stage(folder, Script.of(text("hi"))) as host:
        await host.turn("go")
        [init] = host.of("system", "init")
    assert {server["name"]: server["status"] for server in init["mcp_servers"]} == {
        "mine": "failed",
        "everywhere": "failed",
    }


async def test_strict_sessions_do_not_start_them(folder: Path):
    run(folder, "mcp", "add", "mine", "cat")
    async with stage(folder, Script.of(text("hi")), "--strict-mcp-config") as host:
        await host.turn("go")
        assert host.of("system", "init")[0]["mcp_servers"] == []
