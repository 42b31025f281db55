"""What stands in the lines of an agent. In: decoded lines. Out: those of one kind, their blocks and texts. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from handrail.conform.check import Json

__all__ = ["blocks", "content_of", "inside", "kind", "kinds", "of", "sent_text", "told", "tool_results", "tool_texts"]


def of(lines: Iterable[Json], type: str, subtype: str | None = None) -> list[Json]:
    """The lines of one type, and of one subtype where it is given."""
    return [line for line in lines if line.get("type") == type and subtype in (None, line.get("subtype"))]


def content_of(message: Any) -> list[Json]:
    """The content blocks of a message; a string is one block of text."""
    content = cast("Json", message).get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    found = cast("list[Any]", content) if isinstance(content, list) else []
    return [cast("Json", block) for block in found if isinstance(block, dict)]


def blocks(lines: Iterable[Json], type: str, block: str) -> list[Json]:
    """The blocks of one type in the lines of one type."""
    return [each for line in of(lines, type) for each in content_of(line.get("message")) if each.get("type") == block]


def inside(line: Json, name: str) -> Json:
    """The object under this name; an empty one where there is none."""
    value = line.get(name)
    return cast("Json", value) if isinstance(value, dict) else {}


def tool_results(lines: Iterable[Json]) -> list[Json]:
    """The tool results that were told, in their order."""
    return blocks(lines, "user", "tool_result")


def tool_texts(lines: Iterable[Json]) -> list[str]:
    """The text of every tool result that was told."""
    return [_text(result) for result in tool_results(lines)]


def told(lines: Iterable[Json], type: str = "assistant") -> str:
    """All text of the lines of one type."""
    return "\n".join(str(block.get("text", "")) for block in blocks(lines, type, "text"))


def sent_text(body: Json) -> str:
    """All text in the messages of a request to the model, tool results included."""
    messages = body.get("messages")
    return "\n".join(
        _text(block) if block.get("type") == "tool_result" else str(block.get("text", ""))
        for message in (cast("list[Any]", messages) if isinstance(messages, list) else [])
        for block in content_of(message)
    )


def kind(line: Json) -> str:
    """A line in one word: type, and subtype or the kind of its blocks."""
    request = line.get("request")
    inner = cast("Json", request).get("subtype") if isinstance(request, dict) else line.get("subtype")
    word = inner or "+".join(str(block.get("type")) for block in content_of(line.get("message")))
    return f"{line.get('type')}/{word}" if word else str(line.get("type"))


def kinds(lines: Iterable[Json]) -> str:
    """Several lines in a few words."""
    return ", ".join(map(kind, lines)) or "nothing"


def _text(result: Json) -> str:
    return "\n".join(str(block.get("text", "")) for block in content_of(result))
