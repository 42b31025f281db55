"""Lines of a CLI with the fields that matter, as dicts."""

from __future__ import annotations

from typing import Any

__all__ = ["COST", "MODEL", "USED", "assistant_line", "init_line", "result_line", "stream_line"]

MODEL = "scripted-model"
COST = 0.25
"""The cost of each turn; a binary fraction, so that sums are exact."""
USED = {"inputTokens": 10, "outputTokens": 5, "cacheReadInputTokens": 100, "cacheCreationInputTokens": 1}
"""The usage of each turn."""
WINDOW = 200_000


def init_line(**fields: Any) -> dict[str, Any]:
    """The first line of a turn."""
    common = {"model": MODEL, "tools": ["Bash"], "mcp_servers": [], "cwd": "/project", "permissionMode": "default"}
    return {"type": "system", "subtype": "init", **common, "capabilities": ["interrupt_receipt_v1"], **fields}


def assistant_line(*content: str | dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A message of the model, from texts and blocks."""
    blocks = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    usage = {"input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 1, "output_tokens": 5}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": blocks}
    message |= {"stop_reason": None, "usage": usage}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None, **fields}


def stream_line(text: str, **fields: Any) -> dict[str, Any]:
    """A text delta."""
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    return {"type": "stream_event", "event": event, "parent_tool_use_id": None, **fields}


def result_line(turns: int, **fields: Any) -> dict[str, Any]:
    """The last line of a turn. Its figures are totals of the session, which has had `turns` turns."""
    used: dict[str, Any] = {name: count * turns for name, count in USED.items()}
    used |= {"costUSD": COST * turns, "contextWindow": WINDOW}
    line = {"subtype": "success", "is_error": False, "result": "", "stop_reason": "end_turn", "num_turns": 1}
    line |= {"terminal_reason": "completed", "duration_ms": 1, "permission_denials": [], "type": "result"}
    return {**line, "total_cost_usd": COST * turns, "modelUsage": {MODEL: used}, **fields}
