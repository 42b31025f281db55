"""The command line. In: argv. Out: Arguments, or Refused with the words and the exit code that hosts know.

One table: every flag is a row. `--flag value` and `--flag=value` mean the same; a list takes words up to the next flag.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import Struct

from handrail.agent.errors import Refused

__all__ = ["FLAGS", "MODES", "VERSION", "Arguments", "Flag", "quickly", "read_arguments"]

VERSION: Final = "2.1.325"
"""The version of the CLI whose wire is spoken; SDKs look at it before they start."""
MODES: Final = ("acceptEdits", "auto", "bypassPermissions", "manual", "dontAsk", "plan", "default")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class Arguments(Struct, frozen=True):
    """What the agent was asked for, one field a flag."""

    prompt: str | None = None
    print: bool = False
    input_format: str = "text"
    output_format: str = "text"
    verbose: bool = False
    include_partial_messages: bool = False
    include_hook_events: bool = False
    replay_user_messages: bool = False
    forward_subagent_text: bool = False
    permission_prompt_tool: str = ""
    permission_mode: str = ""
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    add_dir: tuple[str, ...] = ()
    skip_permissions: bool = False
    may_skip_permissions: bool = False
    model: str = ""
    fallback_model: str = ""
    effort: str = ""
    thinking: str = ""
    max_thinking_tokens: int | None = None
    max_turns: int | None = None
    max_budget_usd: float | None = None
    json_schema: str = ""
    betas: tuple[str, ...] = ()
    system_prompt: str | None = None
    append_system_prompt: str = ""
    system_prompt_file: str = ""
    append_system_prompt_file: str = ""
    agents: str = ""
    agent: str = ""
    mcp_config: tuple[str, ...] = ()
    strict_mcp_config: bool = False
    settings: str = ""
    setting_sources: str | None = None
    plugin_dir: tuple[str, ...] = ()
    disable_slash_commands: bool = False
    bare: bool = False
    resume: str | None = None
    resume_given: bool = False
    resume_session_at: str = ""
    rewind_files: str = ""
    continue_: bool = False
    fork_session: bool = False
    session_id: str = ""
    no_session_persistence: bool = False
    session_mirror: bool = False
    debug_to_stderr: bool = False
    name: str = ""
    version: bool = False
    help: bool = False

    @property
    def streams_input(self) -> bool:
        """Does the host write lines, rather than one prompt?"""
        return self.input_format == "stream-json"


def _names(text: str) -> list[str]:
    """Names parted by commas or blanks, but not within brackets: `Bash(a, b),Read`."""
    return re.findall(r"(?:[^\s,()]|\([^()]*(?:\([^()]*\)[^()]*)*\))+", text)


class Flag(Struct, frozen=True):
    names: str
    field: str
    kind: str = "value"
    """value, switch, list (words as they are), names (words split at commas), optional, int, float"""
    choices: tuple[str, ...] = ()
    help: str = ""


FLAGS: Final = (
    Flag("-p --print", "print", "switch", help="one prompt, one answer, exit"),
    Flag("--input-format", "input_format", choices=("text", "stream-json"), help="how prompts come"),
    Flag("--output-format", "output_format", choices=("text", "json", "stream-json"), help="how answers go"),
    Flag("--verbose", "verbose", "switch", help="every message, not only the result"),
    Flag("--include-partial-messages", "include_partial_messages", "switch", help="also the pieces as they come"),
    Flag("--include-hook-events", "include_hook_events", "switch"),
    Flag("--replay-user-messages", "replay_user_messages", "switch", help="echo prompts when they are taken up"),
    Flag("--forward-subagent-text", "forward_subagent_text", "switch"),
    Flag("--permission-prompt-tool", "permission_prompt_tool", help="stdio, or an MCP tool that decides"),
    Flag("--permission-mode", "permission_mode", choices=MODES, help="what runs unasked"),
    Flag("--allowedTools --allowed-tools", "allowed_tools", "names", help='such as "Bash(git:*) Edit"'),
    Flag("--disallowedTools --disallowed-tools", "disallowed_tools", "names"),
    Flag("--tools", "tools", "names", help='which tools there are: "", "default", or names'),
    Flag("--add-dir", "add_dir", "list", help="more folders to work in"),
    Flag("--dangerously-skip-permissions", "skip_permissions", "switch"),
    Flag("--allow-dangerously-skip-permissions", "may_skip_permissions", "switch"),
    Flag("--model", "model", help="a model or an alias such as sonnet"),
    Flag("--fallback-model", "fallback_model", help="what to use when the model is overloaded"),
    Flag("--effort", "effort", choices=("low", "medium", "high", "xhigh", "max")),
    Flag("--thinking", "thinking", choices=("adaptive", "enabled", "disabled")),
    Flag("--thinking-display", "thinking_display"),
    Flag("--max-thinking-tokens", "max_thinking_tokens", "int"),
    Flag("--max-turns", "max_turns", "int"),
    Flag("--max-budget-usd", "max_budget_usd", "float"),
    Flag("--task-budget", "task_budget", "int"),
    Flag("--json-schema", "json_schema", help="the answer must fit this schema"),
    Flag("--betas", "betas", "names"),
    Flag("--system-prompt", "system_prompt"),
    Flag("--system-prompt-file", "system_prompt_file"),
    Flag("--append-system-prompt", "append_system_prompt"),
    Flag("--append-system-prompt-file", "append_system_prompt_file"),
    Flag("--agents", "agents", help="agents as JSON"),
    Flag("--agent", "agent"),
    Flag("--mcp-config", "mcp_config", "list", help="MCP servers: files or JSON"),
    Flag("--strict-mcp-config", "strict_mcp_config", "switch"),
    Flag("--settings", "settings", help="a file or JSON"),
    Flag("--setting-sources", "setting_sources"),
    Flag("--plugin-dir", "plugin_dir", "list"),
    Flag("--disable-slash-commands", "disable_slash_commands", "switch"),
    Flag("--bare", "bare", "switch"),
    Flag("-r --resume", "resume", "optional", help="go on with a session"),
    Flag("--resume-session-at", "resume_session_at"),
    Flag("-c --continue", "continue_", "switch", help="go on with the latest session here"),
    Flag("--fork-session", "fork_session", "switch"),
    Flag("--session-id", "session_id"),
    Flag("--from-pr", "from_pr", "optional"),
    Flag("-n --name", "name"),
    Flag("--no-session-persistence", "no_session_persistence", "switch"),
    Flag("--await-initialize", "await_initialize", "switch"),
    Flag("--rewind-files", "rewind_files"),
    Flag("--session-mirror", "session_mirror", "switch"),
    Flag("--managed-settings", "managed_settings"),
    Flag("--prompt-suggestions", "prompt_suggestions", "optional"),
    Flag("--debug -d", "debug", "optional"),
    Flag("--debug-file", "debug_file"),
    Flag("--debug-to-stderr", "debug_to_stderr", "switch"),
    Flag("--exclude-dynamic-system-prompt-sections", "exclude_dynamic", "switch"),
    Flag("--no-chrome", "no_chrome", "switch"),
    Flag("--chrome", "chrome", "switch"),
    Flag("--ide", "ide", "switch"),
    Flag("--file", "file", "list"),
    Flag("--workload", "workload"),
    Flag("-v --version", "version", "switch", help="print the version"),
    Flag("-h --help", "help", "switch", help="print this"),
)


def read_arguments(argv: Sequence[str]) -> Arguments:
    """Read the command line. In: what follows the program's name. Out: Arguments that fit together."""
    words = _separated(argv)
    found = quickly(words)
    if found is None:
        from handrail.agent.argument_parser import parser

        found = vars(parser().parse_args(words))
    fields: dict[str, Any] = {}
    for flag in FLAGS:
        if flag.field in Arguments.__struct_fields__ and found.get(flag.field) is not None:
            convert = _CONVERT.get(flag.kind)
            fields[flag.field] = convert(found[flag.field]) if convert else found[flag.field]
    fields["resume_given"] = found.get("resume") is not None
    fields["prompt"] = " ".join(found["words"]) if found["words"] else None
    if fields.get("version") or fields.get("help"):
        print(_help() if fields.get("help") else f"{VERSION} (Handrail)")
        raise SystemExit(0)
    return _checked(Arguments(**fields))


