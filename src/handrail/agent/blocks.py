"""Content blocks of the Messages API."""

from __future__ import annotations

from typing import Any

__all__ = ["missing_result", "reminder", "text_block"]

JsonObject = dict[str, Any]


def text_block(text: str) -> JsonObject:
    """A block of text."""
    return {"type": "text", "text": text}


def reminder(text: str) -> str:
    """A text that the agent adds to the conversation, marked so that the model does not take it for the user's."""
    return f"<system-reminder>\n{text}\n</system-reminder>"


def missing_result(id: str, text: str) -> JsonObject:
    """The result of a tool call that did not finish."""
    return {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": True}
