"""Translates Options into CLI arguments, configuration files and handshake fields.

Every value is joined to its flag (`--resume=ID`), so a value cannot become a flag. Large or secret values are never
arguments: prompts, agents, schemas, hooks and policies are sent in the handshake, MCP servers and settings in files of
mode 0600.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from handrail.client.errors import OptionsError
from handrail.client.options import Options

__all__ = ["arguments", "config_files", "environment_of", "initialize_fields", "split_mcp_servers"]

BASE = ("--output-format=stream-json", "--verbose", "--input-format=stream-json")

VALUES = {
    "model": "--model",
    "fallback_model": "--fallback-model",
    "effort": "--effort",
    "max_thinking_tokens": "--max-thinking-tokens",
    "thinking_display": "--thinking-display",
    "permission_mode": "--permission-mode",
    "permission_prompt_tool_name": "--permission-prompt-tool",
    "agent": "--agent",
    "resume": "--resume",
    "resume_session_at": "--resume-session-at",
    "resume_drops_turn": "--resume-drops-turn",
    "session_id": "--session-id",
    "from_pr": "--from-pr",
    "max_turns": "--max-turns",
    "max_budget_usd": "--max-budget-usd",
    "project_config_root": "--project-config-root",
    "permission_prompts": "--permission-prompts",
    "debug_file": "--debug-file",
}
"""`--flag=value` if the option is not None."""

SWITCHES = {
    "allow_dangerously_skip_permissions": "--allow-dangerously-skip-permissions",
    "dangerously_skip_permissions": "--dangerously-skip-permissions",
    "strict_mcp_config": "--strict-mcp-config",
    "disable_slash_commands": "--disable-slash-commands",
    "continue_conversation": "--continue",
    "fork_session": "--fork-session",
    "include_partial_messages": "--include-partial-messages",
    "include_hook_events": "--include-hook-events",
    "replay_user_messages": "--replay-user-messages",
    "bare": "--bare",
}
"""`--flag` if the option is true."""

JOINED = {"allowed_tools": "--allowedTools", "disallowed_tools": "--disallowedTools", "betas": "--betas"}
"""`--flag=a,b` if the list is not empty."""

REPEATED = {"add_dirs": "--add-dir", "files": "--file"}
"""`--flag=a --flag=b`."""

HANDSHAKE = {
    "append_system_prompt": "appendSystemPrompt",
    "managed_settings": "managedSettings",
    "plan_mode_instructions": "planModeInstructions",
    "tool_aliases": "toolAliases",
    "agents": "agents",
    "title": "title",
    "supported_dialog_kinds": "supportedDialogKinds",
    "forward_subagent_text": "forwardSubagentText",
    "prompt_suggestions": "promptSuggestions",
    "agent_progress_summaries": "agentProgressSummaries",
    "per_task_stop_affordance": "perTaskStopAffordance",
    "exclude_dynamic_sections": "excludeDynamicSections",
}
"""Fields of `initialize`, if set."""


def arguments(options: Options, paths: Mapping[str, str]) -> list[str]:
    """The CLI's arguments. `paths` maps the flags of `config_files` to the files written for them."""
    found = list(BASE)
    found += [f"{flag}={_text(getattr(options, name))}" for name, flag in VALUES.items() if _is_set(options, name)]
    found += [flag for name, flag in SWITCHES.items() if getattr(options, name)]
    for name, flag in JOINED.items():
        if values := _joined(options, name):
            found.append(f"{flag}={','.join(values)}")
    found += [f"{flag}={_text(item)}" for name, flag in REPEATED.items() for item in getattr(options, name)]
    for part in _PARTS:
        found += part(options)
    found += [f"{flag}={paths[flag]}" for flag in paths]
    for name, value in options.extra_args.items():
        found.append(f"--{name}" if value is None else f"--{name}={value}")
    return found


def config_files(options: Options) -> dict[str, str]:
    """Contents of the files that are passed to the CLI, by flag."""
    files: dict[str, str] = {}
    servers, _ = split_mcp_servers(options.mcp_servers)
    if servers:
        files["--mcp-config"] = _json("mcp_servers", {"mcpServers": servers})
    if (settings := _settings(options)) is not None:
        files["--settings"] = _json("settings", settings)
    return files


