"""The cost and tokens of each turn, computed from the running totals of the CLI.

The CLI adds up cost and tokens per model for the whole session, subagents included. It restarts at zero with `/clear`
and continues from the old total when a session is resumed. The share of a turn is the usage that the result reports
since the last one, else the difference of two totals.
"""

from __future__ import annotations

import msgspec

from handrail.schema.result_message import ResultMessage
from handrail.schema.usage import ModelUsage, Usage

__all__ = ["TurnUsage", "UsageMeter"]

COUNTED = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "web_search_requests",
    "cost_usd",
)


class _Body(msgspec.Struct):
    usage: Usage | None = None


class _Assistant(msgspec.Struct):
    message: _Body
    parent_tool_use_id: str | None = None


_assistant = msgspec.json.Decoder(_Assistant)


class TurnUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of one turn, in total and by model."""

    cost_usd: float = 0.0
    models: dict[str, ModelUsage] = {}

    @property
    def input_tokens(self) -> int:
        """Tokens read by all models, cached ones included."""
        return sum(
            m.input_tokens + m.cache_read_input_tokens + m.cache_creation_input_tokens for m in self.models.values()
        )

    @property
    def output_tokens(self) -> int:
        """Tokens written by all models."""
        return sum(m.output_tokens for m in self.models.values())


class UsageMeter:
    """The meter of one session. `resumed`: the first total may hold turns of an earlier process."""

    def __init__(self, *, resumed: bool = False) -> None:
        self.total_cost_usd = 0.0
        self.models: dict[str, ModelUsage] = {}
        self.context_tokens = 0
        self._before_unknown = resumed

    def see(self, raw: bytes) -> None:
        """Note an assistant message: the last one of the main conversation has the size of the context."""
        try:
            said = _assistant.decode(raw)
        except msgspec.DecodeError:
            return
        if said.parent_tool_use_id is None and (used := said.message.usage) is not None:
            self.context_tokens = used.total_input_tokens

    def reset(self) -> None:
        """The conversation was cleared, so the CLI counts from zero."""
        self.total_cost_usd, self.models, self.context_tokens, self._before_unknown = 0.0, {}, 0, False

    def add(self, result: ResultMessage) -> TurnUsage:
        """Enter a result and return what its turn used. The result of a subagent counts nothing."""
        if result.parent_tool_use_id is not None:
            return TurnUsage()
        total, models = float(result.total_cost_usd), result.model_usage
        if total < self.total_cost_usd:
            self.reset()
        since = result.model_usage_since_last_result
        if since:
            share = TurnUsage(cost_usd=sum(float(used.cost_usd) for used in since.values()), models=since)
        elif self._before_unknown:
            share = TurnUsage(models={})
        else:
            used = {name: _difference(usage, self.models.get(name)) for name, usage in models.items()}
            share = TurnUsage(cost_usd=total - self.total_cost_usd, models=used)
        self.total_cost_usd, self.models, self._before_unknown = total, models, False
        return share


def _difference(now: ModelUsage, before: ModelUsage | None) -> ModelUsage:
    if before is None:
        return now
    return msgspec.structs.replace(now, **{name: getattr(now, name) - getattr(before, name) for name in COUNTED})
