"""The environment of the CLI."""

from pathlib import Path

import pytest

from handrail import Options
from handrail.client.environment import child_environment

OURS = {"CLAUDE_CODE_ENTRYPOINT": "sdk-handrail"}


@pytest.mark.parametrize(
    "name",
    "HOME PATH LANG LC_ALL LC_CTYPE TERM SHELL TMPDIR USER HTTP_PROXY https_proxy NO_PROXY ALL_PROXY SSL_CERT_FILE"
    " SSL_CERT_DIR NODE_EXTRA_CA_CERTS ANTHROPIC_API_KEY ANTHROPIC_BASE_URL CLAUDE_CONFIG_DIR".split(),
)
def test_common_variables_are_inherited(name: str):
    assert child_environment(Options(), {name: "x"}) == {name: "x", **OURS}


@pytest.mark.parametrize(
    "name", "AWS_SECRET_ACCESS_KEY GITHUB_TOKEN DATABASE_URL HANDRAIL_CLI CLAUDECODE SSH_AUTH_SOCK LCX EDITOR".split()
)
def test_other_variables_are_not_inherited(name: str):
    assert child_environment(Options(), {name: "x"}) == OURS


def test_inherit_env_inherits_all_but_the_variables_of_a_parent_cli():
    ours = {"EDITOR": "vi", "CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli"}
    assert child_environment(Options(inherit_env=True), ours) == {"EDITOR": "vi", **OURS}


def test_env_takes_precedence():
    options = Options(env={"EDITOR": "vi", "HOME": "/other", "CLAUDE_CODE_ENTRYPOINT": "mine"})
    told = {"EDITOR": "vi", "HOME": "/other", "CLAUDE_CODE_ENTRYPOINT": "mine"}
    assert child_environment(options, {"HOME": "/home"}) == told


def test_pwd_is_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/ada")
    assert child_environment(Options(cwd="project"), {"PWD": "/x"})["PWD"] == str(tmp_path / "project")
    assert child_environment(Options(cwd="~/project"), {})["PWD"] == "/home/ada/project"


def test_default_is_the_environment_of_this_process(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LC_TIME", "C")
    monkeypatch.setenv("MY_SECRET", "s")
    found = child_environment(Options())
    assert found["LC_TIME"] == "C"
    assert "MY_SECRET" not in found
