"""Token usage and cost, per turn and for the whole session."""

from __future__ import annotations

from typing import Any, Final, cast

from handrail.agent.known_models import cost, facts_of

__all__ = ["COUNTED", "Ledger"]

JsonObject = dict[str, Any]

PRICE_OF_A_SEARCH: Final = 0.01
COUNTED: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_NAMES: Final = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheCreationInputTokens": "cache_creation_input_tokens",
}


class Ledger:
    """The usage of a session. Cost and usage per model add up over the session; `usage` counts one turn."""

    def __init__(self) -> None:
        self.total_cost = 0.0
        self.api_ms = 0.0
        self.lines_added = 0
        self.lines_removed = 0
        self._models: dict[str, JsonObject] = {}
        self._recent: dict[str, JsonObject] = {}
        self.begin_turn()

    def begin_turn(self) -> None:
        """Reset the counters of the turn."""
        self._turn: dict[str, int] = dict.fromkeys(COUNTED, 0)
        self._searches = 0

    def add(self, model: str, usage: JsonObject, api_ms: float = 0.0, *, aside: bool = False) -> None:
        """Count one answer. A request aside from the conversation costs money but does not count for the turn."""
        counted = {name: _count(usage.get(name)) for name in COUNTED}
        searches = _searches(usage)
        price = cost(counted, model) + searches * PRICE_OF_A_SEARCH
        self.total_cost += price
        self.api_ms += api_ms
        for books in (self._models, self._recent):
            self._enter(books, model, counted, searches, price)
        self._searches += searches
        if not aside:
            for name, number in counted.items():
                self._turn[name] += number

    def note_change(self, detail: Any) -> None:
        """Count the lines that a tool added and removed, by the patch in its result; a new file counts as added."""
        if not isinstance(detail, dict):
            return
        told = cast("JsonObject", detail)
        hunks = told.get("structuredPatch")
        if not isinstance(hunks, list):
            return
        lines = [line for hunk in cast("list[JsonObject]", hunks) for line in hunk["lines"]]
        self.lines_added += sum(line.startswith("+") for line in lines)
        self.lines_removed += sum(line.startswith("-") for line in lines)
        if told.get("type") == "create":
            self.lines_added += len(str(told.get("content") or "").splitlines())

    def usage(self) -> JsonObject:
        """The `usage` field of a result: the usage of the turn."""
        return {
            **self._turn,
            "output_tokens_details": {"thinking_tokens": 0},
            "server_tool_use": {"web_search_requests": self._searches, "web_fetch_requests": 0},
            "service_tier": "standard",
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
        }

    def models(self) -> dict[str, JsonObject]:
        """The usage of the session by model."""
        return {name: dict(entry) for name, entry in self._models.items()}

    def since_last_result(self) -> dict[str, JsonObject]:
        """The usage by model since the last call."""
        recent, self._recent = self._recent, {}
        return recent

    def start_over(self) -> None:
        """Reset everything, for a new conversation."""
        self.resume_from(0.0, {})
        self.api_ms, self.lines_added, self.lines_removed, self._recent = 0.0, 0, 0, {}
        self.begin_turn()

    def resume_from(self, total_cost: float, models: dict[str, JsonObject]) -> None:
        """Continue from the totals of an earlier process."""
        self.total_cost = total_cost
        self._models = {name: {**_empty(name), **entry} for name, entry in models.items()}

    def _enter(
        self, books: dict[str, JsonObject], model: str, counted: dict[str, int], searches: int, price: float
    ) -> None:
        if model not in books:
            books[model] = _empty(model)
        entry = books[model]
        for name, counted_as in _NAMES.items():
            entry[name] += counted[counted_as]
        entry["webSearchRequests"] += searches
        entry["costUSD"] += price


def _empty(model: str) -> JsonObject:
    known = facts_of(model)
    return {
        **dict.fromkeys(_NAMES, 0),
        "webSearchRequests": 0,
        "costUSD": 0.0,
        "contextWindow": known.context_window,
        "maxOutputTokens": known.max_output,
    }


def _searches(usage: JsonObject) -> int:
    told: Any = usage.get("server_tool_use")
    return _count(cast("JsonObject", told).get("web_search_requests")) if isinstance(told, dict) else 0


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
