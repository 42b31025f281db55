from __future__ import annotations

from typing import Any

from handrail.agent.record.usage import Ledger

USAGE: dict[str, Any] = {"input_tokens": 1000, "output_tokens": 100}
MODEL = "claude-sonnet-4-5"


def test_usage_is_per_turn_and_cost_per_session() -> None:
    ledger = Ledger()
    ledger.add(MODEL, USAGE)
    once = ledger.total_cost
    ledger.begin_turn()
    ledger.add(MODEL, USAGE)
    assert ledger.usage()["input_tokens"] == 1000
    assert ledger.total_cost == 2 * once > 0
    assert ledger.models()[MODEL]["inputTokens"] == 2000


def test_request_aside_costs_but_does_not_count_for_the_turn() -> None:
    ledger = Ledger()
    ledger.add(MODEL, USAGE, 5.0, aside=True)
    assert ledger.usage()["input_tokens"] == 0
    assert ledger.total_cost > 0
    assert ledger.api_ms == 5.0


def test_usage_since_last_result_is_reset_by_reading_it() -> None:
    ledger = Ledger()
    ledger.add(MODEL, USAGE)
    assert ledger.since_last_result()[MODEL]["outputTokens"] == 100
    assert ledger.since_last_result() == {}


def test_totals_of_an_earlier_process_continue() -> None:
    earlier = Ledger()
    earlier.add(MODEL, USAGE)
    ledger = Ledger()
    ledger.resume_from(earlier.total_cost, earlier.models())
    ledger.add(MODEL, USAGE)
    assert ledger.total_cost == 2 * earlier.total_cost
    assert earlier.models()[MODEL]["inputTokens"] == 1000


def test_invalid_counts_are_ignored() -> None:
    ledger = Ledger()
    ledger.add("unheard-of", {"input_tokens": "many", "output_tokens": -5, "cache_read_input_tokens": True})
    assert ledger.usage()["input_tokens"] == ledger.usage()["output_tokens"] == 0
    assert ledger.total_cost == 0
