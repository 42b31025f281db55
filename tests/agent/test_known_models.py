"""handrail.agent.known_models: the table, its aliases and what an answer costs."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.agent.known_models import (
    ALIASES,
    MODELS,
    cost,
    default_model,
    facts_of,
    needs_wide_window,
    resolve,
)

USAGE = {"input_tokens": 100, "output_tokens": 20, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 20}


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("claude-opus-5-5", 0.000854),
        ("claude-sonnet-5-5", 0.000427),
        ("claude-sonnet-4-5", 0.0006435),
        ("claude-haiku-4-5", 0.0002145),
        ("claude-opus-4-5", 0.0010725),
    ],
)
def test_an_answer_costs_what_the_vendor_would_charge(model: str, dollars: float):
    assert cost(USAGE, model) == pytest.approx(dollars)


def test_a_cache_entry_of_one_hour_costs_twice_the_input():
    usage = {"cache_creation_input_tokens": 1_000_000, "cache_creation": {"ephemeral_1h_input_tokens": 1_000_000}}
    assert cost(usage, "claude-sonnet-4-5") == pytest.approx(6.0)


def test_a_search_costs_a_cent():
    assert cost({"server_tool_use": {"web_search_requests": 3}}, "sonnet") == pytest.approx(0.03)


def test_a_long_prompt_costs_more_where_the_price_depends_on_it():
    assert cost({"input_tokens": 100_000}, "claude-haiku-5-5") == pytest.approx(0.01)
    assert cost({"input_tokens": 100_001}, "claude-haiku-5-5") == pytest.approx(0.0500005)


@pytest.mark.parametrize(
    "usage", [{}, {"input_tokens": None}, {"input_tokens": "9"}, {"cache_creation": 5, "input_tokens": -4}]
)
def test_invalid_counts_cost_nothing(usage: dict[str, Any]):
    assert cost(usage, "claude-opus-5-5") == 0


def test_an_alias_is_the_newest_of_its_family():
    assert resolve("opus") == "claude-opus-5-5"
    assert resolve("Sonnet") == "claude-sonnet-5-5"
    assert resolve("haiku") == "claude-haiku-5-5"
    assert resolve("fable") == "claude-fable-5-2"


def test_the_environment_changes_the_model_of_an_alias():
    assert resolve("opus", {"ANTHROPIC_DEFAULT_OPUS_MODEL": "my-opus"}) == "my-opus"


def test_a_full_name_stays_as_it_is_whether_known_or_not():
    assert resolve("claude-sonnet-4-5-20250929") == "claude-sonnet-4-5-20250929"
    assert resolve("gpt-of-the-gateway") == "gpt-of-the-gateway"


def test_the_long_context_suffix_stays_part_of_the_name():
    assert resolve("sonnet[1m]") == "claude-sonnet-5-5[1m]"
    assert resolve("claude-sonnet-4-5[1m]") == "claude-sonnet-4-5[1m]"
    assert resolve("opus[1m]", {"ANTHROPIC_DEFAULT_OPUS_MODEL": "my-opus[1m]"}) == "my-opus[1m]"
    assert facts_of("claude-sonnet-4-5[1m]").context_window == 1_000_000
    assert facts_of("claude-sonnet-4-5").context_window == 200_000


def test_only_models_with_a_smaller_window_need_the_beta_feature():
    assert needs_wide_window("claude-sonnet-4-5[1m]")
    assert not needs_wide_window("claude-sonnet-5-5[1m]")
    assert not needs_wide_window("claude-sonnet-4-5")


def test_the_default_is_set_by_the_environment_else_the_newest_opus():
    assert default_model({}) == resolve("default") == resolve("") == "claude-opus-5-5"
    assert default_model({"HANDRAIL_MODEL": "opus", "ANTHROPIC_MODEL": "haiku"}) == "claude-opus-5-5"
    assert default_model({"ANTHROPIC_MODEL": "claude-x"}) == "claude-x"
    assert default_model({"HANDRAIL_MODEL": "default"}) == "claude-opus-5-5"


def test_a_date_does_not_make_another_model():
    assert facts_of("claude-haiku-4-5-20251001") == facts_of("claude-haiku-4-5")


def test_a_newer_model_of_a_known_family_is_priced_as_the_newest_known():
    newer = facts_of("claude-sonnet-9")
    assert (newer.id, newer.input, newer.context_window) == ("claude-sonnet-9", 2, 1_000_000)


def test_a_model_of_no_family_has_no_price_and_a_small_window():
    other = facts_of("qwen")
    assert (other.id, other.input, other.context_window) == ("qwen", 0, 200_000)


@pytest.mark.parametrize("facts", MODELS, ids=lambda facts: facts.id)
def test_every_row_makes_sense(facts: Any):
    assert facts.cache_read < facts.input < facts.cache_write < facts.output
    assert facts.cache_write == pytest.approx(1.25 * facts.input)
    assert facts.max_output < facts.context_window
    assert facts.family in ALIASES
    assert facts_of(facts.id) is facts
