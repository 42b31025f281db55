"""Arguments, files and handshake fields for the CLI."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail import Options, OptionsError, mcp_server
from handrail.client.command_line import (
    arguments,
    config_files,
    environment_of,
    initialize_fields,
    split_mcp_servers,
)

BASE = ["--output-format=stream-json", "--verbose", "--input-format=stream-json"]
UUID = "5c9a7f3e-0000-4000-8000-000000000001"


def added(**options: Any) -> list[str]:
    """The arguments that these options add."""
    usual = arguments(Options(), {})
    return [argument for argument in arguments(Options(**options), {}) if argument not in usual]


def test_default_arguments_load_no_settings():
    assert arguments(Options(), {}) == [*BASE, "--setting-sources="]


FLAGS: list[tuple[dict[str, Any], list[str]]] = [
    ({"model": "opus"}, ["--model=opus"]),
    ({"fallback_model": "sonnet"}, ["--fallback-model=sonnet"]),
    ({"effort": "xhigh"}, ["--effort=xhigh"]),
    ({"max_thinking_tokens": 0}, ["--max-thinking-tokens=0"]),
    ({"thinking_display": "summarized"}, ["--thinking-display=summarized"]),
    ({"thinking": "adaptive"}, ["--thinking=adaptive"]),
    ({"thinking": {"type": "enabled"}}, ["--thinking=enabled"]),
    ({"thinking": {"type": "enabled", "budget_tokens": 2048}}, ["--max-thinking-tokens=2048"]),
    (
        {"thinking": {"type": "adaptive", "display": "omitted"}},
        ["--thinking=adaptive", "--thinking-display=omitted"],
    ),
    ({"permission_mode": "acceptEdits"}, ["--permission-mode=acceptEdits"]),
    ({"permission_prompt_tool_name": "mcp__a__b"}, ["--permission-prompt-tool=mcp__a__b"]),
    ({"permission_prompts": "host"}, ["--permission-prompts=host"]),
    ({"can_use_tool": print}, ["--permission-prompt-tool=stdio"]),
    ({"answer_questions": print, "approve_plan": print}, ["--permission-prompt-tool=stdio"]),
    ({"allow_dangerously_skip_permissions": True}, ["--allow-dangerously-skip-permissions"]),
    ({"dangerously_skip_permissions": True}, ["--dangerously-skip-permissions"]),
    ({"agent": "reviewer"}, ["--agent=reviewer"]),
    ({"resume": "r", "fork_session": True}, ["--resume=r", "--fork-session"]),
    ({"resume": "r", "resume_session_at": "u"}, ["--resume=r", "--resume-session-at=u"]),
    ({"resume": "r", "resume_drops_turn": ""}, ["--resume=r", "--resume-drops-turn="]),
    ({"continue_conversation": True}, ["--continue"]),
    ({"session_id": UUID}, [f"--session-id={UUID}"]),
    ({"from_pr": "12"}, ["--from-pr=12"]),
    ({"persist_session": False}, ["--no-session-persistence"]),
    ({"max_turns": 3}, ["--max-turns=3"]),
    ({"max_budget_usd": 0.5}, ["--max-budget-usd=0.5"]),
    ({"task_budget": 1000}, ["--task-budget=1000"]),
    ({"task_budget": {"total": 1000}}, ["--task-budget=1000"]),
    ({"allowed_tools": ["Read", "Bash(git *)"]}, ["--allowedTools=Read,Bash(git *)"]),
    ({"disallowed_tools": ["WebFetch"]}, ["--disallowedTools=WebFetch"]),
    ({"skills": "all"}, ["--allowedTools=Skill"]),
    ({"skills": ["pdf"], "allowed_tools": ["Read"]}, ["--allowedTools=Read,Skill(pdf)"]),
    ({"tools": []}, ["--tools="]),
    ({"tools": ["Bash", "Read"]}, ["--tools=Bash,Read"]),
    ({"tools": {"type": "preset", "preset": "claude_code"}}, ["--tools=default"]),
    ({"betas": ["a", "b"]}, ["--betas=a,b"]),
    ({"add_dirs": ["/a", Path("/b")]}, ["--add-dir=/a", "--add-dir=/b"]),
    ({"files": ["id:a", "id:b"]}, ["--file=id:a", "--file=id:b"]),
    ({"plugins": ["/p", {"type": "local", "path": Path("/q")}]}, ["--plugin-dir=/p", "--plugin-dir=/q"]),
    ({"mcp_servers": "servers.json"}, ["--mcp-config=servers.json"]),
    ({"mcp_servers": Path("/etc/servers.json")}, ["--mcp-config=/etc/servers.json"]),
    ({"strict_mcp_config": True}, ["--strict-mcp-config"]),
    ({"settings": "settings.json"}, ["--settings=settings.json"]),
    ({"settings": Path("/etc/settings.json")}, ["--settings=/etc/settings.json"]),
    ({"setting_sources": ["user", "local"]}, ["--setting-sources=user,local"]),
    ({"system_prompt": {"type": "file", "path": Path("/p.md")}}, ["--system-prompt-file=/p.md"]),
    ({"disable_slash_commands": True}, ["--disable-slash-commands"]),
    ({"include_partial_messages": True}, ["--include-partial-messages"]),
    ({"include_hook_events": True}, ["--include-hook-events"]),
    ({"replay_user_messages": True}, ["--replay-user-messages"]),
    ({"bare": True}, ["--bare"]),
    ({"managed_settings": {"a": 1}}, ["--await-initialize", "--managed-settings-in-initialize"]),
    ({"debug": True}, ["--debug"]),
    ({"debug": "api,hooks"}, ["--debug=api,hooks"]),
    ({"debug_file": "/tmp/d"}, ["--debug-file=/tmp/d"]),
    ({"project_config_root": "/r"}, ["--project-config-root=/r"]),
    ({"extra_args": {"chrome": None, "name": "x y"}}, ["--chrome", "--name=x y"]),
]


@pytest.mark.parametrize(("options", "expected"), FLAGS)
def test_an_option_becomes_its_flag(options: dict[str, Any], expected: list[str]):
    assert added(**options) == expected


def test_files_are_passed_by_flag():
    assert "--settings=/tmp/a.json" in arguments(Options(), {"--settings": "/tmp/a.json"})


TEXT = st.text(st.characters(exclude_characters="\0\n", exclude_categories=["Cs"]), min_size=1)


@given(model=TEXT, resume=TEXT, title=TEXT, directory=TEXT, extra=TEXT)
def test_values_cannot_become_flags(model: str, resume: str, title: str, directory: str, extra: str):
    options = Options(model=model, resume=resume, title=title, add_dirs=[directory], extra_args={"name": extra})
    flags = [argument.partition("=")[0] for argument in arguments(options, {})]
    assert flags == [
        *(flag.partition("=")[0] for flag in BASE),
        "--model",
        "--resume",
        "--add-dir",
        "--setting-sources",
        "--name",
    ]


LARGE = "secret-" * 40_000


def test_nothing_large_or_secret_is_an_argument():
    options = Options(
        system_prompt=LARGE,
        append_system_prompt=LARGE,
        plan_mode_instructions=LARGE,
        agents={"a": {"description": "d", "prompt": LARGE}},
        output_format={"type": "json_schema", "schema": {"description": LARGE}},
        mcp_servers={"a": {"type": "http", "url": "http://localhost", "headers": {"Authorization": LARGE}}},
        settings={"env": {"TOKEN": LARGE}},
        managed_settings={"env": {"TOKEN": LARGE}},
        sandbox={"note": LARGE},
        title=LARGE,
        env={"TOKEN": LARGE},
    )
    assert not any("secret-" in argument for argument in arguments(options, {}))


def test_mcp_servers_and_settings_are_written_to_files():
    server = {"type": "stdio", "command": "x", "env": {"KEY": "v"}}
    options = Options(mcp_servers={"a": server, "b": mcp_server("b")}, settings={"x": 1})
    files = {flag: json.loads(content) for flag, content in config_files(options).items()}
    assert files == {"--mcp-config": {"mcpServers": {"a": server}}, "--settings": {"x": 1}}


def test_no_files_by_default():
    assert config_files(Options(mcp_servers="a.json", settings="b.json")) == {}


def test_settings_may_be_given_as_json_text():
    assert json.loads(config_files(Options(settings=' {"x": 1}'))["--settings"]) == {"x": 1}


@pytest.mark.parametrize("settings", [None, {"x": 1}, '{"x": 1}'])
def test_sandbox_is_added_to_settings(settings: Any):
    files = config_files(Options(settings=settings, sandbox={"enabled": True}))
    assert json.loads(files["--settings"]) == {**({} if settings is None else {"x": 1}), "sandbox": {"enabled": True}}


HANDSHAKE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"system_prompt": "Be brief."}, {"systemPrompt": ["Be brief."]}),
    ({"system_prompt": ""}, {"systemPrompt": [""]}),
    ({"system_prompt": ["One.", "Two."]}, {"systemPrompt": ["One.", "Two."]}),
    ({"system_prompt": {"type": "custom", "prompt": "P"}}, {"systemPrompt": ["P"]}),
    ({"system_prompt": {"type": "preset", "preset": "claude_code"}}, {}),
    (
        {"system_prompt": {"type": "preset", "append": "And kind.", "exclude_dynamic_sections": True}},
        {"appendSystemPrompt": "And kind.", "excludeDynamicSections": True},
    ),
    ({"system_prompt": {"type": "file", "path": "/p"}}, {}),
    ({"append_system_prompt": "A"}, {"appendSystemPrompt": "A"}),
    ({"plan_mode_instructions": "P"}, {"planModeInstructions": "P"}),
    ({"tool_aliases": {"a": "b"}}, {"toolAliases": {"a": "b"}}),
    ({"agents": {"a": {"prompt": "p"}}}, {"agents": {"a": {"prompt": "p"}}}),
    ({"title": "T"}, {"title": "T"}),
    ({"managed_settings": {"a": 1}}, {"managedSettings": {"a": 1}}),
    ({"supported_dialog_kinds": ["k"]}, {"supportedDialogKinds": ["k"]}),
    ({"forward_subagent_text": True}, {"forwardSubagentText": True}),
    ({"prompt_suggestions": True}, {"promptSuggestions": True}),
    ({"agent_progress_summaries": True}, {"agentProgressSummaries": True}),
    ({"per_task_stop_affordance": True}, {"perTaskStopAffordance": True}),
    ({"exclude_dynamic_sections": True}, {"excludeDynamicSections": True}),
    ({"output_format": {"type": "json_schema", "schema": {"a": 1}}}, {"jsonSchema": {"a": 1}}),
    ({"skills": ["pdf"]}, {"skills": ["pdf"]}),
    ({"skills": []}, {"skills": []}),
    ({"skills": "all"}, {}),
]


@pytest.mark.parametrize(("options", "expected"), HANDSHAKE)
def test_handshake_fields(options: dict[str, Any], expected: dict[str, Any]):
    assert initialize_fields(Options(**options), None, ()) == expected


def test_handshake_contains_hooks_and_in_process_servers():
    hooks = {"Stop": [{"matcher": None, "hookCallbackIds": ["hook_0"]}]}
    assert initialize_fields(Options(), hooks, ["a"]) == {"hooks": hooks, "sdkMcpServers": ["a"]}


def test_some_options_become_environment_variables():
    options = Options(
        enable_file_checkpointing=True, client_app="a/1", question_preview_format="html", session_state_events=True
    )
    assert environment_of(options) == {
        "CLAUDE_CODE_ENTRYPOINT": "sdk-handrail",
        "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "true",
        "CLAUDE_AGENT_SDK_CLIENT_APP": "a/1",
        "CLAUDE_CODE_QUESTION_PREVIEW_FORMAT": "html",
        "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
    }


def test_in_process_servers_are_separated():
    server, other = mcp_server("calc"), object()
    assert split_mcp_servers([server]) == ({}, {"calc": server})
    given = {"a": {"command": "x"}, "b": {"type": "sdk", "name": "b", "instance": other}, "c": server}
    assert split_mcp_servers(given) == ({"a": {"command": "x"}}, {"b": other, "c": server})
    assert split_mcp_servers("file.json") == ({}, {})


def test_invalid_server_is_rejected_by_name():
    with pytest.raises(OptionsError, match="a server needs a name"):
        split_mcp_servers([object()])
