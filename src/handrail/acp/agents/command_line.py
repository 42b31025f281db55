"""Reads the command line of `handrail-acp`: the command of the agent, and the flags that hosts know from the CLI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from handrail.agent.arguments import Arguments, read_arguments
from handrail.agent.errors import Refused
from handrail.agent.flags import FLAGS

__all__ = ["no_command", "read_command_line"]

_USAGE: Final = (
    "error: name the ACP agent: handrail-acp -- COMMAND [ARGS]..., or set HANDRAIL_ACP_AGENT to a name that"
    " `handrail agents list` shows"
)
_ENDS: Final = frozenset("--output-format --input-format -p --print -v --version -h --help".split())
"""Flags of hosts that end the agent's command. Hosts append their flags to it, and send one of these first."""
_SUPPORTED: Final = frozenset(
    "prompt print input_format output_format verbose include_partial_messages replay_user_messages"
    " permission_prompt_tool permission_prompts permission_mode allowed_tools disallowed_tools add_dir skip_permissions"
    " may_skip_permissions model mcp_config strict_mcp_config settings setting_sources trust_folder managed_settings"
    " project_config_root resume resume_given continue_ fork_session session_id name no_session_persistence debug"
    " debug_file debug_to_stderr notices system_prompt append_system_prompt system_prompt_file"
    " append_system_prompt_file await_initialize".split()
)
"""Fields of Arguments with an effect here. Some need an ability of the agent, which is checked when it has started."""
_HARMLESS: Final[Mapping[str, Any]] = {"tools": ("default",), "workload": "", "thinking": "adaptive"}
"""Values of other fields that ask for nothing."""
_WHY: Final[Mapping[str, str]] = {
    "json_schema": "ACP lacks structured output",
    "include_hook_events": "hooks do not run in ACP agents",
    "session_mirror": "the agent stores its sessions itself",
    "rewind_files": "ACP lacks checkpoints of files",
    "resume_session_at": "ACP resumes whole sessions",
    "max_turns": "ACP lacks a limit of turns",
    "max_budget_usd": "ACP lacks a budget",
    "tools": "ACP agents choose their tools themselves; deny calls with --disallowedTools",
}
_OTHERWISE: Final = "ACP lacks such a setting"


def read_command_line(argv: Sequence[str]) -> tuple[list[str], Arguments]:
    """The agent's command, empty if none is named, and the flags. Raises Refused.

    The command is between the first `--` and the next one, or the first flag that begins those of a host.
    """
    command, flags = _split(list(argv))
    arguments = read_arguments(flags)
    for flag in FLAGS:
        if flag.field and flag.field not in _SUPPORTED and _asks(arguments, flag.field):
            why = _WHY.get(flag.field, _OTHERWISE)
            raise Refused(f"error: option '{flag.name}' is not supported by handrail-acp: {why}")
    if arguments.permission_prompt_tool not in ("", "stdio"):
        raise Refused("error: option '--permission-prompt-tool' must be stdio: handrail-acp calls no MCP tools itself")
    return command, arguments


def no_command() -> Refused:
    """The error for a command line that names no agent."""
    return Refused(_USAGE)


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in words:
        return [], words
    start = words.index("--")
    rest = words[start + 1 :]
    end = next((at for at, word in enumerate(rest) if word == "--" or word.partition("=")[0] in _ENDS), len(rest))
    after = rest[end + 1 :] if end < len(rest) and rest[end] == "--" else rest[end:]
    return rest[:end], [*words[:start], *after]


def _asks(arguments: Arguments, field: str) -> bool:
    """Whether a field has a value that asks for something."""
    value = getattr(arguments, field, None)
    return value not in (None, False, "", (), _HARMLESS.get(field))
