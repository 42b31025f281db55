"""The MCP servers that a session starts with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.arguments import read_arguments
from handrail.agent.mcp.configured import Configured, configured_servers
from handrail.agent.session import Session

RUNS = {"command": "/bin/cat"}


def configured(folder: Path, *flags: str, environment: dict[str, str] | None = None, **files: Any) -> Configured:
    """The servers of a session in `folder/project`. `files`: what is in .claude.json and other files."""
    places = {
        "user": "home/.claude.json",
        "settings": "home/.claude/settings.json",
        "project": "project/.mcp.json",
        "project_settings": "project/.claude/settings.json",
        "other": "other/.claude.json",
    }
    (folder / "project").mkdir()
    for name, content in files.items():
        path = folder / places[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    variables = {"HOME": str(folder / "home"), **(environment or {})}
    session = Session(read_arguments(flags), variables, str(folder / "project"))
    return configured_servers(session, {})


def names(found: Configured) -> dict[str, list[str]]:
    return {scope: list(servers) for scope, servers in found.scopes if servers}


def test_user_has_servers_for_all_folders_and_for_one(tmp_path: Path):
    here = {"mcpServers": {"near": RUNS}, "disabledMcpServers": ["far"]}
    user = {"mcpServers": {"far": RUNS}, "projects": {str(tmp_path / "project"): here, "/other": {"mcpServers": 5}}}
    found = configured(tmp_path, user=user)
    assert names(found) == {"local": ["near"], "user": ["far"]}
    assert found.disabled == {"far"}


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--setting-sources", ""), {}),
        (("--setting-sources", "user"), {"user": ["far"]}),
        (("--setting-sources", "project,local"), {"local": ["near"]}),
        (("--strict-mcp-config",), {}),
        (("--strict-mcp-config", "--mcp-config", json.dumps({"mcpServers": {"own": RUNS}})), {"dynamic": ["own"]}),
    ],
)
def test_flags_select_the_files(tmp_path: Path, flags: tuple[str, ...], expected: dict[str, list[str]]):
    here = {"mcpServers": {"near": RUNS}}
    user = {"mcpServers": {"far": RUNS}, "projects": {str(tmp_path / "project"): here}}
    assert names(configured(tmp_path, *flags, user=user)) == expected


def test_config_folder_of_the_environment_has_the_file(tmp_path: Path):
    environment = {"CLAUDE_CONFIG_DIR": str(tmp_path / "other")}
    servers = {"user": {"mcpServers": {"a": RUNS}}, "other": {"mcpServers": {"b": RUNS}}}
    assert names(configured(tmp_path, environment=environment, **servers)) == {"user": ["b"]}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"mcpServers": 5, "projects": {}}', '{"projects": 5}'])
def test_broken_user_file_has_no_servers(tmp_path: Path, content: str):
    assert names(configured(tmp_path, user=content)) == {}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, []),
        ({"enableAllProjectMcpServers": True}, ["one", "two"]),
        ({"enableAllProjectMcpServers": True, "disabledMcpjsonServers": ["one"]}, ["two"]),
        ({"enabledMcpjsonServers": ["two", "nosuch"]}, ["two"]),
        ({"enableAllProjectMcpServers": "yes"}, []),
    ],
)
def test_user_settings_approve_servers_of_an_untrusted_project(
    tmp_path: Path, settings: dict[str, Any], expected: list[str]
):
    project = {"mcpServers": {"one": RUNS, "two": RUNS}}
    found = names(configured(tmp_path, settings=settings, project=project))
    assert found.get("project", []) == expected


def test_project_cannot_approve_its_own_servers(tmp_path: Path):
    project = {"mcpServers": {"one": RUNS}}
    found = configured(tmp_path, project=project, project_settings={"enableAllProjectMcpServers": True})
    assert names(found) == {}


def test_approval_counts_only_if_both_files_are_read(tmp_path: Path):
    project = {"mcpServers": {"one": RUNS}}
    for number, sources in enumerate(("user", "project")):
        folder = tmp_path / str(number)
        folder.mkdir()
        settings = {"enableAllProjectMcpServers": True}
        assert names(configured(folder, "--setting-sources", sources, settings=settings, project=project)) == {}
