"""The CLI of a server: which one is chosen, and the options with which a session starts it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from handrail.bridge.session.cli import Cli, Launcher, NoCli, agent_path, launcher, signed_in, which_cli
from handrail.bridge.store.base import SessionRecord
from handrail.client.options import Options

ID, OTHER = str(uuid4()), str(uuid4())


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A machine with a `claude` that is not signed in."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho '2.9.9 (Claude Code)'\n")
    program.chmod(0o755)
    (tmp_path / ".claude").mkdir()
    return {"HOME": str(tmp_path), "PATH": f"{program.parent}:/usr/bin:/bin"}


def test_claude_is_used_if_it_is_signed_in(environment: dict[str, str], tmp_path: Path):
    assert which_cli("", environment).kind == "agent"
    (tmp_path / ".claude" / ".credentials.json").write_text("{}")
    found = which_cli("", environment)
    assert (found.path, found.kind) == (str(tmp_path / "bin" / "claude"), "claude")
    assert (found.version, found.model) == ("2.9.9", "its default model")


def test_account_or_key_counts_as_signed_in(environment: dict[str, str], tmp_path: Path):
    assert not signed_in(environment)
    (tmp_path / ".claude.json").write_text(json.dumps({"oauthAccount": {"emailAddress": "me"}}))
    assert signed_in(environment)
    (tmp_path / ".claude.json").write_text("[broken")
    assert not signed_in(environment)
    assert signed_in({**environment, "ANTHROPIC_API_KEY": "x"})
    assert signed_in({**environment, "CLAUDE_CODE_USE_BEDROCK": "1"})
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"apiKeyHelper": "/bin/my-key"}))
    assert signed_in(environment)


def test_model_of_the_settings_is_named(environment: dict[str, str], tmp_path: Path):
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"model": "opus"}))
    assert which_cli("claude", environment).model == "model opus, but not signed in; run `claude` to sign in"
    (tmp_path / ".claude" / ".credentials.json").write_text("{}")
    assert which_cli("claude", environment).model == "model opus"
    assert which_cli("claude", {**environment, "ANTHROPIC_MODEL": "haiku"}).model == "model haiku"


@pytest.mark.parametrize(
    ("variables", "model"),
    [
        ({}, "the built-in script"),
        ({"HANDRAIL_SCRIPT": "/a/b/words.json", "ANTHROPIC_API_KEY": "x"}, "the script words.json"),
        ({"ANTHROPIC_API_KEY": "x"}, "model opus through the Messages API"),
        ({"ANTHROPIC_AUTH_TOKEN": "x", "HANDRAIL_MODEL": "opus"}, "model opus through the Messages API"),
        ({"ANTHROPIC_BASE_URL": "http://x"}, "no model"),
    ],
)
def test_model_of_the_agent_is_named(environment: dict[str, str], variables: dict[str, str], model: str):
    found = which_cli("agent", {**environment, **variables})
    assert (found.path, found.kind) == (agent_path(), "agent")
    assert found.model.startswith(model)


def test_path_is_used(environment: dict[str, str], tmp_path: Path):
    assert which_cli(str(tmp_path / "bin" / "claude"), environment).kind == "claude"
    assert which_cli(agent_path(), environment).kind == "agent"
    assert which_cli("", {**environment, "HANDRAIL_CLI": agent_path()}).kind == "agent"


def test_missing_cli_is_an_error(environment: dict[str, str], tmp_path: Path):
    with pytest.raises(NoCli, match="does not exist"):
        which_cli(str(tmp_path / "none"), environment)
    with pytest.raises(NoCli, match="use --cli agent"):
        which_cli("claude", {"HOME": str(tmp_path), "PATH": str(tmp_path)})
    assert which_cli("", {"HOME": str(tmp_path), "PATH": str(tmp_path)}).kind == "agent"


def options(*, resumes: bool = False, trusted: bool = False, **fields: Any) -> Options:
    record = SessionRecord(id=ID, cwd="/work", created=0, changed=0, **fields)
    return Launcher(Cli("/bin/true", "agent"), {}, lambda folder: trusted)(record, resumes=resumes)


def test_environment_is_limited_to_known_variables():
    given = {"HANDRAIL_MODEL": "m", "BRIDGE_TOKEN": "t", "HANDRAIL_SCRIPT": "", "AWS_PROFILE": "work", "SECRET": "s"}
    record = SessionRecord(id=ID, cwd="/", created=0, changed=0)
    started = launcher(Cli("/bin/true", "agent"), ["AWS_PROFILE", "AWS_REGION"], given)(record, resumes=False)
    assert started.env == {"HANDRAIL_MODEL": "m", "AWS_PROFILE": "work"}
    assert not started.inherit_env


def test_new_session_has_an_id_and_old_session_is_resumed():
    assert (options().session_id, options().resume) == (ID, None)
    resumed = options(resumes=True, conversation=OTHER)
    assert (resumed.session_id, resumed.resume) == (None, OTHER)


def test_fork_resumes_its_origin_under_a_new_id():
    fork = options(options={"origin": OTHER, "origin_message": "m1"})
    assert (fork.resume, fork.fork_session, fork.session_id, fork.resume_session_at) == (OTHER, True, ID, "m1")
    assert not options(resumes=True, conversation=ID, options={"origin": OTHER}).fork_session


@pytest.mark.parametrize(("trusted", "sources"), [(False, ("user",)), (True, ("user", "project", "local"))])
def test_project_settings_are_read_only_in_trusted_folders(trusted: bool, sources: tuple[str, ...]):
    assert tuple(options(trusted=trusted).setting_sources) == sources
    assert tuple(options(trusted=trusted, mode="plan").setting_sources) == sources


def test_granted_rules_become_options():
    rules: list[dict[str, Any]] = [
        {"type": "addRules", "behavior": "allow", "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}]},
        {"type": "addRules", "behavior": "deny", "rules": [{"toolName": "WebFetch"}]},
        {"type": "addDirectories", "directories": ["/b"]},
    ]
    found = options(rules=rules, options={"add_dirs": ["/a"]}, mode="plan")
    assert (list(found.allowed_tools), list(found.disallowed_tools)) == (["Bash(ls:*)"], ["WebFetch"])
    assert (list(found.add_dirs), found.permission_mode) == (["/a", "/b"], "plan")
    assert not found.allow_dangerously_skip_permissions
    assert options(options={"may_bypass": True}).allow_dangerously_skip_permissions


def test_only_known_choices_are_passed_on():
    chosen = {"model": "opus", "max_turns": 3, "add_dirs": ["/a"], "plugin_dirs": ["/p"], "system_prompt": "no"}
    found = options(options=chosen)
    assert (found.model, found.max_turns, list(found.add_dirs)) == ("opus", 3, ["/a"])
    assert [plugin["path"] for plugin in found.plugins] == ["/p"]  # type: ignore[index]
    assert found.system_prompt is None
