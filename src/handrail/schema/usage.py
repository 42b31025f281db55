"""What a turn used. In: `usage` and `modelUsage` of results and messages. Out: Usage, ModelUsage."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.schema.view import Count, Number, Part

__all__ = ["CacheCreation", "ModelUsage", "OutputTokenDetails", "ServerToolUsage", "Usage"]


class CacheCreation(Part):
    """Tokens written to the prompt cache, by how long they live."""

    ephemeral_5m_input_tokens: Count = 0
    ephemeral_1h_input_tokens: Count = 0


class ServerToolUsage(Part):
    """Requests made by tools that run at the model's side."""

    web_search_requests: Count = 0
    web_fetch_requests: Count = 0


class OutputTokenDetails(Part):
    """What the output tokens were spent on."""

    thinking_tokens: Count | None = None


class Usage(Part):
    """Tokens of one API answer, or of one turn."""

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

    @property
    def total_input_tokens(self) -> int:
        """All that the model read: new, written to the cache, and read from it."""
        return self.input_tokens + (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)


class ModelUsage(Part, rename="camel"):
    """What one model used, added up since the session's start or the last /clear."""

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
