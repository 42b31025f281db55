"""The words of a line, for searching. In: a message of the CLI. Out: what was said in it; nothing for most kinds."""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec

from handrail.protocol import Message

__all__ = ["frame_text"]

MOST: Final = 20_000
_SPOKEN: Final = frozenset({"user", "assistant"})


class _Body(msgspec.Struct):
    content: Any = None


class _Line(msgspec.Struct):
    message: _Body = msgspec.field(default_factory=_Body)
    isReplay: bool = False  # noqa: N815 - as it is written


_decode = msgspec.json.Decoder(_Line).decode


def frame_text(message: Message) -> str:
    """The text of what the user or the model said, and of results of tools; not of echoes."""
    if message.type not in _SPOKEN:
        return ""
    try:
        line = _decode(message.raw)
    except msgspec.MsgspecError:
        return ""
    return "" if line.isReplay else _text(line.message.content)[:MOST]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    blocks = [cast("dict[str, Any]", part) for part in parts if isinstance(part, dict)]
    return "\n".join(_text(block.get("text") or block.get("content")) for block in blocks)
