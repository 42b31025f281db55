"""Translates ClaudeAgentOptions into the options of a session of Handrail.

Every field is either passed on, converted by a row of `CONVERTED`, or refused with OptionsError. None is ignored.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, cast

from handrail.claude_agent_sdk.callbacks import hook_matchers, permission_callback, stderr_callback
from handrail.claude_agent_sdk.loops import CallerLoop
from handrail.claude_agent_sdk.options import AgentDefinition, ClaudeAgentOptions
from handrail.claude_agent_sdk.permissions import CanUseToolShadowedWarning
from handrail.claude_agent_sdk.tools import SdkMcpServer
from handrail.claude_agent_sdk.version import __version__
from handrail.client.errors import OptionsError
from handrail.client.find_cli import VARIABLE as CLI_VARIABLE
from handrail.client.options import Options

__all__ = ["as_handrail_options", "keeps_input_open"]

READS_STATE = "CLAUDE_CODE_SDK_READS_SESSION_STATE"
"""Makes the CLI report when a run has ended, in messages that are not for the program."""
ALL_SOURCES = ("user", "project", "local")
SKILL_SOURCES = ("user", "project")

Convert = Callable[[ClaudeAgentOptions, CallerLoop], dict[str, Any]]


def as_handrail_options(given: ClaudeAgentOptions, caller: CallerLoop, *, starts_cli: bool = True) -> Options:
    """The options of the session. Raises OptionsError, and warns about a `can_use_tool` that is not asked.

    With `starts_cli=False` the CLI runs already, and its own system prompt stays if the options have none.
    """
    _warn_if_shadowed(given)
    found: dict[str, Any] = {}
    for field in dataclasses.fields(given):
        if field.name in CONVERTED:
            found |= CONVERTED[field.name](given, caller)
        elif (value := getattr(given, field.name)) is not None:
            found[field.name] = value
    if not starts_cli and given.system_prompt is None:
        del found["system_prompt"]
    return Options(inherit_env=True, **found)


def keeps_input_open(given: ClaudeAgentOptions) -> bool:
    """Whether the CLI may ask during a run, so that its input has to stay open until the run has ended."""
    servers = given.mcp_servers.values() if isinstance(given.mcp_servers, Mapping) else ()
    asks = given.can_use_tool is not None or bool(given.hooks)
    return asks or any(server.get("type") == "sdk" for server in servers)


def _system_prompt(given: ClaudeAgentOptions, caller: CallerLoop) -> dict[str, Any]:
    # Without a prompt the CLI gets an empty one, and not its own: that is the preset "claude_code".
    return {"system_prompt": "" if given.system_prompt is None else given.system_prompt}


def _setting_sources(given: ClaudeAgentOptions, caller: CallerLoop) -> dict[str, Any]:
    if given.setting_sources is not None:
        return {"setting_sources": given.setting_sources}
    return {"setting_sources": ALL_SOURCES if given.skills is None else SKILL_SOURCES}


def _environment(given: ClaudeAgentOptions, caller: CallerLoop) -> dict[str, Any]:
    state = {} if any(name.upper() == READS_STATE for name in (*os.environ, *given.env)) else {READS_STATE: "1"}
    # The CLI adapts to the client that these variables name, so they name the one whose interface this is.
    client = {"CLAUDE_CODE_ENTRYPOINT": "sdk-py"}
    return {"env": {**client, **state, **given.env, "CLAUDE_AGENT_SDK_VERSION": __version__}}


def _cli_path(given: ClaudeAgentOptions, caller: CallerLoop) -> dict[str, Any]:
    if given.cli_path is not None or os.environ.get(CLI_VARIABLE):
        return {"cli_path": given.cli_path}
    return {"cli_path": _bundled_cli()}


def _bundled_cli() -> str | None:
    """The CLI that the official package brings, if it is installed: the program has run with that one."""
    found = importlib.util.find_spec("claude_agent_sdk")
    for folder in (found.submodule_search_locations if found else None) or ():
        path = os.path.join(folder, "_bundled", "claude")
        if os.access(path, os.X_OK):
            return path
    return None


def _mcp_servers(given: ClaudeAgentOptions, caller: CallerLoop) -> dict[str, Any]:
    if isinstance(given.mcp_servers, str | os.PathLike):
        return {"mcp_servers": given.mcp_servers}
    return {"mcp_servers": {name: _server(server, caller) for name, server in given.mcp_servers.items()}}


def _server(server: Any, caller: CallerLoop) -> Any:
    if not isinstance(server, Mapping):
        return server
    config = cast("Mapping[str, Any]", server)
    instance = config.get("instance")
    return {**config, "instance": instance.for_caller(caller)} if isinstance(instance, SdkMcpServer) else config


def _agents(given: ClaudeAgentOptions, caller: CallerLoop) -> dict[str, Any]:
    return {"agents": {name: _agent(name, agent) for name, agent in (given.agents or {}).items()} or None}


def _agent(name: str, agent: Any) -> dict[str, Any]:
    if not isinstance(agent, AgentDefinition):
        raise OptionsError("agents", f"{name}: {type(agent).__name__} is not an AgentDefinition")
    return {key: value for key, value in dataclasses.asdict(agent).items() if value is not None}


def _plugins(given: ClaudeAgentOptions, caller: CallerLoop) -> dict[str, Any]:
    for plugin in given.plugins:
        if plugin.get("type") != "local":
            raise OptionsError("plugins", f"type {plugin.get('type')!r} is not supported; only local plugins are")
    return {"plugins": given.plugins}


def _settings(given: ClaudeAgentOptions, caller: CallerLoop) -> dict[str, Any]:
    """With a sandbox the settings have to be an object, so that the sandbox can be added to them."""
    settings = given.settings
    if given.sandbox is None or settings is None or settings.lstrip().startswith("{"):
        return {"settings": settings, "sandbox": given.sandbox}
    try:
        with open(settings, encoding="utf-8") as file:
            read = json.load(file)
    except (OSError, ValueError) as error:
        raise OptionsError("settings", f"{settings} cannot be read to add the sandbox to it: {error}") from None
    if not isinstance(read, dict):
        raise OptionsError("settings", f"{settings} does not hold a JSON object")
    return {"settings": cast("dict[str, Any]", read), "sandbox": given.sandbox}


def _thinking(given: ClaudeAgentOptions, caller: CallerLoop) -> dict[str, Any]:
    if given.thinking is not None:  # it replaces the older option
        return {"thinking": given.thinking}
    return {} if given.max_thinking_tokens is None else {"max_thinking_tokens": given.max_thinking_tokens}


def _can_use_tool(given: ClaudeAgentOptions, caller: CallerLoop) -> dict[str, Any]:
    return {} if given.can_use_tool is None else {"can_use_tool": permission_callback(given.can_use_tool, caller)}


def _hooks(given: ClaudeAgentOptions, caller: CallerLoop) -> dict[str, Any]:
    return {"hooks": hook_matchers(given.hooks, caller)}


def _stderr(given: ClaudeAgentOptions, caller: CallerLoop) -> dict[str, Any]:
    return {"stderr": stderr_callback(given.stderr, given.debug_stderr or sys.stderr, caller)}


def _store(given: ClaudeAgentOptions, caller: CallerLoop) -> dict[str, Any]:
    store = given.session_store
    if store is None:
        return {}
    from handrail.claude_agent_sdk.session_store import called_store, store_options  # few programs use one

    return store_options(called_store(store, caller), given.session_store_flush, given.load_timeout_ms)


def _elsewhere(given: ClaudeAgentOptions, caller: CallerLoop) -> dict[str, Any]:
    """Passed on by the row of another field."""
    return {}


CONVERTED: dict[str, Convert] = {
    "system_prompt": _system_prompt,
    "setting_sources": _setting_sources,
    "env": _environment,
    "cli_path": _cli_path,
    "mcp_servers": _mcp_servers,
    "agents": _agents,
    "plugins": _plugins,
    "settings": _settings,
    "sandbox": _elsewhere,
    "thinking": _thinking,
    "max_thinking_tokens": _elsewhere,
    "can_use_tool": _can_use_tool,
    "hooks": _hooks,
    "stderr": _stderr,
    "debug_stderr": _elsewhere,
    "session_store": _store,
    "session_store_flush": _elsewhere,
    "load_timeout_ms": _elsewhere,
}
"""The fields that are not passed on as they are."""


def _warn_if_shadowed(given: ClaudeAgentOptions) -> None:
    if given.can_use_tool is None:
        return
    if given.permission_mode == "bypassPermissions":
        reason = 'permission_mode="bypassPermissions" allows every tool'
    elif whole := [rule for rule in given.allowed_tools if "(" not in rule]:
        reason = f"allowed_tools allows every use of {', '.join(whole)}"
    else:
        return
    warnings.warn(
        f"can_use_tool is not asked, because {reason}. Use a PreToolUse hook to check every call, or narrow the rule.",
        CanUseToolShadowedWarning,
        stacklevel=2,
    )
