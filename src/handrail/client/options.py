"""The options of a session.

Names are those of the official Python SDK where it has the same option, else those of the TypeScript SDK in snake_case,
else the flag of the CLI. `command_line.py` maps them to flags, files and handshake fields.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, cast

import msgspec

from handrail.client.errors import OptionsError
from handrail.client.inbox import DEFAULT_LIMIT as INBOX_LIMIT
from handrail.client.inbox import Policy
from handrail.client.type_checks import has_type, type_in_words
from handrail.protocol.lines import DEFAULT_LIMIT as LINE_LIMIT
from handrail.session_store.base import SessionStore, SessionStoreFlushMode, implements

__all__ = ["Options"]

PathLike = str | os.PathLike[str]
SettingSource = Literal["user", "project", "local"]

PERMISSION_MODES = ("default", "manual", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto", "delegate")
EFFORTS = ("low", "medium", "high", "xhigh", "max")
CHOICES: Mapping[str, tuple[str, ...]] = {
    "permission_mode": PERMISSION_MODES,
    "effort": EFFORTS,
    "permission_prompts": ("host", "none"),
    "inbox_policy": ("spill", "drop_partials", "fail"),
    "thinking_display": ("summarized", "omitted"),
    "session_store_flush": ("batched", "eager"),
}
POSITIVE = (
    "max_turns",
    "max_budget_usd",
    "initialize_timeout",
    "control_timeout",
    "max_buffer_size",
    "inbox_limit",
    "session_store_load_timeout",
    "session_store_append_timeout",
)
NOT_NEGATIVE = ("max_thinking_tokens", "eof_grace", "term_grace", "user")
LISTS = ("add_dirs", "allowed_tools", "disallowed_tools", "betas", "plugins", "files", "setting_sources")


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a session, validated on creation; docs/guides/options.md describes each field."""

    # The CLI and where it runs
    cli_path: PathLike | None = None
    cwd: PathLike | None = None
    env: Mapping[str, str] = {}
    inherit_env: bool = False
    user: str | int | None = None
    client_app: str | None = None
    project_config_root: PathLike | None = None
    extra_args: Mapping[str, str | None] = {}

    # Model and prompt
    model: str | None = None
    fallback_model: str | None = None
    system_prompt: str | Sequence[str] | Mapping[str, Any] | None = None
    append_system_prompt: str | None = None
    effort: str | int | None = None
    max_thinking_tokens: int | None = None
    thinking: Mapping[str, Any] | Literal["adaptive", "enabled", "disabled"] | None = None
    thinking_display: str | None = None
    betas: Sequence[str] = ()
    output_format: Mapping[str, Any] | None = None
    plan_mode_instructions: str | None = None
    verbatim_prompts: bool = False

    # Tools and permissions
    tools: Sequence[str] | Mapping[str, Any] | None = None
    allowed_tools: Sequence[str] = ()
    disallowed_tools: Sequence[str] = ()
    permission_mode: str | None = None
    permission_prompt_tool_name: str | None = None
    permission_prompts: Literal["host", "none"] | None = None
    allow_dangerously_skip_permissions: bool = False
    dangerously_skip_permissions: bool = False
    can_use_tool: Callable[..., Any] | None = None
    answer_questions: Callable[..., Any] | None = None
    approve_plan: Callable[..., Any] | None = None
    on_elicitation: Callable[..., Any] | None = None
    on_user_dialog: Callable[..., Any] | None = None
    supported_dialog_kinds: Sequence[str] = ()
    question_preview_format: str | None = None
    hooks: Mapping[str, Sequence[Any]] = {}
    sandbox: Mapping[str, Any] | None = None
    tool_aliases: Mapping[str, str] | None = None
    add_dirs: Sequence[PathLike] = ()

    # MCP servers, agents, skills, plugins
    mcp_servers: Mapping[str, Any] | Sequence[Any] | PathLike = {}
    strict_mcp_config: bool = False
    agents: Mapping[str, Any] | None = None
    agent: str | None = None
    skills: Sequence[str] | Literal["all"] | None = None
    plugins: Sequence[Any] = ()
    disable_slash_commands: bool = False

    # Which conversation
    resume: str | None = None
    resume_session_at: str | None = None
    resume_drops_turn: str | None = None
    continue_conversation: bool = False
    fork_session: bool = False
    session_id: str | None = None
    from_pr: str | None = None
    persist_session: bool = True
    session_store: SessionStore | None = None
    session_store_flush: SessionStoreFlushMode = "batched"
    session_store_load_timeout: float = 60.0
    session_store_append_timeout: float = 60.0
    title: str | None = None

    # Limits
    max_turns: int | None = None
    max_budget_usd: float | None = None
    task_budget: int | Mapping[str, int] | None = None

    # Settings files
    setting_sources: Sequence[SettingSource] = ()
    settings: PathLike | Mapping[str, Any] | None = None
    managed_settings: Mapping[str, Any] | None = None

    # Output
    include_partial_messages: bool = False
    include_hook_events: bool = False
    replay_user_messages: bool = False
    forward_subagent_text: bool = False
    prompt_suggestions: bool = False
    agent_progress_summaries: bool = False
    per_task_stop_affordance: bool = False
    session_state_events: bool = False
    enable_file_checkpointing: bool = False
    exclude_dynamic_sections: bool = False
    bare: bool = False
    debug: bool | str = False
    debug_file: PathLike | None = None
    files: Sequence[str] = ()
    stderr: Callable[[str], Any] | None = None

    # Handrail itself
    wait_until_ready: bool = True
    initialize_timeout: float | None = None
    control_timeout: float = 60.0
    eof_grace: float = 5.0
    term_grace: float = 5.0
    max_buffer_size: int = LINE_LIMIT
    inbox_limit: int = INBOX_LIMIT
    inbox_policy: Policy = "spill"
    record: PathLike | None = None

    def __post_init__(self) -> None:
        for check in _CHECKS:
            check(self)

    def replace(self, **changes: Any) -> Options:
        """A copy with some options changed."""
        return msgspec.structs.replace(self, **changes)

    @property
    def prompts_for_permission(self) -> bool:
        """Whether a callback answers permission prompts."""
        return any(callback is not None for callback in (self.can_use_tool, self.answer_questions, self.approve_plan))


