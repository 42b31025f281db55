"""`usage` and `modelUsage` of results and messages."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.schema.view import Count, Number, Part

__all__ = ["CacheCreation", "ModelUsage", "OutputTokenDetails", "ServerToolUsage", "Usage"]


class CacheCreation(Part):
    """Tokens written to the prompt cache, by their lifetime."""

    always = frozenset({"ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"})
    ephemeral_5m_input_tokens: Count = 0
    ephemeral_1h_input_tokens: Count = 0


class ServerToolUsage(Part):
    """Requests made by tools that run at the API."""

    always = frozenset({"web_search_requests", "web_fetch_requests"})
    web_search_requests: Count = 0
    web_fetch_requests: Count = 0


class OutputTokenDetails(Part):
    """A breakdown of the output tokens."""

    always = frozenset({"thinking_tokens"})
    thinking_tokens: Count | None = None


class Usage(Part):
    """Tokens of one API answer, or of one turn."""

    always = frozenset({"input_tokens", "output_tokens"})
    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation: CacheCreation | None = None
    server_tool_use: ServerToolUsage | None = None
    output_tokens_details: OutputTokenDetails | None = None
    service_tier: str | None = None
    inference_geo: str | None = None
    speed: str | None = None
    iterations: Any = None
    fallback_credit: Any = None

    @property
    def total_input_tokens(self) -> int:
        """All input tokens: new, written to the cache, and read from it."""
        return self.input_tokens + (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)


class ModelUsage(Part, rename="camel"):
    """The usage of one model since the start of the session or the last /clear."""

    always = frozenset(
        {
            "inputTokens",
            "outputTokens",
            "cacheReadInputTokens",
            "cacheCreationInputTokens",
            "webSearchRequests",
            "costUSD",
            "contextWindow",
            "maxOutputTokens",
        }
    )
    input_tokens: Count = 0
    output_tokens: Count = 0
    thinking_tokens: Count | None = None
    cache_read_input_tokens: Count = 0
    cache_creation_input_tokens: Count = 0
    cache_creation_5m_input_tokens: Count | None = msgspec.field(
        default=None, name="cacheCreationEphemeral5mInputTokens"
    )
    cache_creation_1h_input_tokens: Count | None = msgspec.field(
        default=None, name="cacheCreationEphemeral1hInputTokens"
    )
    web_search_requests: Count = 0
    cost_usd: Number = msgspec.field(default=0, name="costUSD")
    context_window: Count = 0
    max_output_tokens: Count = 0
    canonical_model: str = ""
    provider: str = ""
    cost_basis: str = ""
