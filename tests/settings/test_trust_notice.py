"""The notice about what is left out of an untrusted folder."""

import json
import shlex

from handrail.settings import left_out, notice_of
from tests.settings.folder import Folder
from tests.settings.test_load import hostile_clone


def test_every_kind_is_named_without_values(folder: Folder):
    hostile_clone(folder)
    text = notice_of(folder.load())
    for name in (
        "allow Bash",
        "allow WebFetch",
        "defaultMode bypassPermissions",
        "additionalDirectories",
        "SessionStart",
        "MCP servers: evil",
        "ANTHROPIC_BASE_URL",
        "apiKeyHelper",
        "enableAllProjectMcpServers",
        "powers of agents: evil",
        "grants of skills: evil/SKILL",
        "grants of commands: help",
        "core.fsmonitor",
    ):
        assert name in text
    assert "evil.example" not in text
    assert f"handrail trust accept {shlex.quote(str(folder.path))}" in text
    assert "--trust-folder" in text
    assert "HANDRAIL_TRUST_FOLDER=1" in text


def test_trusted_folder_has_no_notice(folder: Folder):
    hostile_clone(folder)
    folder.accept()
    assert (notice_of(folder.load()), left_out(folder.load())) == ("", [])


def test_settings_that_need_no_trust_have_no_notice(folder: Folder):
    folder.put(".claude/settings.json", {"model": "opus", "permissions": {"deny": ["Read"], "defaultMode": "plan"}})
    folder.put(".claude/commands/x.md", "Say $ARGUMENTS")
    assert notice_of(folder.load()) == ""


def test_notice_says_that_the_folder_changed(folder: Folder):
    folder.put(".claude/settings.json", {"env": {"A": "x"}})
    folder.accept()
    folder.put(".claude/settings.json", {"env": {"A": "y"}})
    assert "has changed since it was accepted" in notice_of(folder.load())


def test_only_the_sources_of_the_session_are_named(folder: Folder):
    folder.put(".claude/settings.json", {"env": {"SHARED": "x"}})
    folder.put(".claude/settings.local.json", {"env": {"OWN": "x"}})
    assert "SHARED, OWN" in notice_of(folder.load())
    assert "OWN" not in notice_of(folder.load(), ["project"])
    assert "SHARED" not in notice_of(folder.load(), ["local"])


def test_names_cannot_control_a_terminal_and_a_flood_is_cut(folder: Folder):
    names = {f"V{n}": "x" for n in range(50)} | {"a\x1b[2Jb\u202e": "x", "n" * 5000: "x"}
    folder.put(".claude/settings.json", {"env": dict(reversed(names.items()))})
    text = notice_of(folder.load())
    assert text.isprintable()
    assert len(text) < 1000
    assert "and 46 more" in text


def test_folder_with_more_than_can_be_checked_is_named(folder: Folder, monkeypatch):
    from handrail.settings import project

    monkeypatch.setattr(project, "FILES_LIMIT", 3)
    for n in range(9):
        folder.put(f".claude/commands/{n}.md", "x")
    assert "more files than can be checked" in notice_of(folder.load())


def test_server_that_the_user_approved_is_not_left_out(folder: Folder):
    folder.put(".mcp.json", {"mcpServers": {"one": {"command": "a"}}})
    assert "one" in notice_of(folder.load())
    folder.put_user(json.dumps({"enableAllProjectMcpServers": True}))
    assert notice_of(folder.load()) == ""
