"""Reads the command line into Arguments.

Every flag is a row of `flags.FLAGS`. `--flag value` and `--flag=value` mean the same; a list takes all words up to the
next flag. Invalid and unsupported flags raise Refused with the texts and the exit code that hosts know from the CLI.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import Struct

from handrail.agent.errors import Refused
from handrail.agent.flags import EFFORTS, FLAGS, SUBCOMMANDS, Flag
from handrail.permissions.rules.rule import split_rules

__all__ = ["VERSION", "Arguments", "is_subcommand", "quickly", "read_arguments"]

VERSION: Final = "2.1.325"
"""The CLI version whose protocol the agent speaks; SDKs check it before they start."""
_UUID: Final = r"(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


class Arguments(Struct, frozen=True):
    """The values of the flags, one field each. `notices` are lines for stderr about ignored flags."""

    prompt: str | None = None
    print: bool = False
    input_format: str = "text"
    output_format: str = "text"
    verbose: bool = False
    include_partial_messages: bool = False
    include_hook_events: bool = False
    replay_user_messages: bool = False
    forward_subagent_text: bool = False
    await_initialize: bool = False
    prompt_suggestions: str | None = None
    permission_prompt_tool: str = ""
    permission_prompts: str = ""
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
    thinking_display: str = ""
    max_thinking_tokens: int | None = None
    max_turns: int | None = None
    max_budget_usd: float | None = None
    task_budget: int | None = None
    json_schema: str = ""
    betas: tuple[str, ...] = ()
    workload: str = ""
    system_prompt: str | None = None
    append_system_prompt: str = ""
    system_prompt_file: str = ""
    append_system_prompt_file: str = ""
    exclude_dynamic: bool = False
    agents: str = ""
    agent: str = ""
    mcp_config: tuple[str, ...] = ()
    strict_mcp_config: bool = False
    settings: str = ""
    setting_sources: str | None = None
    trust_folder: bool = False
    managed_settings: str = ""
    managed_settings_in_initialize: bool = False
    project_config_root: str = ""
    plugin_dir: tuple[str, ...] = ()
    plugin_dir_no_mcp: tuple[str, ...] = ()
    disable_slash_commands: bool = False
    bare: bool = False
    resume: str | None = None
    resume_given: bool = False
    resume_session_at: str = ""
    resume_drops_turn: str | None = None
    rewind_files: str = ""
    continue_: bool = False
    fork_session: bool = False
    session_id: str = ""
    from_pr: str | None = None
    no_session_persistence: bool = False
    session_mirror: bool = False
    file: tuple[str, ...] = ()
    debug: str | None = None
    debug_file: str = ""
    debug_to_stderr: bool = False
    name: str = ""
    version: bool = False
    help: bool = False
    notices: tuple[str, ...] = ()

    @property
    def streams_input(self) -> bool:
        """Whether the host writes lines, rather than one prompt."""
        return self.input_format == "stream-json"

    @property
    def fallback_models(self) -> tuple[str, ...]:
        """The models of --fallback-model, in order, as they were named."""
        return tuple(name.strip() for name in self.fallback_model.split(",") if name.strip())

    @property
    def setting_source_names(self) -> tuple[str, ...] | None:
        """The sources of --setting-sources; None without the flag."""
        return None if self.setting_sources is None else tuple(map(str.strip, self.setting_sources.split(",")))


def is_subcommand(argv: Sequence[str]) -> bool:
    """Whether the words are a sub-command such as `mcp list`. With --print they are a prompt, as in the CLI."""
    return bool(argv) and argv[0] in SUBCOMMANDS and not {"-p", "--print"} & set(argv)


def read_arguments(argv: Sequence[str]) -> Arguments:
    """Read the words after the program's name. Raises Refused; --version and --help print and exit."""
    words = _separated(argv)
    found = quickly(words)
    if found is None:
        from handrail.agent.argument_parser import parser

        found = vars(parser().parse_args(words))
    if found.get("help") or found.get("version"):
        print(_help() if found.get("help") else f"{VERSION} (Handrail)")
        raise SystemExit(0)
    fields: dict[str, Any] = {}
    notices: list[str] = []
    for flag in FLAGS:
        value = found.get(flag.dest)
        if value is None:
            continue
        if flag.state == "refused":
            raise Refused(f"error: option '{flag.name}' is not supported by handrail-agent: {flag.why}")
        if flag.state == "notice" and value != "false":
            notices.append(f"handrail-agent: {flag.name} is ignored: {flag.why}")
        elif flag.field in Arguments.__struct_fields__:
            convert = _CONVERT.get(flag.kind)
            fields[flag.field] = convert(value) if convert else value
    notices += _notices(fields)
    fields["resume_given"] = found.get("resume") is not None
    if fields.get("max_turns", 1) <= 0:  # no limit, as in the CLI
        del fields["max_turns"]
    fields["prompt"] = " ".join(found["words"]) if found["words"] else None
    if found["words"] and found["words"][0] in SUBCOMMANDS and not fields.get("print"):
        raise Refused(f"error: options must follow the sub-command: handrail-agent {found['words'][0]} ...")
    return _checked(Arguments(**fields, notices=tuple(notices)))