def initialize_fields(options: Options, hooks: Mapping[str, Any] | None, servers: Sequence[str]) -> dict[str, Any]:
    """The fields of the handshake. `hooks` is their registration, `servers` the names of the in-process MCP servers."""
    fields = {wire: getattr(options, name) for name, wire in HANDSHAKE.items() if getattr(options, name)}
    prompt = options.system_prompt
    if isinstance(prompt, str):
        fields["systemPrompt"] = [prompt]
    elif isinstance(prompt, Mapping):
        fields |= _prompt_fields(prompt)
    elif prompt is not None:
        fields["systemPrompt"] = list(prompt)
    if options.output_format is not None:
        fields["jsonSchema"] = _schema(options.output_format)
    if options.skills is not None and options.skills != "all":
        fields["skills"] = list(options.skills)
    if hooks:
        fields["hooks"] = hooks
    if servers:
        fields["sdkMcpServers"] = list(servers)
    return fields


def environment_of(options: Options) -> dict[str, str]:
    """Environment variables set by options."""
    found = {"CLAUDE_CODE_ENTRYPOINT": "sdk-handrail"}
    if options.enable_file_checkpointing:
        found["CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"] = "true"
    if options.client_app is not None:
        found["CLAUDE_AGENT_SDK_CLIENT_APP"] = options.client_app
    if options.question_preview_format is not None:
        found["CLAUDE_CODE_QUESTION_PREVIEW_FORMAT"] = options.question_preview_format
    if options.session_state_events:
        found["CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"] = "1"
    return found


