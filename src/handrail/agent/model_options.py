"""How the model is asked: thinking, effort and length, by flags, environment and settings. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from handrail.agent.arguments import Arguments
from handrail.agent.known_models import facts_of

__all__ = ["BUDGET_THINKING", "TOOL_SEARCH", "launch_effort", "launch_thinking", "output_limit", "thinking_field"]

JsonObject = dict[str, Any]
TOOL_SEARCH: Final = "advanced-tool-use-2025-11-20"
"""The beta feature that leaves tools out of the prompt until a result refers to them."""
BUDGET_THINKING: Final = "interleaved-thinking-2025-05-14"
"""The beta feature that lets models with a thinking budget think between tool calls. Others do so anyway."""
DEFAULT_BUDGET: Final = 31_999
"""Tokens of thought for models that need a budget and were given none."""
LEAST_BUDGET: Final = 1024
"""The API refuses smaller thinking budgets."""
_NUMBER: Final = re.compile(r"[0-9]{1,9}")


def launch_thinking(arguments: Arguments, environment: Mapping[str, str], settings: Mapping[str, Any]) -> int | None:
    """The thinking budget that a session starts with: 0 is off, None leaves it to the model.

    MAX_THINKING_TOKENS comes before --thinking and --max-thinking-tokens, as in the CLI; then `alwaysThinkingEnabled`.
    """
    if (tokens := _number(environment.get("MAX_THINKING_TOKENS"))) is not None:
        return tokens
    if arguments.thinking == "disabled":
        return 0
    if arguments.max_thinking_tokens is not None:
        return arguments.max_thinking_tokens
    if arguments.thinking:
        return DEFAULT_BUDGET if arguments.thinking == "enabled" else None
    return 0 if settings.get("alwaysThinkingEnabled") is False else None


def launch_effort(arguments: Arguments, environment: Mapping[str, str], settings: Mapping[str, Any]) -> str | None:
    """The effort level that a session is started with; None if nobody chose one, "" to leave it to the API.

    CLAUDE_CODE_EFFORT_LEVEL comes before --effort, as in the CLI; `auto` there leaves the level to the API.
    """
    level = environment.get("CLAUDE_CODE_EFFORT_LEVEL", "").strip().lower()
    if level in ("auto", "unset"):
        return ""
    return level or arguments.effort or str(settings.get("effortLevel") or "") or None


def output_limit(model: str, environment: Mapping[str, str]) -> int:
    """The most tokens that one answer of a model may have. CLAUDE_CODE_MAX_OUTPUT_TOKENS changes it."""
    facts = facts_of(model)
    return min(facts.max_output, _number(environment.get("CLAUDE_CODE_MAX_OUTPUT_TOKENS")) or facts.usual_output)


def thinking_field(model: str, tokens: int | None, display: str, limit: int) -> JsonObject | None:
    """The `thinking` field of a request; None leaves it out. `limit`: the most tokens of the answer."""
    facts = facts_of(model)
    if not tokens and not facts.input:  # models of other vendors may not know the field
        return None
    if not facts.can_think:
        return None
    if tokens == 0 and not facts.always_thinks:
        return {"type": "disabled"}
    shown = {"display": display} if display else {}
    if facts.adaptive_thinking:  # these models choose the budget themselves, and the API refuses one
        return {"type": "adaptive", **shown}
    budget = max(tokens or DEFAULT_BUDGET, LEAST_BUDGET)
    return {"type": "enabled", "budget_tokens": min(budget, limit - 1), **shown}


def _number(text: str | None) -> int | None:
    given = (text or "").strip()
    return int(given) if _NUMBER.fullmatch(given) else None
