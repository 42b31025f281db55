"""Published facts about models: ids, aliases, context windows, limits and prices. Pure.

The table is of the day `AS_OF`. An unknown model of a known family has the price and the limits of the newest one of
that family. A model of an unknown family is free and has a window of 200,000 tokens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

__all__ = [
    "AS_OF",
    "DEMO_MODEL",
    "DEMO_NAMES",
    "MODELS",
    "NO_MODEL",
    "WIDE",
    "ModelFacts",
    "cost",
    "default_model",
    "facts_of",
    "is_demo",
    "needs_wide_window",
    "resolve",
]

AS_OF = "2026-11-15"
MILLION = 1_000_000
DEMO_MODEL = "Demo"
"""The name of the built-in script. It is not in the price list, so its answers cost nothing."""
DEMO_NAMES = frozenset({DEMO_MODEL, "handrail-script-1"})
"""Its names in transcripts; the second is that of version 0.1."""
NO_MODEL = "{model} is not available in Demo mode; connect a model first, for example with `handrail connect`"
SEARCH_PRICE = 0.01
"""USD for one web search that the API does."""


class ModelFacts(Struct, frozen=True):
    """One model. Prices are in USD per million tokens; a cache entry of one hour costs twice the input price."""

    id: str
    name: str
    input: float
    output: float
    cache_write: float
    cache_read: float
    context_window: int = 1_000_000
    max_output: int = 128_000
    usual_output: int = 64_000
    """Tokens that one answer may have where nothing asks for more or less."""
    adaptive_thinking: bool = True
    always_thinks: bool = False
    can_think: bool = True
    efforts: tuple[str, ...] = ("low", "medium", "high", "xhigh", "max")
    usual_effort: str = "high"
    reads_first: bool = False
    """Whether files must be read before it changes them; newer models do so where it matters."""
    long_prompt: int = 0
    """Prompts with more tokens than this cost `long_factor` times as much; 0 if the price never changes."""
    long_factor: float = 1

    @property
    def cache_write_hour(self) -> float:
        return 2 * self.input

    @property
    def family(self) -> str:
        """The second part of the id, such as `opus`; "" for ids of another form."""
        return self.id.split("-")[1] if "-" in self.id else ""


def _older(id: str, name: str, *prices: float) -> ModelFacts:
    """A model with a window of 200,000 tokens, a thinking budget and no effort levels."""
    input, output, cache_write, cache_read = prices
    facts = ModelFacts(id, name, input, output, cache_write, cache_read, 200_000, 32_000, 32_000)
    return msgspec.structs.replace(facts, adaptive_thinking=False, efforts=(), reads_first=True)


def _newest(id: str, name: str, *prices: float, **facts: Any) -> ModelFacts:
    """A model of the current generation: long answers, and medium effort where nothing asks for another."""
    input, output, cache_write, cache_read = prices
    long = {"usual_output": 128_000, "usual_effort": "medium"}
    return ModelFacts(id, name, input, output, cache_write, cache_read, **long, **facts)


# Newest first within a family: an alias means the first model of its family.
MODELS: tuple[ModelFacts, ...] = (
    # Fable 5.2 had no published price on that day; this is the price of 5.1.
    _newest("claude-fable-5-2", "Fable 5.2", 10, 50, 12.5, 0.25, always_thinks=True),
    ModelFacts("claude-fable-5-1", "Fable 5.1", 10, 50, 12.5, 0.25, always_thinks=True),
    ModelFacts("claude-fable-5", "Fable 5", 10, 50, 12.5, 1, always_thinks=True),
    _newest("claude-opus-5-5", "Opus 5.5", 4, 20, 5, 0.2, always_thinks=True),
    ModelFacts("claude-opus-5", "Opus 5", 5, 25, 6.25, 0.5),
    ModelFacts("claude-opus-4-8", "Opus 4.8", 5, 25, 6.25, 0.5),
    ModelFacts("claude-opus-4-7", "Opus 4.7", 5, 25, 6.25, 0.5, usual_effort="xhigh"),
    ModelFacts("claude-opus-4-6", "Opus 4.6", 5, 25, 6.25, 0.5, reads_first=True),
    _older("claude-opus-4-5", "Opus 4.5", 5, 25, 6.25, 0.5),
    _older("claude-opus-4-1", "Opus 4.1", 15, 75, 18.75, 1.5),
    _older("claude-opus-4", "Opus 4", 15, 75, 18.75, 1.5),
    _newest("claude-sonnet-5-5", "Sonnet 5.5", 2, 10, 2.5, 0.1),
    ModelFacts("claude-sonnet-5", "Sonnet 5", 2, 10, 2.5, 0.2),
    ModelFacts("claude-sonnet-4-6", "Sonnet 4.6", 3, 15, 3.75, 0.3, max_output=64_000, usual_output=32_000),
    _older("claude-sonnet-4-5", "Sonnet 4.5", 3, 15, 3.75, 0.3),
    _older("claude-sonnet-4", "Sonnet 4", 3, 15, 3.75, 0.3),
    _newest("claude-haiku-5-5", "Haiku 5.5", 0.1, 0.5, 0.125, 0.01, long_prompt=100_000, long_factor=5),
    _older("claude-haiku-4-5", "Haiku 4.5", 1, 5, 1.25, 0.1),
)
ALIASES = {facts.family: facts.id for facts in reversed(MODELS)}
BY_ID = {facts.id: facts for facts in MODELS}
DATED = re.compile(r"-(?:20\d{6}|latest)$")
_FIRST_GENERATIONS = re.compile(r"claude-[123](?:-|$)")
"""Their answers are short, and they have neither thoughts nor effort levels."""
WIDE = "[1m]"
"""A model name with this suffix asks for a context window of one million tokens."""
DEFAULT_ALIAS = "opus"
"""The model of a session that names none, as in the CLI."""
_FAMILY_VARIABLE = "ANTHROPIC_DEFAULT_{family}_MODEL"
_MODEL_VARIABLES = ("HANDRAIL_SCRIPT", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL")
"""Each of these variables chooses a model other than the built-in script."""


def is_demo(environment: Mapping[str, str]) -> bool:
    """Whether the built-in script answers, because no other model is configured."""
    return not any(environment.get(name) for name in _MODEL_VARIABLES)


def default_model(environment: Mapping[str, str]) -> str:
    """The model of a session that names none: HANDRAIL_MODEL, ANTHROPIC_MODEL, else the newest Opus."""
    named = environment.get("HANDRAIL_MODEL") or environment.get("ANTHROPIC_MODEL") or DEFAULT_ALIAS
    return resolve(DEFAULT_ALIAS if named == "default" else named, environment)


def resolve(name: str, environment: Mapping[str, str] | None = None) -> str:
    """The id of a model. Ids stay as they are, aliases become the newest model of their family.

    ANTHROPIC_DEFAULT_OPUS_MODEL and its siblings say what an alias means. `[1m]` at the end is kept: requests turn it
    into a beta header. An empty name and `default` are the default model.
    """
    environment = environment or {}
    given = name.strip()
    plain, wide = given.removesuffix(WIDE), WIDE if given.endswith(WIDE) else ""
    if plain in ("", "default"):
        return default_model(environment)
    alias = plain.lower()
    if alias not in ALIASES:
        return given
    chosen = environment.get(_FAMILY_VARIABLE.format(family=alias.upper())) or ALIASES[alias]
    return chosen if chosen.endswith(WIDE) else chosen + wide


def facts_of(name: str) -> ModelFacts:
    """The facts about a model, by an id with or without a date, or by an alias."""
    resolved = resolve(name)
    id = DATED.sub("", resolved.removesuffix(WIDE))
    family = next((family for family in ALIASES if family in id), "")
    if id in BY_ID:
        facts = BY_ID[id]
    elif family and _FIRST_GENERATIONS.match(id):
        facts = msgspec.structs.replace(_older(id, id, 3, 15, 3.75, 0.3), can_think=False)
    elif family:
        facts = msgspec.structs.replace(BY_ID[ALIASES[family]], id=id, name=id)
    else:
        facts = msgspec.structs.replace(_older(id, id, 0, 0, 0, 0), reads_first=False)
    if resolved.endswith(WIDE) and facts.context_window < MILLION:
        return msgspec.structs.replace(facts, context_window=MILLION)
    return facts


def needs_wide_window(name: str) -> bool:
    """Whether a request has to ask for the window of one million tokens: the name does, and it is not the usual one."""
    return name.endswith(WIDE) and facts_of(name.removesuffix(WIDE)).context_window < MILLION


def cost(usage: Mapping[str, Any], model: str) -> float:
    """The price of one answer in USD, by the `usage` that the API reported."""
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
    """A count that the API reported; an invalid one is 0."""
    value: Any = cast("Mapping[str, Any]", counts).get(name) if isinstance(counts, Mapping) else 0
    return value if isinstance(value, int) and value > 0 else 0
