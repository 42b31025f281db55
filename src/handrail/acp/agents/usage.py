"""Tokens and cost that an ACP agent reports, as the fields of a result."""

from __future__ import annotations

from typing import Any, Final

from handrail.schema.acp import messages as acp

__all__ = ["UsageCount"]

JsonObject = dict[str, Any]
_TURN: Final = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_creation_input_tokens": "cached_write_tokens",
    "cache_read_input_tokens": "cached_read_tokens",
}
_MODEL: Final = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheCreationInputTokens": "cached_write_tokens",
    "cacheReadInputTokens": "cached_read_tokens",
}


class UsageCount:
    """The usage of a session. Agents report the tokens of a turn at its end, and the cost of the session so far."""

    def __init__(self) -> None:
        self.total_cost = 0.0
        self.used = self.window = 0
        """Tokens in the context at the moment, and its size; 0 if the agent does not tell."""
        self._turn: dict[str, int] = {}
        self._models: dict[str, JsonObject] = {}
        self._recent: dict[str, JsonObject] = {}

    def begin_turn(self) -> None:
        """Begin a turn, whose tokens are counted from 0."""
        self._turn = dict.fromkeys(_TURN, 0)

    def add(self, model: str, usage: acp.Usage) -> None:
        """Count the tokens of a turn."""
        for name, source in _TURN.items():
            self._turn[name] += max(getattr(usage, source) or 0, 0)
        for books in (self._models, self._recent):
            entry = books.setdefault(model, dict.fromkeys(_MODEL, 0))
            for name, source in _MODEL.items():
                entry[name] += max(getattr(usage, source) or 0, 0)

    def note(self, update: acp.UsageUpdate) -> None:
        """Take the size of the context, and the cost in dollars."""
        self.used, self.window = max(update.used, 0), max(update.size, 0)
        if update.cost is not None and update.cost.currency == "USD" and update.cost.amount >= 0:
            self.total_cost = update.cost.amount

    def fields(self) -> JsonObject:
        """The fields of a result."""
        recent, self._recent = self._recent, {}
        return {
            "duration_api_ms": 0,
            "total_cost_usd": self.total_cost,
            "usage": self._turn,
            "modelUsage": self._entries(self._models),
            "model_usage_since_last_result": self._entries(recent),
        }

    def _entries(self, books: dict[str, JsonObject]) -> JsonObject:
        only = len(self._models) == 1  # agents report the cost of all models together
        fixed = {"webSearchRequests": 0, "contextWindow": self.window, "maxOutputTokens": 0}
        return {name: {**entry, "costUSD": self.total_cost if only else 0, **fixed} for name, entry in books.items()}
