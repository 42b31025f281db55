"""The model's answer while it is written. In: `stream_event` lines, hundreds per answer. Out: StreamEvent.

Every event of the model's stream is the same flat struct, so that a line costs one decode.
"""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.schema.content import BLOCKS, Block
from handrail.schema.message_view import MessageView
from handrail.schema.usage import Usage
from handrail.schema.view import Number, Part

__all__ = ["AbandonedBlocks", "AssistantDelta", "Delta", "Event", "StreamEvent"]


class Delta(Part):
    """What came new: a piece of a block, or what is known of the whole message at its end."""

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
    """One event of the model's stream; what an event of its type does not have is empty."""

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
        """The block that starts here."""
        raw = bytes(self.content_block_raw)
        return BLOCKS.read(raw) if raw else None


class AbandonedBlocks(Part):
    """The blocks from this index on were cut: what was shown of them does not count."""

    api_message_id: str = ""
    from_block_index: int = 0


class StreamEvent(MessageView):
    """One event of the model's stream, and whose it is."""

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

    @property
    def text(self) -> str:
        """The new piece of text; empty where the event brings none."""
        delta = self.event.delta
        return "" if delta is None else delta.text

    @property
    def thinking(self) -> str:
        """The new piece of thinking."""
        delta = self.event.delta
        return "" if delta is None else delta.thinking


class AssistantDelta(StreamEvent):
    """The same in an older spelling: an `assistant` line with a `delta` instead of a message."""

    type: str = "assistant"
    event: Event = msgspec.field(name="delta")
