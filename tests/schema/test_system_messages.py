"""What the CLI says about the session."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.schema.message_view import MessageView
from handrail.schema.messages import read_message
from handrail.schema.system_messages import (
    ApiRetryMessage,
    CompactBoundaryMessage,
    CompactMetadata,
    InformationalMessage,
    InitMessage,
    McpServer,
    McpServerError,
    ModelRefusalFallbackMessage,
    PermissionDeniedMessage,
    Plugin,
    PluginError,
    SessionStateChangedMessage,
    StatusMessage,
)
from handrail.schema.view import as_builtins


def read(subtype: str, **wire: Any) -> MessageView:
    line = {"type": "system", "subtype": subtype, **wire}
    view = read_message("system", subtype, json.dumps(line).encode())
    assert as_builtins(view) == line
    return view


def test_the_start_of_a_turn_shows_the_session():
    view = read(
        "init",
        session_id="s",
        uuid="u",
        cwd="/project",
        model="claude-opus-5-5",
        permissionMode="acceptEdits",
        apiKeySource="none",
        tools=["Bash"],
        mcp_servers=[{"name": "calc", "status": "connected", "source": "sdk"}],
        mcp_server_errors=[{"name": "x", "type": "t", "message": "m"}],
        plugins=[{"name": "p", "path": "/p", "source": "s"}],
        plugin_errors=[{"plugin": "q", "type": "t", "message": "m"}],
        slash_commands=["compact"],
        memory_paths={"auto": "/m"},
        tomorrow=1,
    )
    assert view == InitMessage(
        session_id="s",
        uuid="u",
        cwd="/project",
        model="claude-opus-5-5",
        permission_mode="acceptEdits",
        api_key_source="none",
        tools=["Bash"],
        mcp_servers=[McpServer(name="calc", status="connected", source="sdk")],
        mcp_server_errors=[McpServerError(name="x", type="t", message="m")],
        plugins=[Plugin(name="p", path="/p", source="s")],
        plugin_errors=[PluginError(plugin="q", type="t", message="m")],
        slash_commands=["compact"],
        memory_paths={"auto": "/m"},
    )
    assert view.extra == {"tomorrow": 1}


def test_a_start_with_few_fields_of_an_older_cli_is_read():
    assert read("init", session_id="s", tools=["Read"], model="m") == InitMessage(
        session_id="s", tools=["Read"], model="m"
    )


@pytest.mark.parametrize(
    ("subtype", "wire", "view"),
    [
        ("status", {"status": "compacting"}, StatusMessage(status="compacting")),
        ("status", {"status": None, "permissionMode": "plan"}, StatusMessage(permission_mode="plan")),
        (
            "api_retry",
            {"attempt": 1, "max_retries": 10, "retry_delay_ms": 512.5, "error_status": None, "error": "overloaded"},
            ApiRetryMessage(attempt=1, max_retries=10, retry_delay_ms=512.5, error="overloaded"),
        ),
        (
            "compact_boundary",
            {"compact_metadata": {"trigger": "manual", "pre_tokens": 9, "preserved_segment": {"head_uuid": "h"}}},
            CompactBoundaryMessage(
                compact_metadata=CompactMetadata(trigger="manual", pre_tokens=9, preserved_segment={"head_uuid": "h"})
            ),
        ),
        (
            "permission_denied",
            {"tool_name": "Bash", "tool_use_id": "t", "decision_reason_type": "rule", "message": "no"},
            PermissionDeniedMessage(tool_name="Bash", tool_use_id="t", decision_reason_type="rule", message="no"),
        ),
        (
            "informational",
            {"content": "c", "level": "warning", "isMeta": True, "prompt_submit_outcome": {"kind": "blocked"}},
            InformationalMessage(content="c", level="warning", is_meta=True, prompt_submit_outcome={"kind": "blocked"}),
        ),
        (
            "model_refusal_fallback",
            {"original_model": "a", "fallback_model": "b", "retracted_message_uuids": ["u"], "content": "c"},
            ModelRefusalFallbackMessage(
                original_model="a", fallback_model="b", retracted_message_uuids=["u"], content="c"
            ),
        ),
        (
            "session_state_changed",
            {"state": "idle", "sdk_host_only": True},
            SessionStateChangedMessage(state="idle", sdk_host_only=True),
        ),
    ],
)
def test_a_system_message_is_read_by_its_subtype(subtype: str, wire: dict[str, Any], view: MessageView):
    assert read(subtype, **wire) == view