def _check_choices(options: Options) -> None:
    for name, allowed in CHOICES.items():
        value = getattr(options, name)
        if isinstance(value, str) and value not in allowed:
            raise OptionsError(name, f"{value!r} is not one of {', '.join(allowed)}")


def _check_numbers(options: Options) -> None:
    for name in POSITIVE:
        value = getattr(options, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or value <= 0):
            raise OptionsError(name, f"{value!r} is not a positive number")
    for name in NOT_NEGATIVE:
        value = getattr(options, name)
        if isinstance(value, int | float) and value < 0:
            raise OptionsError(name, f"{value!r} is less than 0")
    budget = options.task_budget.get("total") if isinstance(options.task_budget, Mapping) else options.task_budget
    if options.task_budget is not None and (type(budget) is not int or budget <= 0):
        raise OptionsError("task_budget", f'{options.task_budget!r} is neither a positive number nor {{"total": N}}')


def _check_lists(options: Options) -> None:
    for name in LISTS:
        value = getattr(options, name)
        if isinstance(value, str | bytes) or not isinstance(value, Sequence):
            raise OptionsError(name, f"{value!r} is not a list; write [{value!r}]")
    for source in options.setting_sources:
        if source not in ("user", "project", "local"):
            raise OptionsError("setting_sources", f"{source!r} is not one of user, project, local")


def _check_rules(options: Options) -> None:
    """The CLI splits these lists at commas and spaces, so an item must not contain a separator."""
    for name in ("allowed_tools", "disallowed_tools"):
        for rule in getattr(options, name):
            if not isinstance(rule, str) or not _is_one_rule(rule):
                raise OptionsError(name, f"{rule!r} is not one rule; write Tool or Tool(content)")
    for name, items in (("tools", options.tools), ("betas", options.betas)):
        for item in () if items is None or isinstance(items, Mapping) else items:
            if not item or any(letter in item for letter in ", \n"):
                raise OptionsError(name, f"{item!r} is not one name; make each name an item of the list")
    for skill in () if options.skills in (None, "all") else options.skills:
        if not (skill and all(letter.isalnum() or letter in "-_:./" for letter in skill)):
            raise OptionsError("skills", f"{skill!r} is not a skill's name")


def _is_one_rule(rule: str) -> bool:
    tool, bracket, content = rule.partition("(")
    if not tool or not all(letter.isalnum() or letter in "-_*" for letter in tool):
        return False
    depth = 1
    for position, letter in enumerate(content, start=1):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            return position == len(content) and "\n" not in rule
    return not bracket


def _check_text(options: Options) -> None:
    for name in ("model", "fallback_model", "resume", "session_id", "agent", "title", "from_pr", "resume_session_at"):
        value = getattr(options, name)
        if value is not None and (not value or "\n" in value):
            raise OptionsError(name, "may not be empty; leave it out" if not value else "may not contain a line break")
    for name, value in options.env.items():
        if not name or "=" in name or "\0" in name + value:
            raise OptionsError("env", f"{name!r} is not a variable's name, or its value contains NUL")


