"""Encodes requests as JSON, with cache marks for prompt caching.

The API caches what precedes a mark: tools, then the system prompt, then messages. Four marks are allowed. One is before
the last block of the system prompt, which differs from folder to folder, so that sessions share the rest; one after
it; one at the last message; and one at the user message before that, because the API looks back only 20 blocks from a
mark, and an answer with many calls adds more than that.

A message that is no longer the last one of its history is encoded once. Its bytes are used again while the same object
is at the same place. DISABLE_PROMPT_CACHING leaves the marks out, for all models or, with _OPUS, _SONNET, _HAIKU or
_FABLE at its end, for one family.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from operator import is_
from typing import Any, cast

import msgspec

from handrail.agent.known_models import WIDE, facts_of
from handrail.agent.models.base import JsonObject, ModelRequest
from handrail.agent.variables import is_on

__all__ = ["BodyWriter"]

EPHEMERAL: JsonObject = {"type": "ephemeral"}
UNMARKED = frozenset({"thinking", "redacted_thinking"})
"""Blocks that cannot carry a mark."""
HISTORIES = 8
"""Histories whose bytes are kept: the session's own, and those of subagents that run at the same time."""


_NO_CACHE = "DISABLE_PROMPT_CACHING"


class BodyWriter:
    """Encodes the requests of one session. `extra`: fields that replace those of every request."""

    def __init__(self, environment: Mapping[str, str] | None = None, extra: JsonObject | None = None) -> None:
        self._environment, self._extra = environment or {}, extra or {}
        self._histories: OrderedDict[int, _Encoded] = OrderedDict()

    def message_body(self, request: ModelRequest, *, stream: bool) -> bytes:
        """The body for `/v1/messages`."""
        settings = {**self._settings(request), "max_tokens": request.max_tokens, "stream": stream}
        return self._body(request, settings, self._extra)

    def count_body(self, request: ModelRequest) -> bytes:
        """The body for `/v1/messages/count_tokens`."""
        thinking = {"thinking": request.thinking} if request.thinking else {}
        return self._body(request, {"model": request.model.removesuffix(WIDE), **thinking}, {})

    def _settings(self, request: ModelRequest) -> JsonObject:
        settings: JsonObject = {"model": request.model.removesuffix(WIDE), **request.extra}
        if request.thinking:
            settings["thinking"] = request.thinking
        if request.effort:
            settings["output_config"] = {**settings.get("output_config", {}), "effort": request.effort}
        return settings

    def _body(self, request: ModelRequest, settings: JsonObject, extra: JsonObject) -> bytes:
        marks = self._marks(request.model)
        if request.tools:
            settings["tools"] = _marked_tools(request.tools) if marks and not request.system else request.tools
        if request.system:
            settings["system"] = _marked_system(request.system) if marks else request.system
        head = msgspec.json.encode({**settings, **extra})[:-1] + b',"messages":['
        messages = self._messages(request.messages, marks=marks) or [b""]
        # One join: a late request has a megabyte, and each further copy costs as much as all else in the request.
        messages[0] = head + messages[0]
        messages[-1] += b"]}"
        return b",".join(messages)

    def _marks(self, model: str) -> bool:
        """Whether requests to this model carry cache marks."""
        names = (_NO_CACHE, f"{_NO_CACHE}_{facts_of(model).family.upper()}")
        return not any(is_on(self._environment, name) for name in names)

    def _messages(self, messages: Sequence[JsonObject], *, marks: bool) -> list[bytes]:
        if not messages:
            return []
        earlier = self._history(messages[0]).encoded(messages)
        if not marks:
            return [*earlier, msgspec.json.encode(messages[-1])]
        before = next((at for at in range(len(messages) - 2, -1, -1) if messages[at].get("role") == "user"), None)
        if before is not None:
            marked = msgspec.json.encode(_marked_message(messages[before]))
            earlier = [*earlier[:before], marked, *earlier[before + 1 :]]
        return [*earlier, msgspec.json.encode(_marked_message(messages[-1]))]

    def _history(self, first: JsonObject) -> _Encoded:
        """The bytes kept for the history that begins with this object."""
        found = self._histories.get(id(first))
        if found is None:
            found = self._histories[id(first)] = _Encoded(first)
        self._histories.move_to_end(id(first))
        while len(self._histories) > HISTORIES:
            self._histories.popitem(last=False)
        return found


class _Encoded:
    """The messages of one history and their bytes. A reference to `first` keeps its id from being reused."""

    def __init__(self, first: JsonObject) -> None:
        self.first = first
        self._messages: list[JsonObject] = []
        self._bytes: list[bytes] = []

    def encoded(self, messages: Sequence[JsonObject]) -> list[bytes]:
        """The bytes of all messages but the last, which may still grow."""
        settled = list(messages[:-1])
        if len(settled) < len(self._messages) or not all(map(is_, self._messages, settled)):
            pairs = enumerate(zip(self._messages, settled, strict=False))
            same = next((at for at, (old, new) in pairs if old is not new), min(len(self._messages), len(settled)))
            del self._messages[same:], self._bytes[same:]
        added = settled[len(self._messages) :]
        self._messages += added
        self._bytes += map(msgspec.json.encode, added)
        return self._bytes


def _marked_last(items: Sequence[JsonObject]) -> list[JsonObject]:
    return [*items[:-1], {**items[-1], "cache_control": EPHEMERAL}]


def _marked_tools(tools: Sequence[JsonObject]) -> list[JsonObject]:
    """The tools with a mark on the last one that is not deferred: the others are not part of the cached prompt."""
    count = sum("defer_loading" not in tool for tool in tools)
    return [*_marked_last(tools[:count]), *tools[count:]] if count else list(tools)


def _marked_system(blocks: Sequence[JsonObject]) -> list[JsonObject]:
    """The blocks with a mark on the last one and on the one before it."""
    return [*_marked_last(blocks[:-1]), *_marked_last(blocks[-1:])] if len(blocks) > 1 else _marked_last(blocks)


def _marked_message(message: JsonObject) -> JsonObject:
    """The message with a mark on its last block that can carry one."""
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