def _notices(fields: dict[str, Any]) -> list[str]:
    """Lines about values that have no effect. They are taken out of the fields where they are invalid."""
    found: list[str] = []
    if (effort := fields.get("effort")) and effort not in EFFORTS:
        found.append(f"Warning: --effort {effort!r:.60} is unknown and was ignored; choose from {', '.join(EFFORTS)}")
        del fields["effort"]
    model = fields.get("model")
    if model and model in [name.strip() for name in str(fields.get("fallback_model", "")).split(",")]:
        found.append(f"handrail-agent: --fallback-model {model} has no effect: it is the main model")
    return found


_CONVERT: Final[dict[str, Callable[[Any], Any]]] = {
    "list": tuple,
    "names": lambda words: tuple(name for word in words for name in split_rules(word)),
}


def _help() -> str:
    from handrail.agent.argument_parser import parser

    return parser().format_help()


_BY_NAME: Final = {name: flag for flag in FLAGS for name in flag.names.split()}


def quickly(words: Sequence[str]) -> dict[str, Any] | None:
    """Read flags in the form that hosts send; None if the words need argparse, which takes long to load."""
    found: dict[str, Any] = {"words": []}
    rest = deque(words)
    while rest:
        name, equals, value = rest.popleft().partition("=")
        flag = _BY_NAME.get(name)
        if flag is None or (equals and (flag.kind == "switch" or not name.startswith("--"))):
            return None
        given = [value] if equals else _values(flag, rest)
        if flag.kind == "switch":
            found[flag.dest] = True
        elif flag.kind in ("list", "names") and given:
            found[flag.dest] = [*found.get(flag.dest, ()), *given]
        elif flag.kind == "optional":
            found[flag.dest] = given[0] if given else ""
        elif flag.kind == "value" and given and (not flag.choices or given[0] in flag.choices):
            found[flag.dest] = given[0]
        elif flag.kind == "int" and given and re.fullmatch("[0-9]+", given[0]):
            found[flag.dest] = int(given[0])
        else:
            return None
    return found


def _values(flag: Flag, rest: deque[str]) -> list[str]:
    """Take the words that belong to a flag."""
    most = {"switch": 0, "list": len(rest), "names": len(rest)}.get(flag.kind, 1)
    values: list[str] = []
    while rest and len(values) < most and not rest[0].startswith("-"):
        values.append(rest.popleft())
    return values


_TAKES_TEXT: Final = frozenset(
    name for flag in FLAGS if flag.kind in ("value", "int", "float") for name in flag.names.split()
)


def _separated(argv: Sequence[str]) -> list[str]:
    """Join a value that begins with a dash to the flag before it."""
    words: list[str] = []
    for given in argv:
        word = os.fsencode(given).decode("utf-8", "replace")  # lines and requests carry only UTF-8
        if words and words[-1] in _TAKES_TEXT and word.startswith("-"):
            words[-1] = f"{words[-1]}={word}"
        else:
            words.append(word)
    return words


def _checked(arguments: Arguments) -> Arguments:
    """Refuse values and combinations that make no sense."""
    if arguments.output_format == "stream-json" and not arguments.verbose:
        raise Refused("Error: When using --print, --output-format=stream-json requires --verbose")
    if arguments.streams_input and arguments.output_format != "stream-json":
        raise Refused("Error: --input-format=stream-json requires output-format=stream-json.")
    if not arguments.streams_input:
        _check_one_shot(arguments)
    _check_session(arguments)
    if unknown := (set(arguments.setting_source_names or ()) - {"user", "project", "local", ""}):
        raise Refused(
            f"Error processing --setting-sources: Invalid setting source: {min(unknown)}. Valid options are: user,"
            " project, local"
        )
    if (budget := arguments.max_budget_usd) is not None and not budget > 0:
        raise Refused("Error: --max-budget-usd must be a number greater than 0.")
    if (tokens := arguments.task_budget) is not None and tokens <= 0:
        raise Refused(f"error: option '--task-budget' argument '{tokens}' is invalid. must be a positive integer")
    return arguments


def _check_one_shot(arguments: Arguments) -> None:
    """Refuse flags that only make sense for a host that writes lines."""
    if arguments.replay_user_messages:
        raise Refused(
            "Error: --replay-user-messages requires both --input-format=stream-json and --output-format=stream-json."
        )
    if arguments.include_partial_messages and arguments.output_format != "stream-json":
        raise Refused("Error: --include-partial-messages requires --print and --output-format=stream-json.")
    for flag, given in (
        ("--await-initialize", arguments.await_initialize),
        ("--managed-settings-in-initialize", arguments.managed_settings_in_initialize),
    ):
        if given:
            raise Refused(f"Error: {flag} requires --input-format=stream-json.")


def _check_session(arguments: Arguments) -> None:
    """Refuse combinations of the flags that choose the session."""
    if arguments.session_id and not re.fullmatch(_UUID, arguments.session_id):
        raise Refused("Error: Invalid session ID. Must be a valid UUID.")
    resumes = arguments.resume_given or arguments.continue_
    if arguments.session_id and resumes and not arguments.fork_session:
        raise Refused(
            "Error: --session-id can only be used with --continue or --resume if --fork-session is also specified."
        )
    if arguments.resume_drops_turn is not None and not arguments.resume_session_at:
        raise Refused("Error: --resume-drops-turn requires --resume-session-at")
    if arguments.resume_given and not arguments.resume:
        raise Refused("Error: --resume needs a session id. `handrail sessions list` shows those of this machine.")
    if arguments.resume_session_at and not resumes:
        raise Refused("Error: --resume-session-at requires --resume")
