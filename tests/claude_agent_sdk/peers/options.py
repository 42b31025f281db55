"""What reaches the CLI from each option of a package: `python options.py claude_agent_sdk`.

A recording CLI is started with each case. Where the two SDKs take different ways with the same effect (a flag or a
field of the handshake, text or a file), both are written as the same thing.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ID = "00000000-0000-4000-8000-000000000001"
PRESET = {"type": "preset", "preset": "claude_code"}
OWN = ("CLAUDE", "GIVEN", "PWD")
"""The beginnings of the variables that options set."""
NOT_COMPARED = ("uuid", "request_id")


def cases(sdk: Any) -> dict[str, dict[str, Any]]:
    async def can_use_tool(*_: Any) -> Any:
        return sdk.PermissionResultAllow()

    async def hook(*_: Any) -> Any:
        return {}

    @sdk.tool("add", "Add", {"a": int})
    async def add(_: Any) -> Any:
        return {"content": []}

    blocking = sdk.HookMatcher(matcher="Bash", hooks=[hook, hook], timeout=5, on_failure="block")
    agent = sdk.AgentDefinition(
        description="d", prompt="p", tools=["Read"], effort=3, background=False, mcpServers=["x"]
    )
    Path("settings.json").write_text('{"a": 1, "sandbox": {"enabled": false}}')
    return {
        "nothing": {},
        "tools": {"tools": ["Read", "Bash"]},
        "no tools": {"tools": []},
        "preset of tools": {"tools": PRESET},
        "allowed_tools": {"allowed_tools": ["Read", "Bash(ls:*)"]},
        "disallowed_tools": {"disallowed_tools": ["Bash", "WebFetch"]},
        "system_prompt": {"system_prompt": "You are short"},
        "preset of the system prompt": {"system_prompt": PRESET},
        "addition to the system prompt": {"system_prompt": {**PRESET, "append": "more", "snapshot": True}},
        "static system prompt": {"system_prompt": {**PRESET, "exclude_dynamic_sections": True}},
        "dynamic system prompt": {"system_prompt": {**PRESET, "exclude_dynamic_sections": False, "snapshot": False}},
        "custom system prompt": {"system_prompt": {"type": "custom", "prompt": "own", "snapshot": True}},
        "file of the system prompt": {"system_prompt": {"type": "file", "path": "/prompt.md"}},
        "mcp_servers": {
            "mcp_servers": {"a": {"command": "x", "args": ["y"]}, "h": {"type": "http", "url": "http://h"}}
        },
        "server in this process": {"mcp_servers": {"s": sdk.create_sdk_mcp_server("s", tools=[add])}},
        "path of mcp_servers": {"mcp_servers": Path("/servers.json")},
        "text of mcp_servers": {"mcp_servers": '{"mcpServers": {}}'},
        "strict_mcp_config": {"strict_mcp_config": True},
        "permission_mode": {"permission_mode": "plan"},
        "permission_prompt_tool_name": {"permission_prompt_tool_name": "mcp__a__b"},
        "continue_conversation": {"continue_conversation": True},
        "resume": {"resume": ID},
        "session_id": {"session_id": ID},
        "fork_session": {"fork_session": True, "resume": ID},
        "resume_session_at": {"resume_session_at": ID, "resume": ID},
        "resume_drops_turn": {"resume_drops_turn": ""},
        "max_turns": {"max_turns": 3},
        "max_budget_usd": {"max_budget_usd": 1.5},
        "task_budget": {"task_budget": {"total": 9}},
        "model": {"model": "m", "fallback_model": "f"},
        "betas": {"betas": ["context-1m-2025-08-07"]},
        "cwd": {"cwd": os.getcwd()},
        "settings": {"settings": "settings.json"},
        "text of settings": {"settings": '{"b": 2}'},
        "sandbox": {"sandbox": {"enabled": True}},
        "sandbox and settings": {"sandbox": {"enabled": True}, "settings": "settings.json"},
        "sandbox and text of settings": {"sandbox": {"enabled": True}, "settings": '{"b": 2}'},
        "add_dirs": {"add_dirs": ["/tmp", Path("/")]},
        "env": {"env": {"GIVEN": "1", "CLAUDE_CODE_ENTRYPOINT": "mine", "CLAUDE_AGENT_SDK_VERSION": "9"}},
        "own reading of the state": {"env": {"Claude_Code_SDK_Reads_Session_State": "0"}},
        "extra_args": {"extra_args": {"debug-to-stderr": None, "x": "y", "z": "-v"}},
        "can_use_tool": {"can_use_tool": can_use_tool},
        "hooks": {"hooks": {"PreToolUse": [blocking], "Stop": [sdk.HookMatcher(hooks=[hook])]}},
        "include_partial_messages": {"include_partial_messages": True},
        "include_hook_events": {"include_hook_events": True},
        "forward_subagent_text": {"forward_subagent_text": True},
        "verbatim_prompts": {"verbatim_prompts": True},
        "agents": {"agents": {"r": agent}},
        "setting_sources": {"setting_sources": ["user", "local"]},
        "no setting_sources": {"setting_sources": []},
        "skills": {"skills": ["a", "b"]},
        "all skills": {"skills": "all"},
        "no skills": {"skills": []},
        "skills and more": {"skills": ["a"], "setting_sources": ["local"], "allowed_tools": ["Read"]},
        "plugins": {"plugins": [{"type": "local", "path": "/plugin"}]},
        "max_thinking_tokens": {"max_thinking_tokens": 100},
        "no max_thinking_tokens": {"max_thinking_tokens": 0},
        "adaptive thinking": {"thinking": {"type": "adaptive", "display": "summarized"}},
        "thinking": {"thinking": {"type": "enabled", "budget_tokens": 7}, "max_thinking_tokens": 3},
        "no thinking": {"thinking": {"type": "disabled"}},
        "effort": {"effort": "xhigh"},
        "output_format": {"output_format": {"type": "json_schema", "schema": {"type": "object"}}},
        "enable_file_checkpointing": {"enable_file_checkpointing": True},
        "client_app": {"client_app": "app/1"},
        "allowed before the callback": {"can_use_tool": can_use_tool, "allowed_tools": ["Bash", "Read(x)"]},
        "all allowed before the callback": {"can_use_tool": can_use_tool, "permission_mode": "bypassPermissions"},
        "narrow rule and callback": {"can_use_tool": can_use_tool, "allowed_tools": ["Read(x)"]},
        "two permission prompts": {"can_use_tool": can_use_tool, "permission_prompt_tool_name": "x"},
        "unknown plugin": {"plugins": [{"type": "git", "path": "/plugin"}]},
    }


def effects(record: dict[str, Any]) -> dict[str, Any]:
    """What the CLI makes of flags, handshake and prompt."""
    flags, (handshake, *prompts) = record["flags"], record["lines"]
    request = {name: value for name, value in handshake["request"].items() if value is not None}
    prompt = request.pop("systemPrompt", None)
    found: dict[str, Any] = {
        "system prompt": prompt[0] if prompt else flags.pop("--system-prompt", [None])[0],
        "addition": request.pop("appendSystemPrompt", None) or flags.pop("--append-system-prompt", [None])[0],
        "schema": request.pop("jsonSchema", None) or _json(flags.pop("--json-schema", [None])[0]),
        "sources": flags.pop("--setting-sources", ["user,project,local"])[0],
        "settings": _json(flags.pop("--settings", [None])[0]),
        "servers": _json(flags.pop("--mcp-config", [None])[0]),
    }
    # One SDK lists the servers of this process among the others, the other in the handshake.
    listed = found["servers"]["mcpServers"] if isinstance(found["servers"], dict) else {}
    inside = [name for name, server in listed.items() if server.get("type") == "sdk"]
    found["servers in this process"] = request.pop("sdkMcpServers", inside)
    if inside:
        found["servers"] = None
    lines = [{name: value for name, value in line.items() if name not in NOT_COMPARED} for line in prompts]
    env = {name: value for name, value in record["env"].items() if name.startswith(OWN)}
    return {**found, "flags": flags, "handshake": request, "prompts": lines, "env": env}


def _json(text: str | None) -> Any:
    """The value of JSON text; other text is a path."""
    return json.loads(text) if text and text.startswith("{") else text


async def run(sdk: Any, cli: str, record: Path, given: dict[str, Any]) -> list[str]:
    """Run one case and return the types of its messages."""
    options = {**given, "env": {**given.get("env", {}), "RECORD": str(record)}, "cli_path": cli}
    return [type(m).__name__ async for m in sdk.query(prompt="go", options=sdk.ClaudeAgentOptions(**options))]


def recording_cli() -> str:
    """An executable that starts fast."""
    path = Path.cwd() / "recording-cli"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{HERE / "recording_cli.py"}" "$@"\n')
    path.chmod(0o700)
    return str(path)


def main(package: str) -> dict[str, Any]:
    os.environ.pop("PWD", None)
    sdk = importlib.import_module(package)
    cli = recording_cli()
    found: dict[str, Any] = {}
    for number, (name, given) in enumerate(cases(sdk).items()):
        record = Path.cwd() / f"{number}.json"
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                kinds = asyncio.run(run(sdk, cli, record, given))
            except ValueError:
                found[name] = {"raised": "ValueError"}
                continue
        categories = [warning.category.__name__ for warning in warned]
        found[name] = {"messages": kinds, "warnings": categories, **effects(json.loads(record.read_text()))}
    return json.loads(json.dumps(found).replace(os.getcwd(), "FOLDER"))


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1]), indent=1, sort_keys=True))
