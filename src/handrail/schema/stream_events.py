"""`stream_event` lines, hundreds per answer. All events share one flat struct, so each line costs one decode."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.schema.content import BLOCKS, Block
from handrail.schema.message_view import MessageView
from handrail.schema.usage import Usage
from handrail.schema.view import Number, Part

__all__ = ["AbandonedBlocks", "AssistantDelta", "Delta", "Event", "StreamEvent"]


class Delta(Part):
    """A piece of a block, or the final fields of the message."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    signature: str = ""
    citation: Any = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: Any = None
    container: Any = None


class Event(Part):
    """One event of the model's stream. Fields that its type lacks are empty."""

    type: str = ""
    index: int = 0
    delta: Delta | None = None
    content_block_raw: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="content_block")
    message: dict[str, Any] | None = None
    usage: Usage | None = None
    error: dict[str, Any] | None = None
    context_management: Any = None

    @property
    def block(self) -> Block | None:
        """The block that this event starts."""
        raw = bytes(self.content_block_raw)
        return BLOCKS.read(raw) if raw else None


class AbandonedBlocks(Part):
    """Blocks from this index on were abandoned; a client discards what it showed of them."""

    api_message_id: str = ""
    from_block_index: int = 0


class StreamEvent(MessageView, gc=False):
    """One event of the model's stream, with the thread it belongs to."""

    always = frozenset({"event", "parent_tool_use_id"})
    type: str = "stream_event"
    event: Event
    parent_tool_use_id: str | None = None
    api_message_id: str = ""
    ttft_ms: Number | None = None
    thinking_display: str | None = None
    abandoned_blocks: AbandonedBlocks | None = None
    user_message_uuid: str | None = None
    user_message_uuids: list[str] | None = None
    resume_reason: str | None = None
    owed_rows: Any = None

    @property
    def text(self) -> str:
        """The new piece of text, or an empty string."""
        delta = self.event.delta
        return "" if delta is None else delta.text

    @property
    def thinking(self) -> str:
        """The new piece of thinking, or an empty string."""
        delta = self.event.delta
        return "" if delta is None else delta.thinking


class AssistantDelta(StreamEvent, gc=False):
    """The older shape: an `assistant` line with a `delta` instead of a message."""

    type: str = "assistant"
    event: Event = msgspec.field(name="delta")
