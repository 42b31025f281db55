"""Data of MCP servers, made safe for the model and the user: names, descriptions, schemas, tool results, resources.

A description is part of every request to the model, so characters that a reader cannot see are removed. A name becomes
part of `mcp__server__tool`, for which users write rules, so no server can take a name that reads like another's.
Results are bounded in blocks, text and image size, and links in them are never fetched.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from handrail.agent.tools.large_output import persisted, saved

__all__ = [
    "LONGEST_DESCRIPTION",
    "Shown",
    "clean",
    "clean_schema",
    "failure_text",
    "inline_limit",
    "keep_in",
    "malformed",
    "resource_content",
    "save_large",
    "server_key",
    "shortened",
    "shown",
    "tool_key",
]

JsonObject = dict[str, Any]
Keep = Callable[[str, bytes], str]
"""Saves data that is too long to show, under this suffix. Returns the path, or "" if it was not saved."""

LONGEST_DESCRIPTION: Final = 2048
LONGEST_NAME: Final = 64
LONGEST_FULL_NAME: Final = 128
"""The limit of the Messages API."""
DEEPEST: Final = 40

_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]"
    "|[\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")
_CALL_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")
_TEXTS: Final = frozenset({"description", "title", "$comment"})
MOST_BLOCKS: Final = 1000
LARGEST_PICTURE: Final = 10 * 1024 * 1024
"""Characters of base64 that a server may send as one picture. Pictures too large for the model are scaled later."""
PICTURES: Final = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
DEFAULT_TOKENS: Final = 25_000
CHARACTERS_PER_TOKEN: Final = 4
MOST_INLINE: Final = 1024 * 1024
_FIELDS: Final[Mapping[Any, tuple[str, type]]] = {
    "text": ("text", str),
    "image": ("data", str),
    "audio": ("data", str),
    "resource": ("resource", dict),
    "resource_link": ("uri", str),
}
"""The field that a block of each type must have, and the type of its value."""


# Names and descriptions


def clean(text: object, limit: int = LONGEST_DESCRIPTION) -> str:
    """Text without control and invisible characters, cut at the limit; "" for other types."""
    return shortened(_UNSEEN.sub("", text), limit) if isinstance(text, str) else ""


def shortened(text: str, limit: int) -> str:
    """Text of at most `limit` characters; an ellipsis marks the cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def server_key(name: str) -> str:
    """A server's name inside the names of its tools, without `__`, which separates the two. "" if it is unusable."""
    key = re.sub("_{2,}", "_", _OTHER.sub("_", name)).strip("_")
    return key if len(key) <= LONGEST_NAME else ""


def tool_key(server: str, tool: object) -> str:
    """The full name of a tool, such as `mcp__server__tool`; "" if its own name is unusable."""
    if not isinstance(tool, str) or not 0 < len(tool) <= LONGEST_NAME:
        return ""
    name = f"mcp__{server}__{_OTHER.sub('_', tool)}"
    return name if len(name) <= LONGEST_FULL_NAME else ""


def clean_schema(schema: Any) -> JsonObject:
    """An input schema with clean descriptions. Raises ValueError if the Messages API would reject it."""
    if not isinstance(schema, dict):
        raise ValueError("its input schema is not an object")
    given = cast("JsonObject", schema)
    if given.get("type", "object") != "object":
        raise ValueError("its input schema does not describe an object")
    return {"type": "object", **cast("JsonObject", _cleaned(given, 0))}


def _cleaned(value: Any, depth: int) -> Any:
    if depth > DEEPEST:
        raise ValueError("its input schema is nested too deep")
    if isinstance(value, dict):
        entries = cast("JsonObject", value)
        return {
            key: clean(item) if key in _TEXTS and isinstance(item, str) else _cleaned(item, depth + 1)
            for key, item in entries.items()
        }
    if isinstance(value, list):
        return [_cleaned(item, depth + 1) for item in cast("list[Any]", value)]
    return value


# Results


