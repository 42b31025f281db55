"""handrail.agent.model_options: thinking, effort and length of requests."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.agent.arguments import read_arguments
from handrail.agent.model_options import launch_effort, launch_thinking, output_limit, thinking_field

OLD, NEW, OTHER = "claude-sonnet-4-5", "claude-opus-5-5", "qwen"


@pytest.mark.parametrize(
    ("flags", "environment", "settings", "tokens"),
    [
        ([], {}, {}, None),
        (["--thinking", "disabled"], {}, {}, 0),
        (["--thinking", "adaptive"], {}, {}, None),
        (["--thinking", "enabled"], {}, {}, 31_999),
        (["--max-thinking-tokens", "7"], {}, {}, 7),
        (["--max-thinking-tokens", "7"], {"MAX_THINKING_TOKENS": "9"}, {}, 9),
        ([], {"MAX_THINKING_TOKENS": "0"}, {}, 0),
        ([], {"MAX_THINKING_TOKENS": "many"}, {}, None),
        ([], {}, {"alwaysThinkingEnabled": False}, 0),
        (["--thinking", "enabled"], {}, {"alwaysThinkingEnabled": False}, 31_999),
    ],
)
def test_thinking_at_the_start(flags: list[str], environment: dict[str, str], settings: Any, tokens: int | None):
    assert launch_thinking(read_arguments(flags), environment, settings) == tokens


@pytest.mark.parametrize(
    ("flags", "environment", "settings", "level"),
    [
        ([], {}, {}, None),
        ([], {}, {"effortLevel": "low"}, "low"),
        (["--effort", "high"], {}, {"effortLevel": "low"}, "high"),
        (["--effort", "high"], {"CLAUDE_CODE_EFFORT_LEVEL": "max"}, {}, "max"),
        (["--effort", "high"], {"CLAUDE_CODE_EFFORT_LEVEL": "auto"}, {}, ""),
    ],
)
def test_effort_at_the_start(flags: list[str], environment: dict[str, str], settings: Any, level: str | None):
    assert launch_effort(read_arguments(flags), environment, settings) == level


@pytest.mark.parametrize(
    ("model", "given", "limit"),
    [(OLD, "", 32_000), (NEW, "", 128_000), (NEW, "500", 500), (OLD, "99000", 32_000), (NEW, "x", 128_000)],
)
def test_the_environment_limits_answers_up_to_the_most_of_the_model(model: str, given: str, limit: int):
    assert output_limit(model, {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": given}) == limit


@pytest.mark.parametrize(
    ("model", "tokens", "display", "field"),
    [
        (NEW, None, "", {"type": "adaptive"}),
        (NEW, 2000, "omitted", {"type": "adaptive", "display": "omitted"}),
        (NEW, 0, "", {"type": "adaptive"}),
        ("claude-sonnet-5-5", 0, "", {"type": "disabled"}),
        ("claude-3-5-haiku-20241022", 2000, "", None),
        (OLD, None, "", {"type": "enabled", "budget_tokens": 31_999}),
        (OLD, 90_000, "", {"type": "enabled", "budget_tokens": 31_999}),
        (OLD, 0, "", {"type": "disabled"}),
        (OTHER, None, "", None),
        (OTHER, 0, "", None),
        (OTHER, 2000, "", {"type": "enabled", "budget_tokens": 2000}),
    ],
)
def test_the_thinking_field(model: str, tokens: int | None, display: str, field: Any):
    assert thinking_field(model, tokens, display, output_limit(model, {})) == field
