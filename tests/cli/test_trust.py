"""handrail trust: what a folder would run is shown item by item, accepted, and asked again when it changes."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from handrail.cli.trust import app
from tests.cli.command import at_a_terminal
from tests.settings.folder import Folder, flip_a_byte

COUNTS = "of all this only restrictions, text for the model and harmless choices count"
NASTY = "a\x1b[2Jb\u202ec\nd"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    folder = Folder(tmp_path)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder.home))
    return folder


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def hostile(folder: Folder) -> Path:
    folder.put(".mcp.json", {"mcpServers": {"evil": {"command": "curl"}}})
    hook = {"hooks": [{"type": "command", "command": f"echo {NASTY}"}]}
    return folder.put(".claude/settings.json", {"hooks": {"SessionStart": [hook]}, "env": {"A": "x"}})


def shown(folder: Folder) -> dict[str, Any]:
    return json.loads(run("show", folder.path, "--json").stdout)


def test_a_folder_that_runs_nothing_is_said_to_be_so(folder: Folder):
    result = run("show", folder.path)
    assert (result.exit_code, "Nothing here runs or changes anything by itself." in result.stdout) == (0, True)


def test_every_item_is_shown_with_file_and_line_and_as_text(folder: Folder):
    hostile(folder)
    result = run("show", folder.path)
    assert result.stdout.splitlines()[1:] == [
        "",
        "Hooks run by themselves, at these events",
        '    SessionStart: {"type": "command", "command": "echo a\\u001b[2Jb\\u202ec\\nd"}  (.claude/settings.json:6)',
        "",
        "MCP servers are started, or called",
        '    evil: {"command": "curl"}  (.mcp.json:3)',
        "",
        "Variables are set for everything that runs",
        "    A: x  (.claude/settings.json:15)",
        "",
        f"Not accepted: {COUNTS}. Accept it: handrail trust accept DIR",
    ]


def test_for_scripts_it_is_json(folder: Folder):
    hostile(folder)
    data = shown(folder)
    assert (data["folder"], data["trusted"], data["accepted"], data["problems"]) == (str(folder.path), False, None, [])
    assert [(item["kind"], item["name"], item["line"]) for item in data["items"]] == [
        ("mcp server", "evil", 3),
        ("hook", "SessionStart", 6),
        ("env", "A", 15),
    ]


def test_accept_lets_it_count_until_one_byte_changes(folder: Folder):
    settings = hostile(folder)
    result = run("accept", folder.path, "--yes")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "accepted")
    assert "unchanged since" in run("show", folder.path).stdout
    assert run("accept", folder.path).exit_code == 0  # nothing is left to ask
    flip_a_byte(settings)
    assert not shown(folder)["trusted"]


def test_changes_since_acceptance_are_marked(folder: Folder):
    settings = hostile(folder)
    run("accept", folder.path, "--yes")
    values = json.loads(settings.read_text())
    settings.write_text(json.dumps({"env": {"A": "y", "B": "z"}, "model": values.get("model", "m")}, indent=2))
    text = run("show", folder.path).stdout
    assert "  ~ A: y  (.claude/settings.json:3)" in text
    assert "  + B: z  (.claude/settings.json:4)" in text
    assert "  - SessionStart is gone" in text
    assert "It has changed since it was accepted" in text


def test_revoke_takes_it_back(folder: Folder):
    hostile(folder)
    run("accept", folder.path, "--yes")
    assert run("revoke", folder.path).stdout == "revoked\n"
    assert run("revoke", folder.path).stdout == "nothing was accepted there\n"
    assert not shown(folder)["trusted"]


def test_without_a_terminal_nobody_says_yes(folder: Folder):
    hostile(folder)
    result = run("accept", folder.path)
    assert (result.exit_code, "cannot ask without a terminal" in result.stderr) == (2, True)
    assert not shown(folder)["trusted"]


def test_a_hash_accepts_exactly_what_was_shown(folder: Folder):
    settings = hostile(folder)
    digest = shown(folder)["digest"]
    old = settings.read_bytes()
    flip_a_byte(settings)
    result = run("accept", folder.path, "--digest", digest)
    assert (result.exit_code, "has changed since it was looked at" in result.stderr) == (1, True)
    assert not shown(folder)["trusted"]
    settings.write_bytes(old)
    assert run("accept", folder.path, "--digest", digest).exit_code == 0
    assert shown(folder)["trusted"]


@pytest.mark.parametrize(("answer", "trusted", "code"), [("y", True, 0), ("n", False, 1), ("", False, 1)])
def test_at_a_terminal_the_items_are_shown_and_the_user_is_asked(folder: Folder, answer: str, trusted: bool, code: int):
    hostile(folder)
    with at_a_terminal("trust", "accept", folder.path, CLAUDE_CONFIG_DIR=str(folder.home)) as screen:
        before = screen.shows("Let all of this run and count here?")
        assert "SessionStart" in before
        screen.type(answer)
        assert screen.ends() == code
    assert shown(folder)["trusted"] is trusted


def test_unacceptable_folder_is_reported(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    hostile(folder)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder.path / ".claude"))
    for arguments in (("accept", folder.path, "--yes"), ("revoke", folder.path)):
        result = run(*arguments)
        assert (result.exit_code, "lies inside of" in result.stderr) == (1, True)
    assert "lies inside of" in shown(folder)["problems"][0]
    assert "lies inside of" in run("show", folder.path).stdout


def test_broken_file_is_reported_and_grants_nothing(folder: Folder):
    folder.put(".claude/settings.json", '{"env": {"A": "x"},')
    os.mkfifo(folder.path / ".mcp.json")
    text = run("show", folder.path).stdout
    assert f"! {folder.path}/.claude/settings.json:1:20: the file ends where a key in quotes is expected" in text
    assert f"! {folder.path}/.mcp.json: a pipe, where a plain file is expected" in text


def test_a_folder_that_is_not_there_is_wrong_usage(folder: Folder):
    result = run("show", folder.path / "nothing")
    assert (result.exit_code, result.stderr) == (2, f"handrail trust: {folder.path}/nothing: no such folder\n")


@pytest.mark.parametrize(("name", "why"), [("a" * 5000, "File name too long"), ("file.txt", "not a folder")])
def test_path_that_is_not_a_folder_is_a_usage_error(folder: Folder, name: str, why: str):
    folder.put("file.txt", "x")
    result = run("show", folder.path / name)
    assert (result.exit_code, result.stderr.endswith(f": {why}\n")) == (2, True)


def test_a_command_with_an_empty_head_is_shown(folder: Folder):
    folder.put(".claude/commands/x.md", "---\n---\n!`make`\n")
    assert "runs make" in run("show", folder.path).stdout


def accept_in_claude(folder: Folder) -> Path:
    path = folder.home / ".claude.json"
    path.write_text(json.dumps({"projects": {str(folder.path): {"hasTrustDialogAccepted": True}}}))
    return path


def test_folder_accepted_in_claude_code_is_shown_as_trusted(folder: Folder):
    hostile(folder)
    path = accept_in_claude(folder)
    assert (shown(folder)["trusted"], shown(folder)["trusted_by"]) == (True, "cli")
    assert f"accepted in Claude Code (hasTrustDialogAccepted in {path})" in run("show", folder.path).stdout
    assert "still trusted" in run("revoke", folder.path).stdout


def test_folder_accepted_in_claude_code_can_be_accepted_here_too(folder: Folder):
    hostile(folder)
    accept_in_claude(folder)
    assert run("accept", folder.path, "--yes").exit_code == 0
    (folder.home / ".claude.json").unlink()
    assert shown(folder)["trusted_by"] == "handrail"


def test_variable_of_a_host_is_shown_and_accepts_nothing(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    hostile(folder)
    monkeypatch.setenv("HANDRAIL_TRUST_FOLDER", "1")
    assert (shown(folder)["trusted"], shown(folder)["trusted_by"]) == (True, "host")
    assert "HANDRAIL_TRUST_FOLDER is set" in run("show", folder.path).stdout
    assert run("accept", folder.path).exit_code == 2  # no one is there to answer
    monkeypatch.delenv("HANDRAIL_TRUST_FOLDER")
    assert not shown(folder)["trusted"]


def test_items_that_count_already_are_marked(folder: Folder):
    hostile(folder)
    folder.put(".claude/commands/x.md", "Say $ARGUMENTS")
    text = run("show", folder.path).stdout
    assert "x: instructions for the model  (.claude/commands/x.md:1)  [counts already]" in text
    assert "A: x  (.claude/settings.json:15)\n" in text
