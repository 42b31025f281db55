"""What a tool gave back, as the model may see it. In: the result of a tools/call or a resource. Out: blocks of the API.

Everything is bounded: how many blocks, how much text, how large a picture. What a result only points to is not fetched.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from handrail.agent.mcp.plain import clean

__all__ = ["Shown", "failure_text", "inline_limit", "keep_in", "shown"]

JsonObject = dict[str, Any]
Keep = Callable[[str, bytes], str]
"""Puts away what is too long to be shown. In: a suffix, bytes. Out: where it lies, or "" where nowhere."""

MOST_BLOCKS: Final = 1000
LARGEST_PICTURE: Final = 5 * 1024 * 1024
"""In characters of base64: what the Messages API takes."""
PICTURES: Final = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
DEFAULT_TOKENS: Final = 25_000
CHARACTERS_PER_TOKEN: Final = 4
MOST_INLINE: Final = 1024 * 1024


class Shown(msgspec.Struct, frozen=True):
    """A result: `content` for the model, `detail` for hosts."""

    content: list[JsonObject]
    detail: Any


def inline_limit(environment: Mapping[str, str]) -> int:
    """How many characters of a result the model is shown; MAX_MCP_OUTPUT_TOKENS changes it."""
    tokens = environment.get("MAX_MCP_OUTPUT_TOKENS", "")
    chosen = int(tokens) if tokens.isascii() and tokens.isdecimal() and len(tokens) < 9 else DEFAULT_TOKENS
    return min(max(chosen, 100) * CHARACTERS_PER_TOKEN, MOST_INLINE)


def shown(result: JsonObject, *, server: str, limit: int, keep: Keep) -> Shown:
    """Read a result. Where it has structured content, that stands in place of its texts."""
    raw = result.get("content")
    blocks = cast("list[Any]", raw) if isinstance(raw, list) else []
    content = _Reading(server, limit, keep).read(blocks)
    structured = result.get("structuredContent")
    if structured is None:
        return Shown(content, content)
    text = msgspec.json.encode(structured).decode()
    told = _Reading(server, limit, keep).read([{"type": "text", "text": text}])
    pictures = [block for block in content if block["type"] != "text"]
    bounded = structured if len(text) <= limit else told[0]["text"]
    return Shown([*told, *pictures], {"content": content, "structuredContent": bounded})


def failure_text(content: Sequence[JsonObject]) -> str:
    """What the model is told of a call that failed."""
    texts = [str(block["text"]) for block in content if block["type"] == "text"]
    return "\n".join(texts).strip() or "the tool failed and gave no reason"


class _Reading:
    """One result being read: how much text is still free, and which kind of block is read how."""

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
        told = [_plain(f"[Image: source: {where}]")] if where else []
        return [{"type": "image", "source": source}, *told]

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
    """The parts of a resource as blocks."""
    parts = cast("list[Any]", contents) if isinstance(contents, list) else []
    return _Reading(server, limit, keep).read([{"type": "resource", "resource": part} for part in parts])


def keep_in(folder: str, server: str) -> Keep:
    """Puts what is too long into a folder of ours, under a name that nobody can foresee."""

    def keep(suffix: str, data: bytes) -> str:
        if not folder:
            return ""
        path = os.path.join(folder, f"mcp-{server}-{os.urandom(8).hex()}{suffix}")
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
        except OSError:
            return ""
        return path

    return keep


def _plain(text: str) -> JsonObject:
    return {"type": "text", "text": text}
