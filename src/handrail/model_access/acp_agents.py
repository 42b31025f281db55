"""Agents that speak the Agent Client Protocol (ACP), by name: those that a person added, and known ones if installed.

Added agents are stored in `agents.json` beside the connected model. They are commands that run, so the file does not
count if others could have written it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from handrail.errors import CallerError
from handrail.model_access.stored import access_file
from handrail.settings.private_file import PrivateFileError, read_private, write_private

__all__ = [
    "KNOWN",
    "VARIABLE",
    "AcpAgent",
    "InvalidAgent",
    "add_agent",
    "added_agents",
    "agents_file",
    "find_agent",
    "installed_agents",
    "known_agents",
    "remove_agent",
    "required_agent",
]

VARIABLE: Final = "HANDRAIL_ACP_AGENT"
"""Names the agent for `handrail-acp` without a command."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_RESERVED: Final = frozenset({"claude", "agent"})


class InvalidAgent(CallerError):
    """An agent cannot be added, found or removed; the text says why."""


class AcpAgent(Struct, frozen=True, omit_defaults=True):
    """A command that speaks ACP on its standard input and output.

    `variables`: the names of variables of the server that it needs, such as the one with its key.
    """

    command: list[str]
    variables: list[str] = []


KNOWN: Final[Mapping[str, AcpAgent]] = {
    "gemini": AcpAgent(["gemini", "--acp"], ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT"]),
    "codex": AcpAgent(["codex-acp"], ["OPENAI_API_KEY", "CODEX_API_KEY"]),
    "opencode": AcpAgent(["opencode", "acp"], ["OPENAI_API_KEY", "OPENROUTER_API_KEY"]),
    "goose": AcpAgent(["goose", "acp"], ["OPENAI_API_KEY", "GOOGLE_API_KEY", "GOOSE_PROVIDER", "GOOSE_MODEL"]),
    "claude-acp": AcpAgent(["claude-agent-acp"]),
}
"""Agents that need not be added where their program is on PATH."""


def agents_file(environment: Mapping[str, str] = os.environ) -> Path:
    """The file that stores the agents that were added."""
    return access_file(environment).with_name("agents.json")


def added_agents(environment: Mapping[str, str] = os.environ) -> dict[str, AcpAgent]:
    """The agents that were added. Raises InvalidAgent if their file cannot be relied on."""
    path = agents_file(environment)
    try:
        data = read_private(path)
        return {} if data is None else msgspec.json.decode(data, type=dict[str, AcpAgent])
    except PrivateFileError as error:
        raise InvalidAgent(str(error)) from None
    except msgspec.MsgspecError:
        raise InvalidAgent(f"{path} is invalid; delete it and add the agents again") from None


def installed_agents(environment: Mapping[str, str] = os.environ) -> dict[str, AcpAgent]:
    """The known agents whose program is on PATH."""
    path = environment.get("PATH", os.defpath)
    return {name: agent for name, agent in KNOWN.items() if shutil.which(agent.command[0], path=path)}


def known_agents(environment: Mapping[str, str] = os.environ) -> dict[str, AcpAgent]:
    """All agents by name; one that was added comes before an installed one of this name. Raises InvalidAgent."""
    return {**installed_agents(environment), **added_agents(environment)}


def find_agent(name: str, environment: Mapping[str, str] = os.environ) -> AcpAgent | None:
    """An agent by name. Raises InvalidAgent."""
    return known_agents(environment).get(name) if _NAME.fullmatch(name) else None


def required_agent(name: str, environment: Mapping[str, str] = os.environ) -> AcpAgent:
    """An agent by name. Raises InvalidAgent with the names of those that this machine has."""
    agents = known_agents(environment)
    if name not in agents:
        has = f"it has {', '.join(sorted(agents))}" if agents else "it has none"
        add = f"add it with `handrail agents add {name[:80]} -- CMD...`"
        raise InvalidAgent(f"agent {name[:80]!r} not found on this machine; {has}; {add}")
    return agents[name]


def add_agent(name: str, agent: AcpAgent, environment: Mapping[str, str] = os.environ) -> Path:
    """Store an agent; one of the same name is replaced. Returns the file. Raises InvalidAgent."""
    if not _NAME.fullmatch(name) or name in _RESERVED:
        raise InvalidAgent(f"{name[:80]!r} cannot be a name: use letters, digits, dots and dashes, not claude or agent")
    if not agent.command or not agent.command[0]:
        raise InvalidAgent(f"the command of {name} is empty; put it after --")
    return _save({**added_agents(environment), name: agent}, environment)


def remove_agent(name: str, environment: Mapping[str, str] = os.environ) -> None:
    """Remove an agent that was added. Raises InvalidAgent."""
    agents = added_agents(environment)
    if name not in agents:
        raise InvalidAgent(f"agent {name[:80]!r} not found; run `handrail agents list`")
    del agents[name]
    _save(agents, environment)


def _save(agents: dict[str, AcpAgent], environment: Mapping[str, str]) -> Path:
    path = agents_file(environment)
    try:
        write_private(path, msgspec.json.encode(agents))
    except PrivateFileError as error:
        raise InvalidAgent(str(error)) from None
    return path
