"""One line about the usage of turns."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.cli.terminal import one_line
from handrail.client.usage import TurnUsage
from handrail.schema.result_message import ResultMessage

__all__ = ["figures_of"]


def figures_of(results: Sequence[tuple[ResultMessage, TurnUsage]]) -> str:
    """One line for all of them together."""
    used = [usage for _, usage in results]
    seconds = sum(float(message.duration_ms) for message, _ in results) / 1000
    tokens_in, tokens_out = sum(usage.input_tokens for usage in used), sum(usage.output_tokens for usage in used)
    figures = [
        f"${sum(usage.cost_usd for usage in used):.4f}",
        f"{tokens_in:,} tokens in, {tokens_out:,} out",
        f"{seconds:.1f} s",
        f"session {one_line(results[-1][0].session_id, 60)}" if results else "",
    ]
    return " · ".join(filter(None, figures))
