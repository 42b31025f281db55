"""The MCP servers that a session starts with: of the user, the project, plugins and the command line.

Servers of a project run only if the folder is trusted, or if the user's own settings approve them
(`enableAllProjectMcpServers`, `enabledMcpjsonServers`). The user's servers are in `.claude.json`, where the CLI keeps
them: for all folders, and for one folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from handrail.agent.session import Session
from handrail.settings.merge import servers_of

__all__ = ["Configured", "configured_servers"]

JsonObject = dict[str, Any]
FILE_LIMIT: Final = 64 * 1024 * 1024
_OF_THE_USER: Final = frozenset({"userSettings", "policySettings", "flagSettings"})


class Configured(msgspec.Struct, frozen=True):
    """Entries by scope, the strongest scope first, and the names of servers that the user has disabled."""

    scopes: list[tuple[str, Mapping[str, Any]]]
    disabled: frozenset[str]


class _UserFile(msgspec.Struct, rename="camel"):
    mcp_servers: Any = None
    projects: dict[str, msgspec.Raw] = {}


class _Project(msgspec.Struct, rename="camel"):
    mcp_servers: Any = None
    disabled_mcp_servers: Any = None


def configured_servers(session: Session, of_plugins: Mapping[str, Any]) -> Configured:
    """The servers of a session. Raises Refused for an invalid `--mcp-config`."""
    arguments = session.arguments
    named: Mapping[str, Any] = {}
    if arguments.mcp_config:
        from handrail.agent.mcp.config import read_configs  # most sessions name none

        named = read_configs(arguments.mcp_config, session.cwd)
    if arguments.strict_mcp_config or arguments.bare:
        return Configured([("dynamic", named)], frozenset())
    of_user, of_folder, disabled = _user_servers(session)
    return Configured(
        [
            ("local", of_folder),
            ("project", _project_servers(session)),
            ("user", of_user),
            ("plugin", of_plugins),
            ("dynamic", named),
        ],
        disabled,
    )


def _project_servers(session: Session) -> dict[str, Any]:
    """The servers of settings that are in force, and those of `.mcp.json` that the user's settings approve."""
    found = {server.name: dict(server.config) for server in session.settings.mcp_servers}
    sources = session.sources
    if "project" not in sources:
        return found
    everything, names = False, set[str]()
    for file in session.loaded.files:
        if file.place.scope in _OF_THE_USER and (file.place.scope != "userSettings" or "user" in sources):
            everything = everything or file.values.get("enableAllProjectMcpServers") is True
            names.update(file.values.get("enabledMcpjsonServers") or ())
    if not everything and not names:
        return found
    disabled = session.settings.values.get("disabledMcpjsonServers") or ()
    for file in session.loaded.files:
        for server in servers_of(file) if file.place.kind == "mcp" else ():
            if (everything or server.name in names) and server.name not in disabled:
                found[server.name] = dict(server.config)
    return found


def _user_servers(session: Session) -> tuple[dict[str, Any], dict[str, Any], frozenset[str]]:
    """The user's servers for all folders and for this one, and the names that are disabled in this one."""
    sources = session.sources
    home = session.environment.get("CLAUDE_CONFIG_DIR") or session.home
    try:
        with open(os.path.join(home, ".claude.json"), "rb") as stream:
            file = msgspec.json.decode(stream.read(FILE_LIMIT), type=_UserFile)
        raw = file.projects.get(session.cwd)
        project = msgspec.json.decode(raw, type=_Project) if raw is not None else _Project()
    except (OSError, msgspec.MsgspecError, ValueError):
        return {}, {}, frozenset()
    of_user = file.mcp_servers if "user" in sources else None
    of_folder = project.mcp_servers if "local" in sources else None
    names: Any = project.disabled_mcp_servers
    disabled = frozenset(map(str, cast("list[Any]", names))) if isinstance(names, list) else frozenset[str]()
    return _object(of_user), _object(of_folder), disabled


def _object(value: Any) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}
