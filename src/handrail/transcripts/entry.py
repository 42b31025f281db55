"""Decodes one line of a transcript: its references to other lines, its blocks and its text."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")

SPOKEN = frozenset({"user", "assistant"})
"""The types of entries that are messages."""
AGENT = "handrail-agent"
"""The value of `writtenBy`, a field that handrail-agent adds to every entry it writes. The CLI ignores the field."""


class Block(msgspec.Struct, frozen=True):
    """The fields of a content block that chaining and searching need."""

    type: str = ""
    text: str | None = None
    id: str | None = None
    tool_use_id: str | None = None


class Body(msgspec.Struct, frozen=True):
    """The `message` of a user or assistant entry."""

    id: str | None = None
    content: str | list[Block] = ""


class Envelope(msgspec.Struct, frozen=True, rename="camel"):
    """The outer fields of an entry."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    agent_id: str | None = None
    leaf_uuid: str | None = None
    timestamp: str | None = None
    message: msgspec.Raw = msgspec.Raw(b"")


class Entry(msgspec.Struct, frozen=True):
    """One entry of a conversation; `raw` is its line, byte for byte, without the newline."""

    raw: bytes
    type: str
    uuid: str
    parent_uuid: str | None
    timestamp: str | None
    agent_id: str | None

    def decode(self) -> dict[str, Any]:
        """The whole entry as plain data; empty if it cannot be decoded, for example because of a huge number."""
        try:
            return decode(self.raw, dict[str, Any])[0]
        except ValueError:
            return {}

    def blocks(self) -> list[dict[str, Any]]:
        """The content blocks as plain data; a plain string becomes one text block."""
        content = mapping(self.decode().get("message")).get("content")
        return [{"type": "text", "text": content}] if isinstance(content, str) else mappings(content)

    def text(self) -> str:
        """The text blocks, joined by newlines."""
        return "\n".join(block["text"] for block in self.blocks() if isinstance(block.get("text"), str))


def decode(raw: bytes, shape: type[T]) -> tuple[T, bool]:
    """Decode a line as `shape`, and return whether it had to be repaired. Raises ValueError if it does not match.

    An unpaired surrogate or invalid UTF-8 is replaced by U+FFFD, a number that a float cannot hold by null.
    """
    try:
        return msgspec.json.decode(raw, type=shape), False
    except (ValueError, RecursionError):
        pass
    try:
        value = json.loads(raw.decode("utf-8", "replace"), parse_float=_finite, parse_constant=_finite)
        plain = json.dumps(value, ensure_ascii=False)
        text = plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return msgspec.json.decode(text, type=shape), True
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def body(envelope: Envelope) -> tuple[Body, bool]:
    """The message inside an envelope; an empty one if it is missing or has another shape."""
    if not bytes(envelope.message):
        return Body(), False
    try:
        return decode(bytes(envelope.message), Body)
    except ValueError:
        return Body(), False


def texts(message: Body) -> Iterator[str]:
    """The text blocks of a message."""
    if isinstance(message.content, str):
        yield message.content
    else:
        yield from (block.text for block in message.content if block.type == "text" and block.text)


def mapping(value: object) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def mappings(value: object) -> list[dict[str, Any]]:
    """The JSON objects of an array; empty if the value is not an array."""
    return [mapping(item) for item in cast("list[object]", value) if item] if isinstance(value, list) else []


def one_line(text: str, limit: int) -> str:
    """The text on one line, cut at `limit` characters."""
    # Slice first, to avoid scanning a pasted megabyte for its first words.
    flat = re.sub(r"\s+", " ", text[: limit * 4]).strip()
    return flat if len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"