def split_mcp_servers(given: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split `mcp_servers` into the servers that the CLI starts and those in this process."""
    if isinstance(given, str | os.PathLike):
        return {}, {}
    named: list[tuple[Any, Any]]
    if isinstance(given, Mapping):
        named = list(cast("Mapping[Any, Any]", given).items())
    else:
        named = [(getattr(server, "name", None), server) for server in cast("Sequence[Any]", given)]
    outside: dict[str, Any] = {}
    inside: dict[str, Any] = {}
    for name, server in named:
        if not isinstance(name, str) or not name:
            raise OptionsError("mcp_servers", "a server needs a name; without one the CLI skips it or hangs")
        if not isinstance(server, Mapping):
            inside[name] = server
        elif cast("Mapping[str, Any]", server).get("type") == "sdk":
            inside[name] = _instance_of(name, cast("Mapping[str, Any]", server))
        else:
            outside[name] = dict(cast("Mapping[str, Any]", server))
    return outside, inside


def _instance_of(name: str, server: Mapping[str, Any]) -> Any:
    if "name" in server and not server["name"]:
        raise OptionsError("mcp_servers", f"{name}: its `name` is empty; without one the CLI skips it or hangs")
    if (instance := server.get("instance")) is None:
        raise OptionsError("mcp_servers", f'{name}: a server of type "sdk" needs an `instance`')
    return instance


def _json(name: str, value: object) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise OptionsError(name, f"cannot be written as JSON: {error}") from None


def _is_set(options: Options, name: str) -> bool:
    return getattr(options, name) is not None


def _text(value: Any) -> str:
    return os.fspath(cast("os.PathLike[str]", value)) if isinstance(value, os.PathLike) else str(value)


def _joined(options: Options, name: str) -> list[str]:
    values = list(getattr(options, name))
    if name == "allowed_tools" and options.skills is not None:
        values += ["Skill"] if options.skills == "all" else [f"Skill({skill})" for skill in options.skills]
    return values


def _setting_sources(options: Options) -> list[str]:
    return [f"--setting-sources={','.join(options.setting_sources)}"]


def _tools(options: Options) -> list[str]:
    if options.tools is None:
        return []
    names = "default" if isinstance(options.tools, Mapping) else ",".join(options.tools)
    return [f"--tools={names}"]


def _thinking(options: Options) -> list[str]:
    thinking = options.thinking
    if thinking is None:
        return []
    given: Mapping[str, Any] = {"type": thinking} if isinstance(thinking, str) else thinking
    kind, budget = given.get("type"), given.get("budget_tokens")
    if kind == "enabled" and budget is not None:
        found = [f"--max-thinking-tokens={budget}"]
    elif kind in ("adaptive", "enabled", "disabled"):
        found = [f"--thinking={kind}"]
    else:
        raise OptionsError("thinking", f"{kind!r} is not one of adaptive, enabled, disabled")
    return [*found, f"--thinking-display={given['display']}"] if given.get("display") else found


def _prompt_channel(options: Options) -> list[str]:
    return ["--permission-prompt-tool=stdio"] if options.prompts_for_permission else []


def _prompt_file(options: Options) -> list[str]:
    prompt = options.system_prompt
    if isinstance(prompt, Mapping) and prompt.get("type") == "file":
        return [f"--system-prompt-file={_path_of('system_prompt', prompt)}"]
    return []


def _path_of(name: str, given: Any) -> str:
    path = cast("Mapping[str, Any]", given).get("path") if isinstance(given, Mapping) else given
    if not isinstance(path, str | os.PathLike):
        raise OptionsError(name, f"{given!r} needs a `path`")
    return _text(cast("str | os.PathLike[str]", path))


def _plugins(options: Options) -> list[str]:
    return [f"--plugin-dir={_path_of('plugins', plugin)}" for plugin in options.plugins]


def _named_files(options: Options) -> list[str]:
    found: list[str] = []
    if isinstance(options.mcp_servers, str | os.PathLike):
        found.append(f"--mcp-config={_text(options.mcp_servers)}")
    if isinstance(options.settings, str | os.PathLike) and _settings(options) is None:
        found.append(f"--settings={_text(options.settings)}")
    return found


def _rest(options: Options) -> list[str]:
    found = [] if options.persist_session else ["--no-session-persistence"]
    if options.session_store is not None:
        found.append("--session-mirror")
    if (budget := options.task_budget) is not None:
        found.append(f"--task-budget={budget['total'] if isinstance(budget, Mapping) else budget}")
    if options.managed_settings:  # the CLI accepts a policy as an argument or in the handshake, but not from a file
        found += ["--await-initialize", "--managed-settings-in-initialize"]
    if options.debug:
        found.append("--debug" if options.debug is True else f"--debug={options.debug}")
    return found


_PARTS: tuple[Callable[[Options], list[str]], ...] = (
    _setting_sources,
    _tools,
    _thinking,
    _prompt_channel,
    _prompt_file,
    _plugins,
    _named_files,
    _rest,
)


def _settings(options: Options) -> dict[str, Any] | None:
    """The settings as an object; None if unset or given as a path."""
    given = options.settings
    if isinstance(given, str) and given.lstrip().startswith("{"):
        try:
            given = cast("dict[str, Any]", json.loads(given))
        except ValueError as error:
            raise OptionsError("settings", f"not JSON: {error}") from None
    if options.sandbox is None:
        return dict(given) if isinstance(given, Mapping) else None
    if isinstance(given, str | os.PathLike):
        raise OptionsError("sandbox", "cannot be added to a settings file; give settings as a dict")
    return {**(given or {}), "sandbox": options.sandbox}


_PROMPT_SWITCHES = {"exclude_dynamic_sections": "excludeDynamicSections", "snapshot": "systemPromptSnapshot"}
"""Keys of a system prompt that become fields of `initialize`."""


def _prompt_fields(prompt: Mapping[str, Any]) -> dict[str, Any]:
    kind = prompt.get("type")
    if kind == "file":
        return {}
    if kind not in ("custom", "preset"):
        raise OptionsError("system_prompt", f"type {kind!r} is not one of preset, custom, file")
    fields: dict[str, Any] = {"systemPrompt": [prompt.get("prompt", "")]} if kind == "custom" else {}
    if kind == "preset" and prompt.get("append"):
        fields["appendSystemPrompt"] = prompt["append"]
    return fields | {wire: prompt[name] for name, wire in _PROMPT_SWITCHES.items() if prompt.get(name) is not None}


def _schema(output_format: Mapping[str, Any]) -> Any:
    if output_format.get("type") == "json_schema":
        if not isinstance(output_format.get("schema"), Mapping):
            raise OptionsError("output_format", 'type "json_schema" needs a `schema` object')
        return output_format["schema"]
    raise OptionsError("output_format", f'type {output_format.get("type")!r} is not "json_schema"')
