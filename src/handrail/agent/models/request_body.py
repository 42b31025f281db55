"""The body of a request as bytes. In: ModelRequest, which stays as it is. Out: JSON with the marks for prompt caching.

A message that is no longer the last one of its history is encoded once: its bytes are kept beside it, and used again as
long as the same object stands at the same place.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from handrail.agent.models.base import JsonObject, ModelRequest

__all__ = ["BodyWriter"]

EPHEMERAL: JsonObject = {"type": "ephemeral"}
UNMARKED = frozenset({"thinking", "redacted_thinking"})
"""Blocks that the API does not let carry a mark."""
HISTORIES = 8
"""How many histories are kept: the session's own, and those of subagents that run at the same time."""


class BodyWriter:
    """Writes the bodies of one session's requests."""

    def __init__(self) -> None:
        self._histories: OrderedDict[int, _Encoded] = OrderedDict()

    def message_body(self, request: ModelRequest, *, stream: bool) -> bytes:
        """The body for `/v1/messages`."""
        return self._body(request, {**self._settings(request), "max_tokens": request.max_tokens, "stream": stream})

    def count_body(self, request: ModelRequest) -> bytes:
        """The body for `/v1/messages/count_tokens`."""
        return self._body(
            request, {"model": request.model, **({"thinking": request.thinking} if request.thinking else {})}
        )

    def _settings(self, request: ModelRequest) -> JsonObject:
        settings: JsonObject = {"model": request.model, **request.extra}
        if request.thinking:
            settings["thinking"] = request.thinking
        if request.effort:
            settings["output_config"] = {**settings.get("output_config", {}), "effort": request.effort}
        return settings

    def _body(self, request: ModelRequest, settings: JsonObject) -> bytes:
        if request.system:
            settings["system"] = _marked_last(request.system)
        if request.tools:
            settings["tools"] = _marked_last(request.tools)
        head = msgspec.json.encode(settings)
        return b"".join((head[:-1], b',"messages":[', b",".join(self._messages(request.messages)), b"]}"))

    def _messages(self, messages: Sequence[JsonObject]) -> list[bytes]:
        if not messages:
            return []
        earlier = self._history(messages[0]).encoded(messages)
        return [*earlier, msgspec.json.encode(_marked_message(messages[-1]))]

    def _history(self, first: JsonObject) -> _Encoded:
        """What is kept of the history that begins with this message; it is the same while that object lives here."""
        found = self._histories.get(id(first))
        if found is None:
            found = self._histories[id(first)] = _Encoded(first)
        self._histories.move_to_end(id(first))
        while len(self._histories) > HISTORIES:
            self._histories.popitem(last=False)
        return found


class _Encoded:
    """The messages of one history and their bytes. It holds on to `first`, so that its id stays its own."""

    def __init__(self, first: JsonObject) -> None:
        self.first = first
        self._messages: list[JsonObject] = []
        self._bytes: list[bytes] = []

    def encoded(self, messages: Sequence[JsonObject]) -> list[bytes]:
        """The bytes of all messages but the last, which may yet grow."""
        settled = len(messages) - 1
        del self._messages[settled:], self._bytes[settled:]
        for index in range(settled):
            message = messages[index]
            if index < len(self._messages) and self._messages[index] is message:
                continue
            del self._messages[index:], self._bytes[index:]
            self._messages.append(message)
            self._bytes.append(msgspec.json.encode(message))
        return self._bytes


def _marked_last(items: Sequence[JsonObject]) -> list[JsonObject]:
    return [*items[:-1], {**items[-1], "cache_control": EPHEMERAL}]


def _marked_message(message: JsonObject) -> JsonObject:
    """The message with a mark on its last block that may have one."""
    content: Any = message.get("content")
    if isinstance(content, str):
        return {**message, "content": _marked_last([{"type": "text", "text": content}])} if content else message
    blocks = cast("list[JsonObject]", content) if isinstance(content, list) else []
    for index in range(len(blocks) - 1, -1, -1):
        if _takes_a_mark(blocks[index]):
            return {**message, "content": [*_marked_last(blocks[: index + 1]), *blocks[index + 1 :]]}
    return message


def _takes_a_mark(block: JsonObject) -> bool:
    return block.get("type") not in UNMARKED and (block.get("type") != "text" or bool(block.get("text")))
