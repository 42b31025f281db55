"""The answer that is being streamed, as the fewest stream events that reproduce it.

Deltas are not persisted one by one: a client that joins in the middle gets the block so far.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from handrail.schema.messages import read_message
from handrail.schema.stream_events import Delta, StreamEvent

__all__ = ["Partial"]

_FIELDS: Final = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""Deltas that append to a text, and the field that holds it."""
MOST_CHARACTERS: Final = 80_000
"""Limit of one line: a character takes at most six bytes of JSON, and a line must fit into a frame."""


class Partial:
    """The unfinished answers of one session: of the main thread, and of subagents by their tool call."""

    def __init__(self) -> None:
        self._threads: dict[str | None, _Answer] = {}

    def take(self, raw: bytes) -> None:
        """Add a stream event."""
        view = read_message("stream_event", "", raw)
        if not isinstance(view, StreamEvent):
            return
        kind, parent = view.event.type, view.parent_tool_use_id
        if kind == "message_start":
            self._threads[parent] = _Answer(raw)
        elif kind == "message_stop":
            self._threads.pop(parent, None)
        elif (answer := self._threads.get(parent)) is not None:
            answer.take(kind, view.event.delta, raw)

    def finish_block(self, parent: str | None) -> None:
        """A block of the thread's answer is persisted whole: its deltas are no longer needed."""
        if (answer := self._threads.get(parent)) is not None:
            answer.finish_block()

    def end(self) -> None:
        """The turn ended, or the answer was abandoned."""
        self._threads.clear()

    def so_far(self) -> list[bytes]:
        """Stream events that bring a new client up to date."""
        return [line for answer in self._threads.values() for line in answer.so_far()]


class _Answer:
    """One message: its start, and the block that is not complete yet."""

    def __init__(self, start: bytes) -> None:
        self._lines = [start]
        self._delta_type = ""
        self._texts: list[str] = []
        self._template = b""

    def take(self, kind: str, delta: Delta | None, raw: bytes) -> None:
        delta_type = delta.type if delta is not None else ""
        if kind == "content_block_start":
            self._settle()
            self._lines = [self._lines[0], raw]  # a complete block is persisted as a separate line
        elif kind == "content_block_delta" and delta_type in _FIELDS:
            if self._delta_type != delta_type:
                self._settle()
                self._delta_type, self._template = delta_type, raw
            self._texts.append(getattr(delta, _FIELDS[delta_type]))
        else:
            self._settle()
            self._lines.append(raw)

    def finish_block(self) -> None:
        self._lines, self._delta_type, self._texts = self._lines[:1], "", []

    def so_far(self) -> list[bytes]:
        self._settle()
        return list(self._lines)

    def _settle(self) -> None:
        """Turn the collected deltas into one line, or several if the text is long."""
        if not self._delta_type:
            return
        field = _FIELDS[self._delta_type]
        line: dict[str, Any] = msgspec.json.decode(self._template)
        text = "".join(self._texts)
        for start in range(0, len(text), MOST_CHARACTERS):
            line["event"]["delta"][field] = text[start : start + MOST_CHARACTERS]
            self._lines.append(msgspec.json.encode(line))
        self._delta_type, self._texts = "", []
