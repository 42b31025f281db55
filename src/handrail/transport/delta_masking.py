"""Masks secrets in streamed messages, where one secret may be spread over many deltas.

The text of a content block arrives in pieces of a few characters, each in a line of its own, so no single line contains
the secret. This module joins the pieces of a block, finds secrets in the joined text, and removes them from the pieces.
A line is therefore released only when the line of text that it belongs to is complete, or when its block ends.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final, Generic, TypeVar

import msgspec

from handrail.transport.masking import MASK, Masker

__all__ = ["DeltaMasker"]

LONGEST: Final = 16 * 1024
"""Bytes of text of one block that are held back."""
MOST_HELD: Final = 1000
"""Lines that are held back."""
_KEY_BEGINS, _KEY_ENDS = b"-----BEGIN ", b"-----END "
_FIELDS: Final = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}

Tag = TypeVar("Tag")


class _Event(msgspec.Struct):
    type: str = ""
    index: int = 0
    delta: dict[str, Any] = {}


class _Line(msgspec.Struct):
    type: str = ""
    parent_tool_use_id: str | None = None
    event: _Event = msgspec.field(default_factory=_Event)


class _Held(Generic[Tag]):
    """A line that waits. `secrets` are the parts of its text that belong to a secret."""

    def __init__(self, tag: Tag, line: bytes, text: bytes = b"", field: str = "") -> None:
        self.tag, self.line, self.text, self.field = tag, line, text, field
        self.secrets: list[tuple[int, int]] = []
        self.done = not field


class DeltaMasker(Generic[Tag]):
    """Masks the lines of one stream. They leave in the order in which they came, each with the tag it was given."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._queue: deque[_Held[Tag]] = deque()
        self._blocks: dict[tuple[str, int], list[_Held[Tag]]] = {}

    def put(self, line: bytes, tag: Tag) -> list[tuple[Tag, bytes]]:
        """Add a line. Returns the lines that are complete now, masked."""
        view = _decoded(line)
        if view is None:
            self._queue.append(_Held(tag, line))
        else:
            self._put_event(view, _Held(tag, line, *_piece(view.event.delta)))
        if len(self._queue) > MOST_HELD:
            self._finish_all()
        return self._released()

    def flush(self) -> list[tuple[Tag, bytes]]:
        """The lines that are still held, masked."""
        self._finish_all()
        return self._released()

    def _put_event(self, view: _Line, held: _Held[Tag]) -> None:
        self._queue.append(held)
        block = view.parent_tool_use_id or "", view.event.index
        if held.done:
            if view.event.type != "content_block_delta":
                self._finish(self._blocks.pop(block, []))
            return
        pieces = self._blocks.setdefault(block, [])
        pieces.append(held)
        joined = b"".join(piece.text for piece in pieces)
        if len(joined) > LONGEST:
            self._finish(self._blocks.pop(block))
        elif (end := joined.rfind(b"\n") + 1) and joined.rfind(_KEY_BEGINS) <= joined.rfind(_KEY_ENDS):
            self._blocks[block] = self._finish(pieces, end)

    def _finish(self, pieces: list[_Held[Tag]], end: int | None = None) -> list[_Held[Tag]]:
        """Find the secrets of the joined pieces. Returns the pieces that reach beyond `end`, which stay held."""
        joined = b"".join(piece.text for piece in pieces)
        secrets = self._masker.secrets_in(joined)
        start, left = 0, list[_Held[Tag]]()
        for piece in pieces:
            stop = start + len(piece.text)
            piece.secrets += [
                (max(a, start) - start, min(b, stop) - start) for a, b in secrets if a < stop and b > start
            ]
            piece.done = end is None or stop <= end
            if not piece.done:
                left.append(piece)
            start = stop
        return left

    def _finish_all(self) -> None:
        for pieces in self._blocks.values():
            self._finish(pieces)
        self._blocks.clear()

    def _released(self) -> list[tuple[Tag, bytes]]:
        ready: list[tuple[Tag, bytes]] = []
        while self._queue and self._queue[0].done:
            held = self._queue.popleft()
            line = _without(held.line, held.field, held.text, held.secrets) if held.secrets else held.line
            ready.append((held.tag, self._masker.mask_bytes(line)))
        return ready


def _decoded(line: bytes) -> _Line | None:
    """A stream event; None for any other line."""
    if b'"stream_event"' not in line:
        return None
    try:
        view = msgspec.json.decode(line, type=_Line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return view if view.type == "stream_event" else None


def _piece(delta: dict[str, Any]) -> tuple[bytes, str]:
    """The text of a delta and the name of its field; empty for a delta without text."""
    field = _FIELDS.get(str(delta.get("type")), "")
    text = delta.get(field)
    return (text.encode("utf-8", "surrogatepass"), field) if field and isinstance(text, str) else (b"", "")


def _without(line: bytes, field: str, text: bytes, secrets: list[tuple[int, int]]) -> bytes:
    """The line with a mask in place of each part of its text that belongs to a secret."""
    parts, done = list[bytes](), 0
    for start, end in sorted(set(secrets)):
        parts += text[done:start], MASK.encode() if end > done else b""
        done = max(done, end)
    message = msgspec.json.decode(line)
    message["event"]["delta"][field] = b"".join((*parts, text[done:])).decode("utf-8", "replace")
    return msgspec.json.encode(message)
