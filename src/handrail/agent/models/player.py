"""Chooses the reply for each request of a conversation and turns it into steps. Pure: it does no I/O and never waits.

A step is an event of the Messages API (a dict with its `type`), or an action before the next event: a `Wait`, a `Hang`
or a `Cut`. The caller performs the actions.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from handrail.agent.models.conditions import RequestView
from handrail.agent.models.offered_tools import call_of, is_pattern
from handrail.agent.models.script import (
    ContentBlock,
    Cut,
    Hang,
    JsonObject,
    Ping,
    RedactedThinking,
    Reply,
    Script,
    StreamError,
    Text,
    Thinking,
    ToolUse,
    Wait,
)

Step = JsonObject | Wait | Hang | Cut

USAGE: JsonObject = {
    "input_tokens": 100,
    "output_tokens": 20,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "service_tier": "standard",
}
JSON_CHUNK = 24


class Player:
    """One conversation with a script; keeps track of the replies given.

    `label` is part of every id. Players that write to the same transcript, as after a resume, need different labels.
    """

    def __init__(self, script: Script, *, label: str = "script") -> None:
        self.script = script
        self.label = label
        self._answered = 0
        self._given = [0] * len(script.replies)
        self._conditional = [index for index, reply in enumerate(script.replies) if reply.when]
        self._ordered = deque(index for index, reply in enumerate(script.replies) if not reply.when)

    def is_main(self, request: JsonObject) -> bool:
        """Whether the request belongs to the conversation, rather than asking for a title or a summary."""
        return self.script.helper is None or bool(request.get("tools"))

    def reply_to(self, request: JsonObject) -> PlayedReply:
        """Choose the reply for a request. Takes the same time for conversations of any length."""
        self._answered += 1
        model = request.get("model")
        return PlayedReply(
            reply=_with_tool_names(self._choose(request), request.get("tools")),
            model=model if isinstance(model, str) else "scripted",
            id=f"{self.label}_{self._answered:04d}",
        )

    def _choose(self, request: JsonObject) -> Reply:
        main, view = self.is_main(request), RequestView(request)
        for index in self._conditional:
            when = self.script.replies[index].when
            if when and self._is_left(index) and view.fits(when, main=main):
                return self._give(index)
        if not main and self.script.helper:
            return self.script.helper
        if not self._ordered:
            return self.script.afterwards
        index = self._ordered[0]
        reply = self._give(index)
        if self._given[index] >= (reply.times or 1):
            self._ordered.popleft()
        return reply

    def _is_left(self, index: int) -> bool:
        times = self.script.replies[index].times
        return times is None or self._given[index] < times

    def _give(self, index: int) -> Reply:
        self._given[index] += 1
        return self.script.replies[index]


Aside = Wait | Hang | Cut | StreamError
"""Blocks without content: they wait, or end the answer."""


class PlayedReply(Struct, frozen=True):
    """The reply to one request, with its ids."""

    reply: Reply
    model: str
    id: str

    def stream(self) -> Iterator[Step]:
        """The reply as stream events."""
        started, index = False, 0
        for block in self.reply.blocks:
            if not started and not isinstance(block, Aside):
                started = True
                yield self._start()
            if isinstance(block, Aside):
                yield _step(block)
                if isinstance(block, Cut | StreamError):
                    return
            elif isinstance(block, Ping):
                yield {"type": "ping"}
            else:
                yield from self._content(block, index)
                index += 1
        if not started:
            yield self._start()
        yield from self._end()

    def whole(self) -> Iterator[Step]:
        """The reply as one message, after its waits."""
        content: list[JsonObject] = []
        for block in self.reply.blocks:
            if isinstance(block, Aside):
                yield _step(block)
                if isinstance(block, Cut | StreamError):
                    return
            elif not isinstance(block, Ping):
                content.append(_whole_block(block, self._tool_use_id(len(content))))
        yield self._message(content, self._stop_reason(), {})

    def _message(self, content: list[JsonObject], stop_reason: str | None, usage: JsonObject) -> JsonObject:
        return {
            "id": f"msg_{self.id}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": {**USAGE, **self.reply.usage, **usage},
        }

    def _start(self) -> JsonObject:
        return {"type": "message_start", "message": self._message([], None, {"output_tokens": 1})}

    def _content(self, block: ContentBlock, index: int) -> Iterator[Step]:
        yield {
            "type": "content_block_start",
            "index": index,
            "content_block": _empty_block(block, self._tool_use_id(index)),
        }
        for number, delta in enumerate(_deltas(block, self.reply.chunk)):
            if number and self.reply.delay:
                yield Wait(self.reply.delay)
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        if not block.unfinished:
            yield {"type": "content_block_stop", "index": index}

    def _end(self) -> Iterator[Step]:
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": self._stop_reason(), "stop_sequence": None},
            "usage": {**USAGE, **self.reply.usage},
        }
        yield {"type": "message_stop"}

    def _stop_reason(self) -> str:
        uses_tool = any(isinstance(block, ToolUse) for block in self.reply.blocks)
        return self.reply.stop_reason or ("tool_use" if uses_tool else "end_turn")

    def _tool_use_id(self, index: int) -> str:
        return f"toolu_{self.id}_{index}"


def _with_tool_names(reply: Reply, tools: Any) -> Reply:
    """Replace tool patterns by the names of offered tools."""
    if not any(isinstance(block, ToolUse) and is_pattern(block.name) for block in reply.blocks):
        return reply
    blocks = tuple(call_of(block, tools) if isinstance(block, ToolUse) else block for block in reply.blocks)
    return msgspec.structs.replace(reply, blocks=blocks)


def _step(block: Wait | Hang | Cut | StreamError) -> Step:
    """The step for a block without content."""
    if isinstance(block, StreamError):
        return {"type": "error", "error": {"type": block.error_type, "message": block.message}}
    return block


def _whole_block(block: ContentBlock, tool_use_id: str) -> JsonObject:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Thinking():
            return {"type": "thinking", "thinking": block.thinking, "signature": block.signature}
        case RedactedThinking():
            return {"type": "redacted_thinking", "data": block.data}
        case ToolUse():
            return {"type": "tool_use", "id": block.id or tool_use_id, "name": block.name, "input": _input(block)}


def _empty_block(block: ContentBlock, tool_use_id: str) -> JsonObject:
    """The block for content_block_start: fields that arrive in deltas are empty."""
    empty: dict[type, JsonObject] = {
        Text: {"text": ""},
        Thinking: {"thinking": "", "signature": ""},
        ToolUse: {"input": {}},
        RedactedThinking: {},
    }
    return _whole_block(block, tool_use_id) | empty[type(block)]


def _input(block: ToolUse) -> JsonObject:
    """The input as an object; {} if the raw text is not valid JSON."""
    try:
        return block.input if block.raw is None else msgspec.json.decode(block.raw, type=JsonObject)
    except msgspec.MsgspecError:
        return {}


def _deltas(block: ContentBlock, chunk: int | None) -> Iterator[JsonObject]:
    match block:
        case Text():
            for piece in _pieces(block.text, chunk):
                yield {"type": "text_delta", "text": piece}
        case Thinking():
            for piece in _pieces(block.thinking, chunk):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block.signature}
        case ToolUse():
            raw = msgspec.json.encode(block.input).decode() if block.raw is None else block.raw
            for piece in _pieces(raw, chunk or JSON_CHUNK):
                yield {"type": "input_json_delta", "partial_json": piece}
        case RedactedThinking():
            return


def _pieces(content: str, chunk: int | None) -> list[str]:
    if chunk is None:
        return re.findall(r"\s*\S+\s*|\s+", content)
    return [content[start : start + chunk] for start in range(0, len(content), chunk)]
