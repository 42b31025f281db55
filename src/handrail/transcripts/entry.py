"""One line of a transcript. In: the raw bytes of a line. Out: its links to other lines, its blocks and its text."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")

SPOKEN = frozenset({"user", "assistant"})
"""The entry types that are the conversation itself."""


class Block(msgspec.Struct, frozen=True):
    """What is needed of a content block to chain entries and to find text; the rest stays in the raw bytes."""

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
        """The whole entry as plain data; empty if a value inside is beyond what can be read, such as a huge number."""
        try:
            return decode(self.raw, dict[str, Any])[0]
        except ValueError:
            return {}

    def blocks(self) -> list[dict[str, Any]]:
        """The content blocks as plain data; a plain string becomes one text block."""
        content = mapping(self.decode().get("message")).get("content")
        return [{"type": "text", "text": content}] if isinstance(content, str) else mappings(content)

    def text(self) -> str:
        """What was said: the text blocks, joined."""
        return "\n".join(block["text"] for block in self.blocks() if isinstance(block.get("text"), str))


def decode(raw: bytes, shape: type[T]) -> tuple[T, bool]:
    """A line as `shape`, and whether it had to be repaired. Raises ValueError for a line that is no such JSON.

    Half a surrogate pair or a byte that is not UTF-8 damages one character, not the entry: it becomes U+FFFD. A number
    that JSON or a float cannot hold becomes null.
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
    """The message inside an envelope; an empty one if there is none or it has a shape of its own."""
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
    """The JSON objects of an array; whatever else is in it, or it is instead, is left out."""
    return [mapping(item) for item in cast("list[object]", value) if item] if isinstance(value, list) else []


def one_line(text: str, limit: int) -> str:
    """The text on one line, cut at `limit` characters."""
    # The slice first: a pasted megabyte need not be scanned to show its first words.
    flat = re.sub(r"\s+", " ", text[: limit * 4]).strip()
    return flat if len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"