_CONVERT: Final[dict[str, Callable[[Any], Any]]] = {
    "list": tuple,
    "names": lambda words: tuple(name for word in words for name in _names(word)),
}


def _help() -> str:
    from handrail.agent.argument_parser import parser

    return parser().format_help()


_BY_NAME: Final = {name: flag for flag in FLAGS for name in flag.names.split()}


def quickly(words: Sequence[str]) -> dict[str, Any] | None:
    """Flags with their values, as hosts send them. Out: None where there is more to it, and argparse must look."""
    found: dict[str, Any] = {"words": []}
    rest = deque(words)
    while rest:
        name, equals, value = rest.popleft().partition("=")
        flag = _BY_NAME.get(name)
        if flag is None or (equals and (flag.kind == "switch" or not name.startswith("--"))):
            return None
        given = [value] if equals else _values(flag, rest)
        if flag.kind == "switch":
            found[flag.field] = True
        elif flag.kind in ("list", "names") and given:
            found[flag.field] = [*found.get(flag.field, ()), *given]
        elif flag.kind == "optional":
            found[flag.field] = given[0] if given else ""
        elif flag.kind == "value" and given and (not flag.choices or given[0] in flag.choices):
            found[flag.field] = given[0]
        elif flag.kind == "int" and given and re.fullmatch("[0-9]+", given[0]):
            found[flag.field] = int(given[0])
        else:
            return None
    return found


