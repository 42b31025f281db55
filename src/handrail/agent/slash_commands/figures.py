"""Commands that count: /cost, /usage, /context. In: the books and the conversation. Out: text."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import msgspec

from handrail.agent.models.prices import facts_of
from handrail.agent.slash_commands.command import Command, Local

if TYPE_CHECKING:
    from handrail.agent.engine import Engine

__all__ = ["COMMANDS", "context_parts", "cost_text"]

_CHARACTERS: Final = 4
"""As many make about one token."""


def cost_text(engine: Engine) -> str:
    """What the session has cost and used."""
    ledger = engine.ledger
    lines = [
        f"Total cost:            ${ledger.total_cost:.4f}",
        f"Total duration (API):  {_time(ledger.api_ms / 1000)}",
        f"Total duration (wall): {_time(monotonic() - engine.commands.begun)}",
        f"Total code changes:    {ledger.lines_added} lines added, {ledger.lines_removed} lines removed",
    ]
    models = ledger.models()
    lines += ["Usage by model:"] if models else []
    lines += [
        f"  {name}: {entry['inputTokens']:,} input, {entry['outputTokens']:,} output,"
        f" {entry['cacheReadInputTokens']:,} cache read, {entry['cacheCreationInputTokens']:,} cache write"
        f" (${entry['costUSD']:.4f})"
        for name, entry in models.items()
    ]
    return "\n".join(lines)


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes}m {rest}s" if hours else f"{minutes}m {rest}s" if minutes else f"{rest}s"


async def context_parts(engine: Engine) -> dict[str, int]:
    """How the window is filled: tokens by category, free space and the room kept for a summary included.

    Only the whole is counted by the API; the parts are estimated, and the messages are what is left."""
    from handrail.agent.compaction import FULL

    window = facts_of(engine.session.model).context_window
    tools = engine.toolbox.offered()
    from_servers = [tool for name, tool in tools.items() if name.startswith("mcp__")]
    own = [tool for name, tool in tools.items() if not name.startswith("mcp__") and name != "Skill"]
    parts = {
        "System prompt": _estimate(engine.thread.system()),
        "System tools": sum(map(_tool_tokens, own)),
        "MCP tools": sum(map(_tool_tokens, from_servers)),
        "Skills": sum(_tool_tokens(tool) for name, tool in tools.items() if name == "Skill"),
    }
    counted = engine.history.tokens or await engine.asides.count()
    parts["Messages"] = max(counted - sum(parts.values()), 0) if counted else _estimate(engine.history.messages)
    used = sum(parts.values())
    buffer = round(window * (1 - FULL))
    return {**parts, "Free space": max(window - used - buffer, 0), "Autocompact buffer": buffer}


def _tool_tokens(tool: Any) -> int:
    return _estimate([tool.name, tool.description, tool.schema()])


def _estimate(value: Any) -> int:
    return len(msgspec.json.encode(value)) // _CHARACTERS if value else 0


async def _cost(engine: Engine, arguments: str) -> str:
    return cost_text(engine)


async def _context(engine: Engine, arguments: str) -> str:
    window, parts = facts_of(engine.session.model).context_window, await context_parts(engine)
    used = sum(parts.values()) - parts["Free space"] - parts["Autocompact buffer"]
    rows = [f"| {name} | {_short(tokens)} | {tokens / window:.1%} |" for name, tokens in parts.items() if tokens]
    lines = [
        "## Context Usage",
        "",
        f"**Model:** {engine.session.model}  ",
        f"**Tokens:** {_short(used)} / {_short(window)} ({used / window:.0%})",
        "",
        "| Category | Tokens | Percentage |",
        "|----------|--------|------------|",
        *rows,
    ]
    return "\n".join(lines)


def _short(tokens: int) -> str:
    for size, sign in ((1_000_000, "m"), (1_000, "k")):
        if tokens >= size:
            return f"{tokens / size:.1f}".removesuffix(".0") + sign
    return str(tokens)


COMMANDS: Final = (
    Command("cost", "What this session has cost", local=Local(_cost)),
    Command("usage", "What this session has used", local=Local(_cost)),
    Command("context", "How full the window is, and of what", local=Local(_context)),
)