class Shown(msgspec.Struct, frozen=True):
    """A result: `content` for the model, `detail` for the host."""

    content: list[JsonObject]
    detail: Any


def inline_limit(environment: Mapping[str, str]) -> int:
    """Characters of a result that the model sees; MAX_MCP_OUTPUT_TOKENS changes it."""
    tokens = environment.get("MAX_MCP_OUTPUT_TOKENS", "")
    chosen = int(tokens) if tokens.isascii() and tokens.isdecimal() and len(tokens) < 9 else DEFAULT_TOKENS
    return min(max(chosen, 100) * CHARACTERS_PER_TOKEN, MOST_INLINE)


def malformed(result: JsonObject) -> str:
    """What is wrong with the shape of a result; "" if nothing is. A missing `content` is empty."""
    content = result.get("content", [])
    if not isinstance(content, list):
        return "`content` is not a list"
    for index, block in enumerate(cast("list[Any]", content)[:MOST_BLOCKS]):
        if not isinstance(block, dict):
            return f"`content[{index}]` is not an object"
        kind = cast("JsonObject", block).get("type")
        if kind not in _FIELDS:
            return f"`content[{index}]` has the unknown type {clean(kind, 40)!r}"
        field, type_ = _FIELDS[kind]
        if not isinstance(cast("JsonObject", block).get(field), type_):
            return f"`content[{index}].{field}` is missing or of the wrong type"
    return ""


def shown(result: JsonObject, *, server: str, limit: int, keep: Keep) -> Shown:
    """Convert a result. Structured content replaces the text blocks."""
    raw = result.get("content")
    blocks = cast("list[Any]", raw) if isinstance(raw, list) else []
    content = _Reading(server, limit, keep).read(blocks)
    structured = result.get("structuredContent")
    if structured is None:
        return Shown(content, content)
    text = msgspec.json.encode(structured).decode()
    texts = _Reading(server, limit, keep).read([{"type": "text", "text": text}])
    pictures = [block for block in content if block["type"] != "text"]
    bounded = structured if len(text) <= limit else texts[0]["text"]
    return Shown([*texts, *pictures], {"content": content, "structuredContent": bounded})


def save_large(result: JsonObject, limit: int, keep: Keep) -> str:
    """Save a result of text blocks that exceed the limit. Returns the text for the model; "" if nothing was saved."""
    raw = result.get("content")
    blocks = cast("list[Any]", raw) if isinstance(raw, list) else []
    texts = [cast("JsonObject", block).get("text") for block in blocks if isinstance(block, dict)]
    if sum(len(text) for text in texts if isinstance(text, str)) <= limit or len(blocks) > MOST_BLOCKS:
        return ""
    if not all(isinstance(text, str) for text in texts) or len(texts) != len(blocks):
        return ""
    if len(texts) == 1:  # as lines, so that parts of it can be read
        data, suffix = str(texts[0]).encode("utf-8", "replace"), ".txt"
    else:
        data, suffix = msgspec.json.format(msgspec.json.encode(blocks), indent=2), ".json"
    path = keep(suffix, data)
    return persisted(data.decode(), len(data), path) if path else ""


def failure_text(content: Sequence[JsonObject]) -> str:
    """The error text for the model after a failed call."""
    texts = [str(block["text"]) for block in content if block["type"] == "text"]
    return "\n".join(texts).strip() or "the tool failed and gave no reason"


