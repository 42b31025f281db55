"""The models, as published: names, windows, prices. In: a name or an alias. Out: what is known of it, and costs. Pure.

The table is of the day `AS_OF`. A model that it does not know is priced as the newest of its family, and with a window
that all models have; a name of no family costs nothing that we could tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

__all__ = ["AS_OF", "MODELS", "SCRIPT_MODEL", "ModelFacts", "cost", "default_model", "facts_of", "resolve"]

AS_OF = "2026-11-15"
MILLION = 1_000_000
SCRIPT_MODEL = "handrail-script-1"
"""What the built-in script is called: it is in no price list, so what it says costs nothing."""
SEARCH_PRICE = 0.01
"""USD for one search of the API's own web search."""


class ModelFacts(Struct, frozen=True):
    """One model. Prices in USD per million tokens; writing to the cache for an hour costs twice the input."""

    id: str
    name: str
    input: float
    output: float
    cache_write: float
    cache_read: float
    context_window: int = 1_000_000
    max_output: int = 128_000
    adaptive_thinking: bool = True
    always_thinks: bool = False
    efforts: tuple[str, ...] = ("low", "medium", "high", "xhigh", "max")
    long_prompt: int = 0
    """Above this many tokens of prompt all costs `long_factor` times as much; 0: the price is always the same."""
    long_factor: float = 1

    @property
    def cache_write_hour(self) -> float:
        return 2 * self.input

    @property
    def family(self) -> str:
        return self.id.split("-")[1]


def _older(id: str, name: str, *prices: float) -> ModelFacts:
    """A model with the small window, thinking by budget and no effort."""
    input, output, cache_write, cache_read = prices
    return ModelFacts(
        id, name, input, output, cache_write, cache_read, 200_000, 32_000, adaptive_thinking=False, efforts=()
    )


# Newest first within a family: the first of a family is what its alias stands for.
MODELS: tuple[ModelFacts, ...] = (
    # Fable 5.2 had no published price of its own on that day: that of 5.1 is taken.
    ModelFacts("claude-fable-5-2", "Fable 5.2", 10, 50, 12.5, 0.25, always_thinks=True),
    ModelFacts("claude-fable-5-1", "Fable 5.1", 10, 50, 12.5, 0.25, always_thinks=True),
    ModelFacts("claude-fable-5", "Fable 5", 10, 50, 12.5, 1, always_thinks=True),
    ModelFacts("claude-opus-5-5", "Opus 5.5", 4, 20, 5, 0.2, always_thinks=True),
    ModelFacts("claude-opus-5", "Opus 5", 5, 25, 6.25, 0.5),
    ModelFacts("claude-opus-4-8", "Opus 4.8", 5, 25, 6.25, 0.5),
    ModelFacts("claude-opus-4-7", "Opus 4.7", 5, 25, 6.25, 0.5),
    ModelFacts("claude-opus-4-6", "Opus 4.6", 5, 25, 6.25, 0.5),
    _older("claude-opus-4-5", "Opus 4.5", 5, 25, 6.25, 0.5),
    _older("claude-opus-4-1", "Opus 4.1", 15, 75, 18.75, 1.5),
    _older("claude-opus-4", "Opus 4", 15, 75, 18.75, 1.5),
    ModelFacts("claude-sonnet-5-5", "Sonnet 5.5", 2, 10, 2.5, 0.1),
    ModelFacts("claude-sonnet-5", "Sonnet 5", 2, 10, 2.5, 0.2),
    ModelFacts("claude-sonnet-4-6", "Sonnet 4.6", 3, 15, 3.75, 0.3, max_output=64_000),
    _older("claude-sonnet-4-5", "Sonnet 4.5", 3, 15, 3.75, 0.3),
    _older("claude-sonnet-4", "Sonnet 4", 3, 15, 3.75, 0.3),
    ModelFacts("claude-haiku-5-5", "Haiku 5.5", 0.1, 0.5, 0.125, 0.01, long_prompt=100_000, long_factor=5),
    _older("claude-haiku-4-5", "Haiku 4.5", 1, 5, 1.25, 0.1),
)
ALIASES = {facts.family: facts.id for facts in reversed(MODELS)}
BY_ID = {facts.id: facts for facts in MODELS}
DATED = re.compile(r"-(?:20\d{6}|latest)$")
WIDE = "[1m]"
"""What a name ends in to ask for the wide window."""


def default_model(environment: Mapping[str, str]) -> str:
    """The model of a session that names none: what the environment says, else the newest Sonnet."""
    named = environment.get("HANDRAIL_MODEL") or environment.get("ANTHROPIC_MODEL") or "sonnet"
    return resolve("sonnet" if named == "default" else named, environment)


def resolve(name: str, environment: Mapping[str, str] | None = None) -> str:
    """The id that the API is given. In: an id, which stays as it is, or an alias; empty or `default` is the default."""
    environment = environment or {}
    plain = name.strip().removesuffix(WIDE)
    if plain in ("", "default"):
        return default_model(environment)
    alias = plain.lower()
    if alias in ALIASES:
        return environment.get(f"ANTHROPIC_DEFAULT_{alias.upper()}_MODEL") or ALIASES[alias]
    return plain


def facts_of(name: str) -> ModelFacts:
    """What is known of a model, whatever it is called: an id with or without its date, or an alias."""
    id = DATED.sub("", resolve(name))
    if id in BY_ID:
        return BY_ID[id]
    family = next((family for family in ALIASES if family in id), "")
    if family:
        return msgspec.structs.replace(BY_ID[ALIASES[family]], id=id, name=id)
    return _older(id, id, 0, 0, 0, 0)


def cost(usage: Mapping[str, Any], model: str) -> float:
    """USD for one answer. In: its `usage`, as the API tells it."""
    facts = facts_of(model)
    written, read = _count(usage, "cache_creation_input_tokens"), _count(usage, "cache_read_input_tokens")
    for_an_hour = min(_count(usage.get("cache_creation"), "ephemeral_1h_input_tokens"), written)
    fresh = _count(usage, "input_tokens")
    tokens = (
        fresh * facts.input
        + _count(usage, "output_tokens") * facts.output
        + (written - for_an_hour) * facts.cache_write
        + for_an_hour * facts.cache_write_hour
        + read * facts.cache_read
    )
    if facts.long_prompt and fresh + written + read > facts.long_prompt:
        tokens *= facts.long_factor
    return tokens / MILLION + SEARCH_PRICE * _count(usage.get("server_tool_use"), "web_search_requests")


def _count(counts: Any, name: str) -> int:
    """A count of the wire; what is none counts nothing."""
    value: Any = cast("Mapping[str, Any]", counts).get(name) if isinstance(counts, Mapping) else 0
    return value if isinstance(value, int) and value > 0 else 0
