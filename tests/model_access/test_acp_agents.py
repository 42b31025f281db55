"""ACP agents by name, and how `--cli` chooses them."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.model_access.acp_agents import (
    AcpAgent,
    InvalidAgent,
    add_agent,
    added_agents,
    agents_file,
    find_agent,
    remove_agent,
)
from handrail.model_access.choice import CliChoice, NoCli, which_cli

DESK = AcpAgent(["desk-agent", "--acp"], ["DESK_KEY"])


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A machine on which the known agent `goose` is installed."""
    program = tmp_path / "bin" / "goose"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return {"HOME": str(tmp_path), "PATH": str(program.parent)}


def test_agents_are_added_replaced_and_removed(environment: dict[str, str]):
    path = add_agent("desk", AcpAgent(["old"]), environment)
    add_agent("desk", DESK, environment)
    add_agent("goose", AcpAgent(["my-goose"]), environment)
    assert added_agents(environment) == {"desk": DESK, "goose": AcpAgent(["my-goose"])}
    assert path.stat().st_mode & 0o777 == 0o600
    remove_agent("desk", environment)
    assert find_agent("desk", environment) is None
    with pytest.raises(InvalidAgent, match="agent 'desk' not found"):
        remove_agent("desk", environment)


def test_an_installed_agent_is_known_until_another_is_added(environment: dict[str, str]):
    assert find_agent("goose", environment) == AcpAgent(
        ["goose", "acp"], ["OPENAI_API_KEY", "GOOGLE_API_KEY", "GOOSE_PROVIDER", "GOOSE_MODEL"]
    )
    assert find_agent("gemini", environment) is None
    add_agent("goose", DESK, environment)
    assert find_agent("goose", environment) == DESK


@pytest.mark.parametrize("name", ["", "claude", "agent", "../x", "a b", "-x", "x" * 65])
def test_an_invalid_name_is_refused(environment: dict[str, str], name: str):
    with pytest.raises(InvalidAgent, match="cannot be a name"):
        add_agent(name, DESK, environment)
    assert find_agent(name, environment) is None


def test_an_empty_command_is_refused(environment: dict[str, str]):
    with pytest.raises(InvalidAgent, match="the command of desk is empty"):
        add_agent("desk", AcpAgent([]), environment)


def test_a_file_that_others_could_write_does_not_count(environment: dict[str, str]):
    add_agent("desk", DESK, environment).chmod(0o666)
    with pytest.raises(InvalidAgent, match="others can write it"):
        find_agent("desk", environment)
    with pytest.raises(NoCli, match="others can write it"):
        which_cli("desk", environment)


def test_a_broken_file_is_named(environment: dict[str, str]):
    add_agent("desk", DESK, environment)
    agents_file(environment).write_text("[broken")
    with pytest.raises(InvalidAgent, match=r"agents\.json is invalid"):
        added_agents(environment)


def test_the_cli_is_chosen_by_the_name_of_an_agent(environment: dict[str, str]):
    add_agent("desk", DESK, environment)
    found = which_cli("desk", environment)
    assert (Path(found.path).name, found.kind, found.agent) == ("handrail-acp", "acp", "desk")
    assert (found.name, found.shown["name"]) == ("desk", "desk")
    choice = CliChoice("desk", {**environment, "DESK_KEY": "sk", "OTHER_KEY": "no", "HANDRAIL_MODEL": "opus"})
    assert choice.child_environment() == {"DESK_KEY": "sk", "HANDRAIL_ACP_AGENT": "desk"}
    assert not choice.can_use("claude")
    assert not choice.can_use("api")


def test_a_known_agent_that_is_not_installed_is_named(environment: dict[str, str]):
    with pytest.raises(NoCli, match="codex-acp is not on PATH; install it, or run `handrail agents add codex"):
        which_cli("codex", environment)
