"""The choice of the CLI: `claude` if it is signed in, else our agent; or the requested one, or an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.bridge.session.cli import NoCli, agent_path, signed_in, which_cli


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
        ({"ANTHROPIC_API_KEY": "x"}, "model sonnet through the Messages API"),
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
