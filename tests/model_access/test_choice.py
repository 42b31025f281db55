"""The rule by which a CLI and its model are chosen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.model_access.choice import CliChoice, NoCli, agent_path, signed_in, which_cli
from handrail.model_access.stored import ModelAccess, access_file, load_access, save_access


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


def test_version_of_a_cli_that_did_not_answer_is_asked_again(environment: dict[str, str], tmp_path: Path):
    answers = tmp_path / "answers"
    program = tmp_path / "bin" / "claude"
    program.write_text(f"#!/bin/sh\ntest -e {answers} && echo '2.9.9 (Claude Code)'\n")
    assert which_cli("claude", environment).version == ""
    answers.touch()
    assert which_cli("claude", environment).version == "2.9.9"


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
        ({}, "Demo"),
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


KEY = "sk-test-0123456789"


def test_connected_key_is_used_before_an_installed_claude(environment: dict[str, str], tmp_path: Path):
    (tmp_path / ".claude" / ".credentials.json").write_text("{}")
    save_access(ModelAccess("api", KEY), environment)
    choice = CliChoice("", environment)
    assert (choice.current().kind, choice.current().demo, choice.kept) == ("agent", False, True)
    assert choice.child_environment()["ANTHROPIC_API_KEY"] == KEY


def test_connected_claude_is_used_though_it_is_not_signed_in(environment: dict[str, str]):
    choice = CliChoice("", environment)
    assert (choice.current().kind, choice.current().demo) == ("agent", True)
    choice.connect(ModelAccess("claude"), keep=True)
    assert choice.current().kind == "claude"
    assert "not signed in" in choice.current().model
    assert choice.child_environment() == {}


def test_access_for_this_run_is_not_stored_and_comes_first(environment: dict[str, str]):
    choice = CliChoice("agent", environment)
    choice.connect(ModelAccess("api", "kept-key"), keep=True)
    choice.connect(ModelAccess("api", KEY, "http://127.0.0.1:1", "m"), keep=False)
    assert (choice.access, choice.kept) == (ModelAccess("api", KEY, "http://127.0.0.1:1", "m"), False)
    assert load_access(environment) == ModelAccess("api", "kept-key")
    choice.disconnect()
    assert (choice.access, access_file(environment).exists(), choice.current().demo) == (None, False, True)


def test_variables_that_name_another_model_are_emptied(environment: dict[str, str]):
    given = {**environment, "HANDRAIL_SCRIPT": "/a.json", "ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_MODEL": "other"}
    choice = CliChoice("agent", given)
    choice.connect(ModelAccess("api", KEY), keep=False)
    found = choice.child_environment()
    assert {found[name] for name in ("HANDRAIL_SCRIPT", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_MODEL")} == {""}
    choice.connect(ModelAccess("api", KEY, "http://127.0.0.1:1", "m"), keep=False)
    found = choice.child_environment()
    assert (found["ANTHROPIC_BASE_URL"], found["ANTHROPIC_AUTH_TOKEN"]) == ("http://127.0.0.1:1", KEY)
    assert found["HANDRAIL_MODEL"] == "m"


@pytest.mark.parametrize(("requested", "use"), [("claude", "api"), ("agent", "claude")])
def test_model_of_another_cli_than_the_requested_one_is_not_used(environment: dict[str, str], requested: str, use: str):
    save_access(ModelAccess(use, KEY), environment)  # type: ignore[arg-type]
    choice = CliChoice(requested, environment)
    assert (choice.access, choice.can_use(use)) == (None, False)  # type: ignore[arg-type]
    assert KEY not in choice.child_environment().values()


def test_stored_file_that_others_can_read_is_not_used(environment: dict[str, str]):
    path = save_access(ModelAccess("api", KEY), environment)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    choice = CliChoice("agent", environment)
    assert choice.access is None
    assert choice.current().demo
    assert "others can read it" in choice.problem
    assert KEY not in choice.problem