def _values(flag: Flag, rest: deque[str]) -> list[str]:
    """The words that belong to a flag."""
    most = {"switch": 0, "list": len(rest), "names": len(rest)}.get(flag.kind, 1)
    values: list[str] = []
    while rest and len(values) < most and not rest[0].startswith("-"):
        values.append(rest.popleft())
    return values


_TAKES_TEXT: Final = frozenset(
    name for flag in FLAGS if flag.kind in ("value", "int", "float") for name in flag.names.split()
)


def _separated(argv: Sequence[str]) -> list[str]:
    """Give a value that begins with a dash to the flag before it."""
    words: list[str] = []
    for given in argv:
        word = os.fsencode(given).decode("utf-8", "replace")  # no line could carry bytes that are no UTF-8
        if words and words[-1] in _TAKES_TEXT and word.startswith("-"):
            words[-1] = f"{words[-1]}={word}"
        else:
            words.append(word)
    return words


def _checked(arguments: Arguments) -> Arguments:
    """What cannot go together is refused."""
    if arguments.output_format == "stream-json" and not arguments.verbose:
        raise Refused("Error: When using --print, --output-format=stream-json requires --verbose")
    if arguments.streams_input and arguments.output_format != "stream-json":
        raise Refused("Error: --input-format=stream-json requires output-format=stream-json.")
    if arguments.session_id and not _UUID.fullmatch(arguments.session_id):
        raise Refused("Error: Invalid session ID. Must be a valid UUID.")
    resumes = arguments.resume_given or arguments.continue_
    if arguments.session_id and resumes and not arguments.fork_session:
        raise Refused(
            "Error: --session-id can only be used with --continue or --resume if --fork-session is also specified."
        )
    if arguments.resume_given and not arguments.resume:
        raise Refused("Error: --resume needs a session id. `handrail sessions list` shows those of this machine.")
    if arguments.fallback_model and arguments.fallback_model == arguments.model:
        raise Refused("Error: Fallback model cannot be the same as the main model.")
    for flag, number in (("--max-turns", arguments.max_turns), ("--max-budget-usd", arguments.max_budget_usd)):
        if number is not None and not number > 0:
            raise Refused(f"Error: {flag} must be a number greater than 0.")
    return arguments
