"""The end of a turn, in today's words and in older ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.schema.message_view import Origin
from handrail.schema.messages import read_message
from handrail.schema.result_message import DeferredToolUse, PermissionDenial, ResultMessage
from handrail.schema.usage import CacheCreation, ModelUsage, OutputTokenDetails, ServerToolUsage, Usage
from handrail.schema.view import as_builtins


def read(**wire: Any) -> ResultMessage:
    raw = json.dumps({"type": "result", **wire}).encode()
    view = read_message("result", wire.get("subtype", ""), raw)
    assert isinstance(view, ResultMessage)
    assert as_builtins(view) == {"type": "result", **wire}
    return view


def test_a_result_is_typed_through_and_through():
    view = read(
        subtype="success",
        is_error=False,
        result="done",
        stop_reason="end_turn",
        terminal_reason="completed",
        num_turns=2,
        duration_ms=12.5,
        total_cost_usd=0,
        usage={
            "input_tokens": 1,
            "output_tokens": 2,
            "cache_creation_input_tokens": 3,
            "cache_read_input_tokens": 4,
            "cache_creation": {"ephemeral_1h_input_tokens": 1, "ephemeral_5m_input_tokens": 2},
            "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0},
            "output_tokens_details": {"thinking_tokens": 7},
            "iterations": [],
        },
        modelUsage={"m": {"inputTokens": 1, "costUSD": 0.5, "cacheCreationEphemeral5mInputTokens": 9, "new": 1}},
        permission_denials=[{"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "x"}}],
        deferred_tool_use={"id": "t", "name": "Bash", "input": {}},
        origin={"kind": "task-notification"},
        user_message_uuids=["u"],
        structured_output={"a": [1]},
        local_command="/cost",
        api_error_status=None,
        new_tomorrow=1,
    )
    assert view == ResultMessage(
        subtype="success",
        reported_is_error=False,
        result="done",
        stop_reason="end_turn",
        terminal_reason="completed",
        num_turns=2,
        duration_ms=12.5,
        usage=Usage(
            input_tokens=1,
            output_tokens=2,
            cache_creation_input_tokens=3,
            cache_read_input_tokens=4,
            cache_creation=CacheCreation(ephemeral_1h_input_tokens=1, ephemeral_5m_input_tokens=2),
            server_tool_use=ServerToolUsage(web_search_requests=1),
            output_tokens_details=OutputTokenDetails(thinking_tokens=7),
            iterations=[],
        ),
        model_usage={"m": ModelUsage(input_tokens=1, cost_usd=0.5, cache_creation_5m_input_tokens=9)},
        permission_denials=[PermissionDenial(tool_name="Bash", tool_use_id="t", tool_input={"command": "x"})],
        deferred_tool_use=DeferredToolUse(id="t", name="Bash"),
        origin=Origin(kind="task-notification"),
        user_message_uuids=["u"],
        structured_output={"a": [1]},
        local_command="/cost",
    )
    assert (view.text, view.errors, view.extra) == ("done", [], {"new_tomorrow": 1})


@pytest.mark.parametrize(
    ("wire", "errors", "text"),
    [
        ({"subtype": "error_max_turns", "errors": ["one", "two"]}, ["one", "two"], "one\ntwo"),
        ({"subtype": "error", "error": "it broke", "is_error": True}, ["it broke"], "it broke"),
        ({"subtype": "error_during_execution", "errors": [], "error": None}, [], ""),
        ({"subtype": "success", "is_error": True, "result": "API Error: 400"}, [], "API Error: 400"),
        ({"subtype": "success", "result": ""}, [], ""),
        ({}, [], ""),
    ],
)
def test_error_is_read_from_every_spelling(wire: dict[str, Any], errors: list[str], text: str):
    view = read(**wire)
    assert (view.errors, view.text) == (errors, text)


@pytest.mark.parametrize(
    ("wire", "is_error"),
    [
        ({"subtype": "error"}, True),
        ({"subtype": "error", "error": "it broke"}, True),
        ({"subtype": "error_during_execution"}, True),
        ({"subtype": "error_max_turns", "result": ""}, True),
        ({"subtype": "error_max_budget_usd", "is_error": None}, True),
        ({"error": "it broke"}, True),
        ({"subtype": "error_max_turns", "is_error": False}, False),
        ({"subtype": "success", "is_error": True}, True),
        ({"subtype": "success"}, False),
        ({}, False),
    ],
)
def test_a_result_without_is_error_is_judged_by_its_subtype(wire: dict[str, Any], is_error: bool):
    assert read(**wire).is_error is is_error


def test_usage_adds_up_what_the_model_read():
    whole = Usage(input_tokens=1, cache_creation_input_tokens=2, cache_read_input_tokens=3)
    assert (whole.total_input_tokens, Usage(input_tokens=1).total_input_tokens) == (6, 1)
