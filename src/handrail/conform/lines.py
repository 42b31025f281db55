"""Reads decoded lines of an agent: lines of one type, their blocks and texts. Tolerates malformed lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from handrail.conform.check import Json

__all__ = [
    "blocks",
    "content_of",
    "kind",
    "kinds",
    "nested",
    "of_type",
    "sent_text",
    "text_of",
    "tool_results",
    "tool_texts",
]


def of_type(lines: Iterable[Json], type: str, subtype: str | None = None) -> list[Json]:
    """The lines of one type and, if given, one subtype."""
    return [line for line in lines if line.get("type") == type and subtype in (None, line.get("subtype"))]


def content_of(message: Any) -> list[Json]:
    """The content blocks of a message. Content that is a string counts as one text block."""
    content = cast("Json", message).get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    found = cast("list[Any]", content) if isinstance(content, list) else []
    return [cast("Json", block) for block in found if isinstance(block, dict)]


def blocks(lines: Iterable[Json], type: str, block: str) -> list[Json]:
    """The blocks of one type in the lines of one type."""
    return [
        each for line in of_type(lines, type) for each in content_of(line.get("message")) if each.get("type") == block
    ]


def nested(line: Json, name: str) -> Json:
    """The object in this field; empty if the field is missing or not an object."""
    value = line.get(name)
    return cast("Json", value) if isinstance(value, dict) else {}


def tool_results(lines: Iterable[Json]) -> list[Json]:
    """The tool result blocks, in order."""
    return blocks(lines, "user", "tool_result")


def tool_texts(lines: Iterable[Json]) -> list[str]:
    """The text of each tool result."""
    return [_text(result) for result in tool_results(lines)]


def text_of(lines: Iterable[Json], type: str = "assistant") -> str:
    """The text blocks of all lines of one type, joined by newlines."""
    return "\n".join(str(block.get("text", "")) for block in blocks(lines, type, "text"))


def sent_text(body: Json) -> str:
    """All text in the messages of a request to the model, including tool results."""
    messages = body.get("messages")
    return "\n".join(
        _text(block) if block.get("type") == "tool_result" else str(block.get("text", ""))
        for message in (cast("list[Any]", messages) if isinstance(messages, list) else [])
        for block in content_of(message)
    )


def kind(line: Json) -> str:
    """A short name for a line: its type and its subtype or block types."""
    request = line.get("request")
    inner = cast("Json", request).get("subtype") if isinstance(request, dict) else line.get("subtype")
    word = inner or "+".join(str(block.get("type")) for block in content_of(line.get("message")))
    return f"{line.get('type')}/{word}" if word else str(line.get("type"))


def kinds(lines: Iterable[Json]) -> str:
    """Short names of several lines, for messages."""
    return ", ".join(map(kind, lines)) or "nothing"


def _text(result: Json) -> str:
    return "\n".join(str(block.get("text", "")) for block in content_of(result))
