"""Validation of options, and that every option has an effect."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail import HookMatcher, Options, OptionsError, mcp_server
from handrail.client.command_line import arguments, config_files, initialize_fields, split_mcp_servers
from handrail.client.environment import child_environment
from handrail.client.hook_callbacks import HookCallbacks
from handrail.session_store import InMemorySessionStore, SessionStore

UUID = "5c9a7f3e-0000-4000-8000-000000000001"
SCHEMA = {"type": "json_schema", "schema": {"type": "object"}}


def nothing(*_: object) -> None:
    """A callback."""


# Invalid options with a text that the error must contain.
WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"permission_mode": "acceptedits"}, "permission_mode", "acceptEdits"),
    ({"effort": "extreme"}, "effort", "low, medium, high, xhigh, max"),
    ({"permission_prompts": "cli"}, "permission_prompts", "host, none"),
    ({"inbox_policy": "block"}, "inbox_policy", "spill, drop_partials, fail"),
    ({"thinking_display": "full"}, "thinking_display", "summarized, omitted"),
    ({"thinking": "always"}, "thinking", "'adaptive' or 'enabled' or 'disabled'"),
    ({"thinking": {"type": "always"}}, "thinking", "adaptive, enabled, disabled"),
    ({"setting_sources": ["project", "global"]}, "setting_sources", "user, project, local"),
    ({"max_turns": 0}, "max_turns", "positive"),
    ({"max_turns": True}, "max_turns", "positive"),
    ({"max_turns": 1.5}, "max_turns", "a whole number"),
    ({"max_budget_usd": -1}, "max_budget_usd", "positive"),
    ({"task_budget": 0}, "task_budget", '"total": N'),
    ({"task_budget": {"tokens": 5}}, "task_budget", '"total": N'),
    ({"initialize_timeout": 0}, "initialize_timeout", "positive"),
    ({"control_timeout": "60"}, "control_timeout", "positive"),
    ({"max_buffer_size": 0}, "max_buffer_size", "positive"),
    ({"inbox_limit": 0}, "inbox_limit", "positive"),
    ({"eof_grace": -1.0}, "eof_grace", "less than 0"),
    ({"user": -1}, "user", "less than 0"),
    ({"term_grace": "soon"}, "term_grace", "a number"),
    ({"max_thinking_tokens": -1}, "max_thinking_tokens", "less than 0"),
    ({"allowed_tools": "Bash"}, "allowed_tools", "write ['Bash']"),
    ({"add_dirs": "/a"}, "add_dirs", "write ['/a']"),
    ({"betas": [1]}, "betas", "a list of strings"),
    ({"files": {"a"}}, "files", "a list"),
    ({"tools": "Bash"}, "tools", "a list of strings or a dict"),
    ({"skills": "pdf"}, "skills", "a list of strings or 'all'"),
    ({"skills": ["pdf,Bash"]}, "skills", "name"),
    ({"allowed_tools": ["Bash,Write"]}, "allowed_tools", "write Tool or Tool(content)"),
    ({"disallowed_tools": ["Bash(ls) Write"]}, "disallowed_tools", "Tool(content)"),
    ({"disallowed_tools": ["Bash(a\nb)"]}, "disallowed_tools", "Tool(content)"),
    ({"disallowed_tools": [""]}, "disallowed_tools", "Tool(content)"),
    ({"allowed_tools": ["Bash(ls"]}, "allowed_tools", "Tool(content)"),
    ({"model": 5}, "model", "a string or None"),
    ({"model": "a\nb"}, "model", "line break"),
    ({"resume": "a\0b"}, "resume", "NUL"),
    ({"add_dirs": ["/a\0"]}, "add_dirs", "NUL"),
    ({"cwd": Path("/a\0")}, "cwd", "NUL"),
    ({"cwd": 5}, "cwd", "a string or a path or None"),
    ({"bare": "yes"}, "bare", "True or False"),
    ({"env": [("A", "b")]}, "env", "a dict of strings"),
    ({"env": {"A": 5}}, "env", "a dict of strings"),
    ({"env": {"A=B": "c"}}, "env", "'A=B'"),
    ({"env": {"A": "b\0"}}, "env", "NUL"),
    ({"extra_args": {"--flag": None}}, "extra_args", "without the leading dashes"),
    ({"extra_args": {"a b": None}}, "extra_args", "flag's name"),
    ({"extra_args": {"a": 5}}, "extra_args", "a dict"),
    ({"extra_args": {"a": "b\0"}}, "extra_args", "NUL"),
    ({"can_use_tool": "allow"}, "can_use_tool", "a function"),
    ({"stderr": True}, "stderr", "a function"),
    ({"hooks": {"PreToolUse": nothing}}, "hooks", "a dict"),
    ({"hooks": {"PreToolUse": [5]}}, "hooks", "neither a HookMatcher nor a function"),
    ({"hooks": {"PreToolUse": [HookMatcher(hooks=["x"])]}}, "hooks", "cannot be called"),  # type: ignore[list-item]
    ({"hooks": {"pre_tool_use": [nothing]}}, "hooks", "write 'PreToolUse'"),
    ({"hooks": {"PreToolUSE": [nothing]}}, "hooks", "write 'PreToolUse'"),
    ({"agents": {"a": {"prompt": object()}}}, "agents", "JSON"),
    ({"system_prompt": {"type": "other"}}, "system_prompt", "preset, custom, file"),
    ({"system_prompt": {"type": "file"}}, "system_prompt", "`path`"),
    ({"system_prompt": {"type": "custom", "prompt": object()}}, "system_prompt", "JSON"),
    ({"output_format": {"type": "yaml"}}, "output_format", '"json_schema"'),
    ({"output_format": {"type": "json_schema"}}, "output_format", "`schema`"),
    ({"output_format": {"type": "json_schema", "schema": {"a": object()}}}, "output_format", "JSON"),
    ({"settings": "{not json"}, "settings", "not JSON"),
    ({"settings": {"a": object()}}, "settings", "JSON"),
    ({"managed_settings": {"a": object()}}, "managed_settings", "JSON"),
    ({"sandbox": {"enabled": True}, "settings": "file.json"}, "sandbox", "give settings as a dict"),
    ({"sandbox": {"enabled": True}, "settings": Path("file.json")}, "sandbox", "give settings as a dict"),
    ({"plugins": [{"type": "local"}]}, "plugins", "`path`"),
    ({"plugins": [5]}, "plugins", "`path`"),
    ({"mcp_servers": 5}, "mcp_servers", "a dict or a list"),
    ({"mcp_servers": {"": {"command": "x"}}}, "mcp_servers", "needs a name"),
    ({"mcp_servers": [{"command": "x"}]}, "mcp_servers", "needs a name"),
    ({"mcp_servers": {"a": {"type": "sdk"}}}, "mcp_servers", "`instance`"),
    ({"mcp_servers": {"a": {"type": "sdk", "name": "", "instance": 1}}}, "mcp_servers", "`name` is empty"),
    ({"mcp_servers": {"a": {"command": object()}}}, "mcp_servers", "JSON"),
    ({"resume": "a", "continue_conversation": True}, "resume", "choose one"),
    ({"fork_session": True}, "fork_session", "resume="),
    ({"session_id": "mine"}, "session_id", "UUID"),
    ({"session_id": UUID, "resume": "a"}, "session_id", "fork_session=True"),
    ({"permission_prompt_tool_name": "mcp__a__b", "can_use_tool": nothing}, "permission_prompt_tool_name", "choose"),
    ({"model": "a", "fallback_model": "a"}, "fallback_model", "differ"),
    ({"on_user_dialog": nothing}, "on_user_dialog", "supported_dialog_kinds"),
]


@pytest.mark.parametrize(("given", "option", "allowed"), WRONG)
def test_invalid_value_is_rejected_with_the_name_and_the_allowed_values(
    given: dict[str, Any], option: str, allowed: str
):
    with pytest.raises(OptionsError) as caught:
        Options(**given)
    assert caught.value.option == option
    assert str(caught.value).startswith(f"Options.{option}: ")
    assert allowed in str(caught.value)


def test_error_does_not_show_the_content_of_a_dict():
    with pytest.raises(OptionsError) as caught:
        Options(env={"API_KEY": "sk-secret", "PORT": 5})  # type: ignore[dict-item]
    assert "sk-secret" not in str(caught.value)


def test_unknown_option_is_rejected_by_name():
    with pytest.raises(TypeError, match="modle"):
        Options(modle="a")  # type: ignore[call-arg]


def test_options_are_immutable():
    with pytest.raises(AttributeError):
        Options().model = "other"  # type: ignore[misc]


def test_replace_validates():
    options = Options(model="a", cwd="/b")
    assert options.replace(model="c") == Options(model="c", cwd="/b")
    with pytest.raises(OptionsError, match="max_turns"):
        options.replace(max_turns=-1)


def test_options_do_not_share_defaults():
    assert Options().env is not Options().env


def test_unknown_hook_event_is_allowed():
    assert Options(hooks={"PostMortem": [nothing]}).hooks == {"PostMortem": [nothing]}


@pytest.mark.parametrize("name", ["can_use_tool", "answer_questions", "approve_plan"])
def test_each_permission_callback_opens_the_prompt_channel(name: str):
    assert Options(**{name: nothing}).prompts_for_permission
    assert not Options().prompts_for_permission


# One value for each field, with the other fields it needs.
SAMPLES: dict[str, dict[str, Any]] = {
    "cli_path": {"cli_path": "/bin/claude"},
    "cwd": {"cwd": "/project"},
    "env": {"env": {"COLOR": "blue"}},
    "inherit_env": {"inherit_env": True},
    "user": {"user": "nobody"},
    "client_app": {"client_app": "app/1"},
    "project_config_root": {"project_config_root": "/root"},
    "extra_args": {"extra_args": {"chrome": None}},
    "model": {"model": "m"},
    "fallback_model": {"fallback_model": "n"},
    "system_prompt": {"system_prompt": "Be brief."},
    "append_system_prompt": {"append_system_prompt": "Be kind."},
    "effort": {"effort": "high"},
    "max_thinking_tokens": {"max_thinking_tokens": 0},
    "thinking": {"thinking": "disabled"},
    "thinking_display": {"thinking_display": "omitted"},
    "betas": {"betas": ["b"]},
    "output_format": {"output_format": SCHEMA},
    "plan_mode_instructions": {"plan_mode_instructions": "Plan."},
    "verbatim_prompts": {"verbatim_prompts": True},
    "tools": {"tools": []},
    "allowed_tools": {"allowed_tools": ["Bash"]},
    "disallowed_tools": {"disallowed_tools": ["Bash"]},
    "permission_mode": {"permission_mode": "plan"},
    "permission_prompt_tool_name": {"permission_prompt_tool_name": "mcp__a__b"},
    "permission_prompts": {"permission_prompts": "none"},
    "allow_dangerously_skip_permissions": {"allow_dangerously_skip_permissions": True},
    "dangerously_skip_permissions": {"dangerously_skip_permissions": True},
    "can_use_tool": {"can_use_tool": nothing},
    "answer_questions": {"answer_questions": nothing},
    "approve_plan": {"approve_plan": nothing},
    "on_elicitation": {"on_elicitation": nothing},
    "on_user_dialog": {"on_user_dialog": nothing, "supported_dialog_kinds": ["k"]},
    "supported_dialog_kinds": {"supported_dialog_kinds": ["k"]},
    "question_preview_format": {"question_preview_format": "html"},
    "hooks": {"hooks": {"Stop": [nothing]}},
    "sandbox": {"sandbox": {"enabled": True}},
    "tool_aliases": {"tool_aliases": {"Task": "Agent"}},
    "add_dirs": {"add_dirs": ["/a"]},
    "mcp_servers": {"mcp_servers": [mcp_server("here")]},
    "strict_mcp_config": {"strict_mcp_config": True},
    "agents": {"agents": {"a": {"description": "d", "prompt": "p"}}},
    "agent": {"agent": "a"},
    "skills": {"skills": ["pdf"]},
    "plugins": {"plugins": ["/p"]},
    "disable_slash_commands": {"disable_slash_commands": True},
    "resume": {"resume": "r"},
    "resume_session_at": {"resume_session_at": "u"},
    "resume_drops_turn": {"resume_drops_turn": "u"},
    "continue_conversation": {"continue_conversation": True},
    "fork_session": {"fork_session": True, "resume": "r"},
    "session_id": {"session_id": UUID},
    "from_pr": {"from_pr": "5"},
    "persist_session": {"persist_session": False},
    "session_store": {"session_store": InMemorySessionStore()},
    "session_store_flush": {"session_store_flush": "eager"},
    "session_store_load_timeout": {"session_store_load_timeout": 5.0},
    "session_store_append_timeout": {"session_store_append_timeout": 5.0},
    "title": {"title": "T"},
    "max_turns": {"max_turns": 2},
    "max_budget_usd": {"max_budget_usd": 0.5},
    "task_budget": {"task_budget": {"total": 1000}},
    "setting_sources": {"setting_sources": ["user"]},
    "settings": {"settings": {"a": 1}},
    "managed_settings": {"managed_settings": {"a": 1}},
    "include_partial_messages": {"include_partial_messages": True},
    "include_hook_events": {"include_hook_events": True},
    "replay_user_messages": {"replay_user_messages": True},
    "forward_subagent_text": {"forward_subagent_text": True},
    "prompt_suggestions": {"prompt_suggestions": True},
    "agent_progress_summaries": {"agent_progress_summaries": True},
    "per_task_stop_affordance": {"per_task_stop_affordance": True},
    "session_state_events": {"session_state_events": True},
    "enable_file_checkpointing": {"enable_file_checkpointing": True},
    "exclude_dynamic_sections": {"exclude_dynamic_sections": True},
    "bare": {"bare": True},
    "debug": {"debug": "api"},
    "debug_file": {"debug_file": "/d"},
    "files": {"files": ["id:a"]},
    "stderr": {"stderr": nothing},
    "wait_until_ready": {"wait_until_ready": False},
    "initialize_timeout": {"initialize_timeout": 5},
    "control_timeout": {"control_timeout": 5},
    "eof_grace": {"eof_grace": 1},
    "term_grace": {"term_grace": 1},
    "max_buffer_size": {"max_buffer_size": 100},
    "inbox_limit": {"inbox_limit": 100},
    "inbox_policy": {"inbox_policy": "fail"},
    "record": {"record": "/r"},
}

SDK_SIDE = {
    "session_store_flush",
    "session_store_load_timeout",
    "session_store_append_timeout",
    "cli_path",
    "user",
    "verbatim_prompts",
    "on_elicitation",
    "on_user_dialog",
    "stderr",
    "wait_until_ready",
    "initialize_timeout",
    "control_timeout",
    "eof_grace",
    "term_grace",
    "max_buffer_size",
    "inbox_limit",
    "inbox_policy",
    "record",
}
"""Options handled by Handrail itself; the tests of the session, the launch and the callbacks cover them."""


def what_the_cli_gets(options: Options) -> tuple[Any, ...]:
    """Everything through which an option can reach the CLI."""
    hooks = HookCallbacks(options.hooks).registration
    inside = list(split_mcp_servers(options.mcp_servers)[1])
    environment = child_environment(options, {"PATH": "/bin", "EDITOR": "vi"})
    return arguments(options, {}), config_files(options), initialize_fields(options, hooks, inside), environment


def test_every_option_has_a_sample():
    assert list(SAMPLES) == [field.name for field in msgspec.structs.fields(Options)]


@pytest.mark.parametrize("name", SAMPLES)
def test_every_option_reaches_the_cli_or_handrail(name: str):
    given = SAMPLES[name]
    others = {other: value for other, value in given.items() if other != name}
    reaches = what_the_cli_gets(Options(**given)) != what_the_cli_gets(Options(**others))
    assert reaches == (name not in SDK_SIDE)


def test_paths_may_be_path_like():
    class Place:
        def __fspath__(self) -> str:
            return "/somewhere"

    given: os.PathLike[str] = Place()
    assert "--debug-file=/somewhere" in arguments(Options(debug_file=given), {})


@pytest.mark.parametrize(("name", "value"), [("tools", ["Bash,Write"]), ("tools", [""]), ("betas", ["a b"])])
def test_list_item_cannot_contain_a_separator(name: str, value: list[str]):
    with pytest.raises(OptionsError, match="is not one name"):
        Options(**{name: value})


@pytest.mark.parametrize("name", ["model", "resume", "session_id", "agent"])
def test_empty_name_is_rejected(name: str):
    with pytest.raises(OptionsError, match=f"Options.{name}: may not be empty; leave it out"):
        Options(**{name: ""})


class SmallestStore(SessionStore):
    """The required methods only."""

    async def append(self, key: Any, entries: Any) -> None: ...

    async def load(self, key: Any) -> Any: ...


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"session_store": object()}, "session_store: this object lacks the method append"),
        ({"session_store": "sqlite"}, "session_store: this str lacks the method append"),
        ({"session_store": SmallestStore(), "continue_conversation": True}, "needs list_sessions"),
        ({"session_store": SmallestStore(), "enable_file_checkpointing": True}, "checkpoints stay on this machine"),
        ({"session_store": SmallestStore(), "persist_session": False}, "the CLI sends what it persists"),
        ({"session_store": SmallestStore(), "user": "nobody", "resume": "x"}, "its files belong to this user"),
        ({"session_store_flush": "often"}, "'often' is not one of batched, eager"),
        ({"session_store_load_timeout": 0}, "0 is not a positive number"),
        ({"session_store_append_timeout": -1.0}, "-1.0 is not a positive number"),
    ],
)
def test_session_store_option_is_validated(given: dict[str, Any], text: str):
    with pytest.raises(OptionsError, match=text):
        Options(**given)


def test_session_store_asks_the_cli_for_a_mirror():
    assert "--session-mirror" in arguments(Options(session_store=SmallestStore()), {})
    assert "--session-mirror" not in arguments(Options(), {})
