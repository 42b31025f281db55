"""One answer of the model while it is received: each block is sent as soon as it is complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import msgspec
from msgspec import Struct, field

from handrail.agent.speaker import Speaker

__all__ = ["Answer", "unreadable"]

JsonObject = dict[str, Any]
Repair = Callable[[str, JsonObject], JsonObject]
_GROWS: Final = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "json"),
}
"""The type of a delta, the field with its text, and the field of the block that grows."""


class _Open(Struct):
    """A block that is still being received."""

    block: JsonObject
    parts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def grow(self, delta: JsonObject) -> None:
        source, target = _GROWS.get(delta.get("type", ""), ("", ""))
        if target:
            self.parts.setdefault(target, []).append(str(delta.get(source, "")))
        elif delta.get("type") == "citations_delta":
            self.block.setdefault("citations", []).append(delta.get("citation"))

    def whole(self) -> JsonObject:
        block = dict(self.block)
        for name, parts in self.parts.items():
            if name != "json":
                block[name] = str(block.get(name) or "") + "".join(parts)
        if block.get("type") in ("tool_use", "server_tool_use"):
            block["input"] = self._input()
        return block

    def _input(self) -> JsonObject:
        text = "".join(self.parts.get("json", ()))
        if not text:
            given = self.block.get("input")
            return cast("JsonObject", given) if isinstance(given, dict) else {}
        try:
            return msgspec.json.decode(text, type=dict[str, Any])
        except msgspec.DecodeError:
            return {UNREADABLE: {"raw": text[:2000], "len": len(text)}}


UNREADABLE: Final = "__unparsedToolInput"
"""The key of an input that was not valid JSON."""


class Answer:
    """Builds an answer from events and sends its blocks. `cut_off` sends the rest of an interrupted one.

    `repair` takes the name of a tool and an input, and returns the input with the types that the tool expects.
    """

    def __init__(self, speaker: Speaker, request_id: str = "", repair: Repair = lambda name, input: input) -> None:
        self._speaker, self._repair = speaker, repair
        self.request_id = request_id
        self.message: JsonObject = {}
        self.blocks: list[JsonObject] = []
        self.stop_reason: str | None = None
        self.usage: JsonObject = {}
        self.ended = False
        self.whole = True
        """False if it was cut off."""
        self._open: dict[int, _Open] = {}

    @property
    def model(self) -> str:
        """The model that wrote it."""
        return str(self.message.get("model", ""))

    @property
    def calls(self) -> list[JsonObject]:
        """Its tool calls."""
        return [block for block in self.blocks if block.get("type") == "tool_use"]

    @property
    def says_something(self) -> bool:
        """Whether it contains more than thoughts."""
        return any(block.get("type") not in ("thinking", "redacted_thinking") for block in self.blocks)

    @property
    def text(self) -> str:
        """Its text, without thinking and tool calls."""
        return "".join(str(block.get("text") or "") for block in self.blocks if block.get("type") == "text")

    @property
    def last_text(self) -> str:
        """Its last text block, which the result of a turn shows."""
        texts = [str(block.get("text") or "") for block in self.blocks if block.get("type") == "text"]
        return texts[-1] if texts else ""

    async def take(self, event: JsonObject, **fields: Any) -> None:
        """Add one event."""
        match event.get("type"):
            case "message_start":
                self.message = {**event["message"], "content": []}
                self.usage = dict(self.message.get("usage") or {})
            case "content_block_start":
                self._open[event["index"]] = _Open(dict(event["content_block"]))
            case "content_block_delta":
                if (block := self._open.get(event["index"])) is not None:
                    block.grow(event["delta"])
            case "content_block_stop":
                await self._close(event["index"])
            case "message_delta":
                self.stop_reason = event["delta"].get("stop_reason")
                usage: JsonObject = event.get("usage") or {}
                self.usage |= {name: count for name, count in usage.items() if count is not None}
            case "message_stop":
                self.ended = True
            case _:
                pass
        await self._speaker.event(event, str(self.message.get("id", "")), **fields)

    async def _close(self, index: int, **fields: Any) -> None:
        opened = self._open.pop(index, None)
        if opened is None:
            return
        block = opened.whole()
        if block.get("type") == "tool_use":
            block["input"] = self._repair(str(block.get("name")), block["input"])
        if block.get("type") != "text" or block.get("text"):  # the API refuses a conversation with empty texts
            await self._send(block, **fields)

    async def _send(self, block: JsonObject, **fields: Any) -> None:
        self.blocks.append(block)
        message = {**self.message, "content": [block], "stop_reason": None}
        named = {"request_id": self.request_id} if self.request_id else {}
        await self._speaker.assistant(message, **named, **fields)

    async def cut_off(self, *, keep: bool) -> None:
        """End it early. With `keep`, the unfinished text is sent; then the open blocks are closed."""
        indices = sorted(self._open)
        for index in indices:
            block = self._open[index].whole()
            if keep and block.get("type") == "text" and block.get("text"):
                await self._close(index, aborted=True)
        if self.message and not self.ended:
            id = str(self.message.get("id", ""))
            for index in indices:
                if keep or self._open[index].block.get("type") != "tool_use":  # a call is never shown as complete
                    await self._speaker.event({"type": "content_block_stop", "index": index}, id)
            if keep:
                delta = {"stop_reason": None, "stop_sequence": None}
                await self._speaker.event({"type": "message_delta", "delta": delta, "usage": {}}, id)
            abandoned = {"api_message_id": id, "from_block_index": len(self.blocks)}
            await self._speaker.event({"type": "message_stop"}, id, **({} if keep else {"abandoned_blocks": abandoned}))
        self._open.clear()
        self.ended, self.whole = True, False


def unreadable(call: JsonObject) -> JsonObject | None:
    """The raw input of a call, if it was not valid JSON."""
    found = call["input"].get(UNREADABLE) if isinstance(call.get("input"), dict) else None
    return cast("JsonObject", found) if isinstance(found, dict) else None
