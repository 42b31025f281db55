"""Pictures and documents that the API refuses are taken out of the conversation, so that it can go on. Pure."""

from __future__ import annotations

import re
from typing import Any, Final, cast

from handrail.agent.blocks import text_block
from handrail.agent.models.base import ModelError

__all__ = ["refused_media", "without_media"]

JsonObject = dict[str, Any]
_ABOUT: Final = (
    ("image", re.compile(r"\bimages?\b", re.IGNORECASE)),
    ("document", re.compile(r"\b(?:pdf|document)s?\b", re.IGNORECASE)),
)
_NOTE: Final = "[A {kind} was here. The API refused it, and it was removed. Use another way if you still need it.]"


def refused_media(error: ModelError) -> str:
    """The kind of block that the API refuses with this error, "image" or "document"; "" for another error."""
    if error.status not in (400, 413):
        return ""
    return next((kind for kind, words in _ABOUT if words.search(error.message)), "")


def without_media(messages: list[JsonObject], kind: str) -> list[JsonObject] | None:
    """The messages with a note in place of each block of this kind; None if there is none.

    Messages without such a block stay the same objects.
    """
    changed = [_without(message, kind) for message in messages]
    return changed if any(after is not before for after, before in zip(changed, messages, strict=True)) else None


def _without(holder: JsonObject, kind: str) -> JsonObject:
    """A message or a tool result without these blocks; the same object if it has none."""
    content: Any = holder.get("content")
    if not isinstance(content, list):
        return holder
    before = cast("list[JsonObject]", content)
    note = text_block(_NOTE.format(kind=kind))
    after = [note if block.get("type") == kind else _without(block, kind) for block in before]
    return {**holder, "content": after} if any(a is not b for a, b in zip(after, before, strict=True)) else holder
