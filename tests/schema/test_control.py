"""Control requests and answers, both ways."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from handrail.schema import agent_answers, client_requests, handshake
from handrail.schema.agent_requests import (
    ElicitationRequest,
    HookCallbackRequest,
    McpMessageRequest,
    McpServerName,
    PermissionRequest,
    UserDialogRequest,
)
from handrail.schema.client_answers import (
    ElicitationAnswer,
    HookAnswer,
    HookSpecificAnswer,
    McpMessageAnswer,
    PermissionAnswer,
    UserDialogAnswer,
)
from handrail.schema.control import ANSWERS, REQUESTS, read_answer, read_request
from handrail.schema.control_view import AnswerView, RequestView, UnknownAnswer, UnknownRequest
from handrail.schema.permission_types import PermissionRuleValue, PermissionUpdate, SuggestionHint
from handrail.schema.questions import Question
from handrail.schema.tool_hooks import HookInput, PreToolUseInput
from handrail.schema.usage import Usage
from handrail.schema.view import as_builtins, as_json
from tests.schema.known_fields import ANSWER_FIELDS, REQUEST_FIELDS


def request(**wire: Any) -> RequestView:
    view = read_request(wire["subtype"], json.dumps(wire).encode())
    assert as_builtins(view) == wire
    return view


def answer(request_subtype: str, **wire: Any) -> AnswerView:
    view = read_answer(request_subtype, json.dumps(wire).encode())
    assert as_builtins(view) == wire
    return view


def test_every_request_has_a_row_for_its_answer():
    assert set(REQUESTS.table) == set(ANSWERS)


@pytest.mark.parametrize("subtype", REQUESTS.table)
def test_every_row_is_read_by_its_own_subtype(subtype: str):
    cls = REQUESTS.table[subtype]
    required = {field.encode_name: "x" for field in msgspec.structs.fields(cls) if field.required}
    view = request(subtype=subtype, **required, tomorrow=1)
    assert (type(view), view.extra) == (cls, {"tomorrow": 1})
    names = {field.encode_name: field.name for field in msgspec.structs.fields(cls)}
    assert as_builtins(cls(**{names[wire]: "x" for wire in required})) == {"subtype": subtype, **required}


@pytest.mark.parametrize("subtype", REQUEST_FIELDS)
def test_every_field_of_a_request_has_a_name(subtype: str):
    names = {field.encode_name for field in msgspec.structs.fields(REQUESTS.table[subtype])}
    assert set(REQUEST_FIELDS[subtype].split()) - names == set()


@pytest.mark.parametrize("subtype", ANSWER_FIELDS)
def test_every_field_of_an_answer_has_a_name(subtype: str):
    names = {field.encode_name for field in msgspec.structs.fields(ANSWERS[subtype])}
    assert set(ANSWER_FIELDS[subtype].split()) - names == set()


def test_a_permission_request_is_typed_through_and_through():
    view = request(
        subtype="can_use_tool",
        tool_name="Bash",
        display_name="Bash",
        input={"command": "rm x"},
        tool_use_id="t",
        permission_suggestions=[
            {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "rm x"}], "behavior": "allow"},
            {"behavior": "allow", "message": "Safe to run"},
        ],
        blocked_path="/x",
        decision_reason="outside",
        decision_reason_type="workingDir",
        mcp_server={"name": "calc", "source": "sdk"},
        default_to_no=True,
    )
    assert isinstance(view, PermissionRequest)
    assert view == PermissionRequest(
        tool_name="Bash",
        display_name="Bash",
        input={"command": "rm x"},
        tool_use_id="t",
        suggestions_raw=view.suggestions_raw,
        blocked_path="/x",
        decision_reason="outside",
        decision_reason_type="workingDir",
        mcp_server=McpServerName(name="calc", source="sdk"),
        default_to_no=True,
    )
    assert view.suggestions == [
        PermissionUpdate(rules=[PermissionRuleValue(tool_name="Bash", rule_content="rm x")]),
        SuggestionHint(behavior="allow", message="Safe to run"),
    ]
    assert view.questions == []


def test_the_questions_of_a_permission_request_are_typed():
    view = request(subtype="can_use_tool", tool_name="AskUserQuestion", input={"questions": [{"question": "Which?"}]})
    assert isinstance(view, PermissionRequest)
    assert (view.questions, view.suggestions) == ([Question(question="Which?")], [])


def test_a_hook_callback_has_the_input_of_its_event():
    view = request(
        subtype="hook_callback",
        callback_id="hook_0",
        tool_use_id="t",
        input={"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": "/p"},
    )
    assert isinstance(view, HookCallbackRequest)
    assert view.input == PreToolUseInput(tool_name="Bash", tool_input={"command": "ls"}, cwd="/p")
    assert view.input is view.input


def test_a_hook_callback_without_an_input_has_an_empty_one():
    view = request(subtype="hook_callback", callback_id="hook_0")
    assert isinstance(view, HookCallbackRequest)
    assert view.input == HookInput()


@pytest.mark.parametrize(
    ("wire", "view"),
    [
        (
            {"subtype": "mcp_message", "server_name": "calc", "message": {"id": 0, "method": "initialize"}},
            McpMessageRequest(server_name="calc", message={"id": 0, "method": "initialize"}),
        ),
        (
            {
                "subtype": "elicitation",
                "mcp_server_name": "el",
                "message": "name?",
                "requested_schema": {"type": "object"},
            },
            ElicitationRequest(mcp_server_name="el", message="name?", requested_schema={"type": "object"}),
        ),
        (
            {"subtype": "request_user_dialog", "dialog_kind": "refusal_fallback_prompt", "payload": {"a": 1}},
            UserDialogRequest(dialog_kind="refusal_fallback_prompt", payload={"a": 1}),
        ),
        (
            {
                "subtype": "initialize",
                "hooks": None,
                "sdkMcpServers": ["calc"],
                "systemPrompt": ["a"],
                "jsonSchema": {},
            },
            handshake.InitializeRequest(sdk_mcp_servers=["calc"], system_prompt=["a"], json_schema={}),
        ),
        ({"subtype": "initialize", "systemPrompt": "a"}, handshake.InitializeRequest(system_prompt="a")),
        ({"subtype": "set_model"}, client_requests.SetModelRequest()),
        (
            {"subtype": "mcp_toggle", "serverName": "calc", "enabled": True},
            client_requests.McpToggleRequest(server_name="calc", enabled=True),
        ),
        (
            {"subtype": "rewind_files", "user_message_id": "u", "dry_run": True},
            client_requests.RewindFilesRequest(user_message_id="u", dry_run=True),
        ),
    ],
)
def test_a_request_is_read_by_its_subtype(wire: dict[str, Any], view: RequestView):
    assert request(**wire) == view


def test_the_answer_to_initialize_is_typed():
    view = answer(
        "initialize",
        commands=[{"name": "compact", "description": "d", "argumentHint": "", "builtin": True}],
        agents=[{"name": "Explore", "description": "d"}],
        models=[{"value": "opus", "displayName": "Opus", "supportsEffort": True, "supportedEffortLevels": ["low"]}],
        account={"tokenSource": "none", "apiProvider": "firstParty"},
        pid=7,
        tomorrow={},
    )
    assert view == handshake.InitializeAnswer(
        commands=[handshake.SlashCommand(name="compact", description="d", builtin=True)],
        agents=[handshake.Agent(name="Explore", description="d")],
        models=[
            handshake.Model(value="opus", display_name="Opus", supports_effort=True, supported_effort_levels=["low"])
        ],
        account=handshake.Account(token_source="none", api_provider="firstParty"),
        pid=7,
    )
    assert view.extra == {"tomorrow": {}}


@pytest.mark.parametrize(
    ("subtype", "wire", "view"),
    [
        ("interrupt", {"still_queued": ["u"]}, agent_answers.InterruptAnswer(still_queued=["u"])),
        ("set_model", {"model": "m"}, agent_answers.SetModelAnswer(model="m")),
        (
            "mcp_status",
            {
                "mcpServers": [
                    {"name": "c", "status": "connected", "serverInfo": {"name": "c", "version": "1"}, "tools": []}
                ]
            },
            agent_answers.McpStatusAnswer(
                servers=[
                    agent_answers.McpServerStatus(
                        name="c", status="connected", server_info=agent_answers.McpServerInfo(name="c", version="1")
                    )
                ]
            ),
        ),
        (
            "mcp_set_servers",
            {"added": ["a"], "removed": [], "errors": {"b": "no"}},
            agent_answers.McpSetServersAnswer(added=["a"], errors={"b": "no"}),
        ),
        (
            "rewind_files",
            {"canRewind": True, "filesChanged": ["a"], "insertions": 1, "deletions": 2},
            agent_answers.RewindFilesAnswer(can_rewind=True, files_changed=["a"], insertions=1, deletions=2),
        ),
        (
            "get_context_usage",
            {
                "totalTokens": 9,
                "percentage": 0.5,
                "categories": [{"name": "x", "tokens": 9}],
                "apiUsage": {"input_tokens": 1},
            },
            agent_answers.ContextUsageAnswer(
                total_tokens=9,
                percentage=0.5,
                categories=[agent_answers.ContextCategory(name="x", tokens=9)],
                api_usage=Usage(input_tokens=1),
            ),
        ),
        ("stop_task", {}, AnswerView()),
        ("mcp_message", {"mcp_response": {"id": 1}}, McpMessageAnswer(mcp_response={"id": 1})),
        (
            "elicitation",
            {"action": "accept", "content": {"n": 1}},
            ElicitationAnswer(action="accept", content={"n": 1}),
        ),
        ("request_user_dialog", {"behavior": "cancelled"}, UserDialogAnswer(behavior="cancelled")),
        ("hook_callback", {"async": True, "asyncTimeout": 5}, HookAnswer(async_=True, async_timeout=5)),
        (
            "hook_callback",
            {
                "continue": False,
                "stopReason": "s",
                "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "new": 1},
            },
            HookAnswer(
                continue_=False,
                stop_reason="s",
                specific=HookSpecificAnswer(hook_event_name="PreToolUse", permission_decision="deny"),
            ),
        ),
    ],
)
def test_an_answer_is_read_by_the_subtype_of_its_request(subtype: str, wire: dict[str, Any], view: AnswerView):
    read = answer(subtype, **wire)
    assert (read, type(read)) == (view, type(view))


def test_the_answer_to_a_permission_request_has_typed_updates():
    update = {"type": "setMode", "mode": "plan", "destination": "session"}
    view = answer("can_use_tool", behavior="allow", updatedInput=None, updatedPermissions=[update], toolUseID="t")
    assert isinstance(view, PermissionAnswer)
    assert (view.behavior, view.updated_input, view.updated_permissions, view.tool_use_id) == (
        "allow",
        None,
        [PermissionUpdate(type="setMode", mode="plan")],
        "t",
    )


def test_a_bare_ack_is_an_empty_answer():
    assert [read_answer(subtype, b"") for subtype in ("mcp_toggle", "interrupt")] == [
        AnswerView(),
        agent_answers.InterruptAnswer(),
    ]


@pytest.mark.parametrize(
    ("subtype", "raw", "view"),
    [
        ("totally_unknown", b'{"subtype":"totally_unknown", "x" : 1}', UnknownRequest(subtype="totally_unknown")),
        (
            "set_model",
            b'{"subtype":"set_model","model":5}',
            UnknownRequest(subtype="set_model", problem="Expected `str | null`, got `int` - at `$.model`"),
        ),
        (
            "can_use_tool",
            b'{"subtype":"can_use_tool"}',
            UnknownRequest(subtype="can_use_tool", problem="Object missing required field `tool_name`"),
        ),
    ],
)
def test_an_unknown_request_says_why_and_keeps_its_bytes(subtype: str, raw: bytes, view: UnknownRequest):
    read = read_request(subtype, raw)
    assert (read, read.raw, as_json(read)) == (view, raw, raw)


@pytest.mark.parametrize(
    ("subtype", "raw", "view"),
    [
        ("totally_unknown", b'{"x" : 1}', UnknownAnswer(subtype="totally_unknown")),
        (
            "can_use_tool",
            b'{"decision":"allow"}',
            UnknownAnswer(subtype="can_use_tool", problem="Object missing required field `behavior`"),
        ),
        ("stop_task", b'"done"', UnknownAnswer(subtype="stop_task", problem="Expected `object`, got `str`")),
    ],
)
def test_an_unknown_answer_says_why_and_keeps_its_bytes(subtype: str, raw: bytes, view: UnknownAnswer):
    read = read_answer(subtype, raw)
    assert (read, read.raw, as_json(read)) == (view, raw, raw)
