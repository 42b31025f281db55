"""The answer that is being given. In: stream events. Out: as few stream events as make up what was said so far. Pure.

Deltas are not on record one by one: whoever joins in the middle is shown the block so far.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

__all__ = ["Partial"]

JsonObject = dict[str, Any]
_GROWING = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""Deltas that add to a text, and the field that holds it."""


class _Line(msgspec.Struct):
    """What is looked at of a stream event."""

    event: JsonObject
    parent_tool_use_id: str | None = None


class _Parent(msgspec.Struct):
    parent_tool_use_id: str | None = None


_decode = msgspec.json.Decoder(_Line).decode
_decode_parent = msgspec.json.Decoder(_Parent).decode
PIECE = 80_000
"""So many characters of a block are told in one line: none has more than six bytes, and a line has its end."""


class Partial:
    """One session's answers in the making: that of the main thread, and those of subagents."""

    def __init__(self) -> None:
        self._threads: dict[str | None, _Answer] = {}

    def take(self, raw: bytes) -> None:
        """One more stream event, as the CLI wrote it."""
        try:
            line = _decode(raw)
        except msgspec.MsgspecError:
            return
        kind, parent = line.event.get("type"), line.parent_tool_use_id
        if kind == "message_start":
            self._threads[parent] = _Answer(raw)
        elif kind == "message_stop":
            self._threads.pop(parent, None)
        elif (answer := self._threads.get(parent)) is not None:
            answer.take(str(kind), line.event, raw)

    def whole(self, raw: bytes) -> None:
        """A block of an answer is on record: nobody needs its pieces."""
        try:
            parent = _decode_parent(raw).parent_tool_use_id
        except msgspec.MsgspecError:
            return
        if (answer := self._threads.get(parent)) is not None:
            answer.forget_block()

    def end(self) -> None:
        """The turn has ended, or the answer was given up."""
        self._threads.clear()

    def so_far(self) -> list[bytes]:
        """Stream events that bring a client to where all others are."""
        return [line for answer in self._threads.values() for line in answer.so_far()]


class _Answer:
    """One message: its start, and the block that is not whole yet."""

    def __init__(self, start: bytes) -> None:
        self._lines = [start]
        self._delta: JsonObject | None = None
        self._grown: list[str] = []
        self._template: bytes = b""

    def take(self, kind: str, event: JsonObject, raw: bytes) -> None:
        given: Any = event.get("delta")
        delta = cast("JsonObject", given) if isinstance(given, dict) else {}
        field = _GROWING.get(str(delta.get("type")))
        if kind == "content_block_start":
            self._settle()
            self._lines = [self._lines[0], raw]  # a block that is whole has a line of its own, on record
        elif kind == "content_block_delta" and field:
            if self._delta is None or self._delta["delta"]["type"] != delta["type"]:
                self._settle()
                self._delta, self._template = event, raw
            self._grown.append(str(delta.get(field, "")))
        else:
            self._settle()
            self._lines.append(raw)

    def forget_block(self) -> None:
        """What is left is that a message has begun."""
        self._lines, self._delta, self._grown = self._lines[:1], None, []

    def so_far(self) -> list[bytes]:
        """The start of the message, the block's start, and as few deltas as hold all that was added."""
        self._settle()
        return list(self._lines)

    def _settle(self) -> None:
        """What grew becomes a line, or several where it is long."""
        if self._delta is None:
            return
        field = _GROWING[self._delta["delta"]["type"]]
        line: JsonObject = msgspec.json.decode(self._template)
        grown = "".join(self._grown)
        for start in range(0, len(grown), PIECE):
            piece = grown[start : start + PIECE]
            line["event"] = {**self._delta, "delta": {**self._delta["delta"], field: piece}}
            self._lines.append(msgspec.json.encode(line))
        self._delta, self._grown = None, []
