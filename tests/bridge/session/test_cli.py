"""Which CLI a server uses: claude where it can be used, else our agent; what was asked for, or words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.bridge.session.cli import NoCli, agent_path, signed_in, which_cli


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A machine with a claude that nobody signed in to."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho '2.9.9 (Claude Code)'\n")
    program.chmod(0o755)
    (tmp_path / ".claude").mkdir()
    return {"HOME": str(tmp_path), "PATH": f"{program.parent}:/usr/bin:/bin"}


def test_claude_answers_where_it_is_installed_and_signed_in(environment: dict[str, str], tmp_path: Path):
    assert which_cli("", environment).kind == "agent"
    (tmp_path / ".claude" / ".credentials.json").write_text("{}")
    found = which_cli("", environment)
    assert (found.path, found.kind) == (str(tmp_path / "bin" / "claude"), "claude")
    assert (found.version, found.model) == ("2.9.9", "its default model")


def test_an_account_in_its_settings_or_a_key_is_being_signed_in(environment: dict[str, str], tmp_path: Path):
    assert not signed_in(environment)
    (tmp_path / ".claude.json").write_text(json.dumps({"oauthAccount": {"emailAddress": "me"}}))
    assert signed_in(environment)
    (tmp_path / ".claude.json").write_text("[broken")
    assert not signed_in(environment)
    assert signed_in({**environment, "ANTHROPIC_API_KEY": "x"})
    assert signed_in({**environment, "CLAUDE_CODE_USE_BEDROCK": "1"})
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"apiKeyHelper": "/bin/my-key"}))
    assert signed_in(environment)


def test_the_model_of_its_settings_is_told(environment: dict[str, str], tmp_path: Path):
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"model": "opus"}))
    assert which_cli("claude", environment).model == "model opus, but nobody is signed in: run claude once"
    (tmp_path / ".claude" / ".credentials.json").write_text("{}")
    assert which_cli("claude", environment).model == "model opus"
    assert which_cli("claude", {**environment, "ANTHROPIC_MODEL": "haiku"}).model == "model haiku"


@pytest.mark.parametrize(
    ("variables", "model"),
    [
        ({}, "the built-in script"),
        ({"HANDRAIL_SCRIPT": "/a/b/words.json", "ANTHROPIC_API_KEY": "x"}, "the script words.json"),
        ({"ANTHROPIC_API_KEY": "x"}, "model sonnet by the Messages API"),
        ({"ANTHROPIC_AUTH_TOKEN": "x", "HANDRAIL_MODEL": "opus"}, "model opus by the Messages API"),
        ({"ANTHROPIC_BASE_URL": "http://x"}, "no model"),
    ],
)
def test_who_is_behind_the_agent_is_told_in_words(environment: dict[str, str], variables: dict[str, str], model: str):
    found = which_cli("agent", {**environment, **variables})
    assert (found.path, found.kind) == (agent_path(), "agent")
    assert found.model.startswith(model)


def test_a_path_is_taken_as_it_is(environment: dict[str, str], tmp_path: Path):
    assert which_cli(str(tmp_path / "bin" / "claude"), environment).kind == "claude"
    assert which_cli(agent_path(), environment).kind == "agent"
    assert which_cli("", {**environment, "HANDRAIL_CLI": agent_path()}).kind == "agent"


def test_what_is_not_there_is_said_in_words(environment: dict[str, str], tmp_path: Path):
    with pytest.raises(NoCli, match="does not exist"):
        which_cli(str(tmp_path / "none"), environment)
    with pytest.raises(NoCli, match="try --cli agent"):
        which_cli("claude", {"HOME": str(tmp_path), "PATH": str(tmp_path)})
    assert which_cli("", {"HOME": str(tmp_path), "PATH": str(tmp_path)}).kind == "agent"