def _check_together(options: Options) -> None:
    if options.resume and options.continue_conversation:
        raise OptionsError("resume", "cannot be used with continue_conversation; choose one")
    if options.fork_session and not (options.resume or options.continue_conversation):
        raise OptionsError("fork_session", "needs resume= or continue_conversation=True, the session to fork")
    if options.session_id and (options.resume or options.continue_conversation) and not options.fork_session:
        raise OptionsError("session_id", "cannot be used with resume or continue unless fork_session=True")
    if options.permission_prompt_tool_name and options.prompts_for_permission:
        raise OptionsError("permission_prompt_tool_name", "cannot be used with permission callbacks; choose one")
    if options.model and options.model == options.fallback_model:
        raise OptionsError("fallback_model", "must differ from model")
    if options.on_user_dialog is not None and not options.supported_dialog_kinds:
        raise OptionsError("on_user_dialog", "needs supported_dialog_kinds=: the CLI asks only for declared kinds")


def _check_session_store(options: Options) -> None:
    store = options.session_store
    if store is None:
        return
    for method in ("append", "load"):
        if not implements(store, method):
            raise OptionsError("session_store", f"this {type(store).__name__} lacks the method {method}()")
    if options.continue_conversation and not implements(store, "list_sessions"):
        raise OptionsError(
            "continue_conversation", f"needs list_sessions() of the session store, which {type(store).__name__} lacks"
        )
    if options.enable_file_checkpointing:
        raise OptionsError(
            "enable_file_checkpointing", "cannot be used with session_store: checkpoints stay on this machine"
        )
    if not options.persist_session:
        raise OptionsError("persist_session", "must be True with session_store: the CLI sends what it persists")
    if options.user is not None and (options.resume or options.continue_conversation):
        raise OptionsError("user", "cannot be used to resume from a session_store: its files belong to this user")


def _check_session_id(options: Options) -> None:
    if options.session_id is None:
        return
    from uuid import UUID

    try:
        UUID(options.session_id)
    except ValueError:
        raise OptionsError("session_id", f"{options.session_id!r} is not a UUID") from None


def _check_extra_args(options: Options) -> None:
    for name, value in options.extra_args.items():
        if not name or not all(letter.isalnum() or letter in "-_" for letter in name) or name.startswith("-"):
            raise OptionsError("extra_args", f"{name!r} is not a flag's name; write it without the leading dashes")
        if value is not None and "\0" in value:
            raise OptionsError("extra_args", f"the value of {name!r} may not contain NUL")


def _check_wire(options: Options) -> None:
    """Translate the options now, so that errors appear here and not when the CLI starts."""
    from handrail.client.command_line import HANDSHAKE, arguments, config_files, initialize_fields

    arguments(options, {})
    config_files(options)
    names = {wire: name for name, wire in HANDSHAKE.items()}
    names |= {"jsonSchema": "output_format", "systemPrompt": "system_prompt"}
    for wire, value in initialize_fields(options, None, ()).items():
        try:
            msgspec.json.encode(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise OptionsError(names.get(wire, wire), f"cannot be written as JSON: {error}") from None


def _check_hooks(options: Options) -> None:
    if not options.hooks:
        return
    from handrail.client.hook_callbacks import HookCallbacks
    from handrail.schema.hooks import HOOK_INPUTS

    right = {name.lower(): name for name in HOOK_INPUTS.table}
    for event in options.hooks:
        meant = right.get(event.replace("_", "").lower(), event)
        if meant != event:  # unknown events are accepted: a newer CLI may have them
            raise OptionsError("hooks", f"{event!r} is not an event; write {meant!r}")
    HookCallbacks(options.hooks)


def _check_types(options: Options) -> None:
    for name, (annotation, default) in _field_types().items():
        value = getattr(options, name)
        if value is default:
            continue
        if not has_type(value, annotation):  # dicts and lists are not shown, because they may contain secrets
            shown = repr(value) if isinstance(value, str | int | float) else f"this {type(value).__name__}"
            raise OptionsError(name, f"{shown} is not {type_in_words(annotation)}")
        texts = cast("Sequence[object]", value) if isinstance(value, list | tuple) else (value,)
        if any("\0" in os.fspath(text) for text in texts if isinstance(text, str | os.PathLike)):
            raise OptionsError(name, "may not contain NUL")


@cache
def _field_types() -> Mapping[str, tuple[Any, Any]]:
    return {field.name: (field.type, field.default) for field in msgspec.structs.fields(Options)}


_CHECKS: tuple[Callable[[Options], None], ...] = (
    _check_choices,
    _check_numbers,
    _check_lists,
    _check_types,
    _check_rules,
    _check_text,
    _check_together,
    _check_session_store,
    _check_session_id,
    _check_extra_args,
    _check_hooks,
    _check_wire,
)