class _Reading:
    """Converts the blocks of one result and counts the text that is still allowed."""

    def __init__(self, server: str, limit: int, keep: Keep) -> None:
        self._server, self._limit, self._left, self._keep = server, limit, limit, keep
        self._kinds: Mapping[str, Callable[[JsonObject], list[JsonObject]]] = {
            "text": lambda block: [self._text(block.get("text"))],
            "image": lambda block: self._picture(block.get("data"), block.get("mimeType")),
            "audio": lambda block: self._blob(block.get("data"), block.get("mimeType"), "sound"),
            "resource": lambda block: self.resource(block.get("resource")),
            "resource_link": self._link,
        }

    def read(self, blocks: list[Any]) -> list[JsonObject]:
        found: list[JsonObject] = []
        for block in blocks[:MOST_BLOCKS]:
            kind = cast("JsonObject", block).get("type") if isinstance(block, dict) else None
            reader = self._kinds.get(kind) if isinstance(kind, str) else None
            found += (
                reader(cast("JsonObject", block))
                if reader
                else [self._note(f"a block of unknown kind {clean(kind, 40)!r}")]
            )
        if len(blocks) > MOST_BLOCKS:
            found.append(_plain(f"[{len(blocks) - MOST_BLOCKS} more blocks were left out]"))
        return [block for block in found if block.get("text") != ""]

    def _text(self, text: Any) -> JsonObject:
        whole = text if isinstance(text, str) else ""
        if len(whole) <= self._left:
            self._left -= len(whole)
            return _plain(whole)
        cut, self._left = whole[: self._left], 0
        where = self._keep(".txt", whole.encode("utf-8", "replace"))
        rest = f"the whole text is in {where}" if where else "ask for less at a time"
        return _plain(f"{cut}\n[cut off after {len(cut)} of {len(whole)} characters; {rest}]")

    def _note(self, what: str) -> JsonObject:
        return self._text(f"[{what} was left out]")

    def _picture(self, data: Any, kind: Any) -> list[JsonObject]:
        if not isinstance(data, str) or kind not in PICTURES:
            return self._blob(data, kind, "picture")
        if len(data) > LARGEST_PICTURE:
            return [self._note(f"a picture of {len(data) * 3 // 4} bytes, more than can be shown,")]
        try:
            plain = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return [self._note("a picture that is not base64")]
        source = {"type": "base64", "media_type": kind, "data": data}
        where = self._keep(PICTURES[kind], plain)
        note = [_plain(f"[Image: source: {where}]")] if where else []
        return [{"type": "image", "source": source}, *note]

    def _blob(self, data: Any, kind: Any, word: str) -> list[JsonObject]:
        try:
            plain = base64.b64decode(data, validate=True) if isinstance(data, str) else b""
        except (binascii.Error, ValueError):
            plain = b""
        where = self._keep(".bin", plain) if plain else ""
        what = f"{word} of type {clean(kind, 80) or 'unknown'}, {len(plain)} bytes"
        return [self._text(f"[{what}, is in {where}]")] if where else [self._note(what + ",")]

    def _link(self, block: JsonObject) -> list[JsonObject]:
        name, uri = clean(block.get("name"), 200), clean(block.get("uri"), 2000)
        about = clean(block.get("description"), 500)
        return [self._text(f"[Resource link: {name}] {uri}{f' ({about})' if about else ''}")]

    def resource(self, resource: Any) -> list[JsonObject]:
        given = cast("JsonObject", resource) if isinstance(resource, dict) else {}
        head = f"[Resource from {self._server} at {clean(given.get('uri'), 2000)}] "
        if isinstance(given.get("text"), str):
            return [self._text(head + given["text"])]
        return [self._text(head), *self._picture(given.get("blob"), given.get("mimeType"))]


def resource_content(contents: Any, *, server: str, limit: int, keep: Keep) -> list[JsonObject]:
    """The parts of a resource as blocks of the Messages API."""
    parts = cast("list[Any]", contents) if isinstance(contents, list) else []
    return _Reading(server, limit, keep).read([{"type": "resource", "resource": part} for part in parts])


def keep_in(folder: str, server: str, *, call_id: str = "") -> Keep:
    """A Keep that writes to this folder, under unguessable names; JSON is named after the call, as in the CLI."""

    def keep(suffix: str, data: bytes) -> str:
        if not folder:
            return ""
        of_call = suffix == ".json" and _CALL_ID.fullmatch(call_id) is not None
        name = call_id if of_call else f"mcp-{server}-{os.urandom(8).hex()}"
        return saved(os.path.join(folder, name + suffix), data)

    return keep


def _plain(text: str) -> JsonObject:
    return {"type": "text", "text": text}
