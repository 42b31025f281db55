"""Matching the condition of a scripted reply (`When`) against a request to the Messages API.

Only the end of the conversation is read, back to the model's last message, so long conversations cost nothing extra.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from handrail.agent.models.offered_tools import find_tool
from handrail.agent.models.script import JsonObject, When

__all__ = ["RequestView"]


class RequestView:
    """A request as seen by conditions."""

    def __init__(self, request: JsonObject) -> None:
        self._request = request

    def fits(self, when: When, *, main: bool) -> bool:
        """Whether the request meets all criteria. `main` is the result of `Player.is_main`."""
        return (
            (main if when.tools is None else when.tools == bool(self._request.get("tools")))
            and (when.model is None or when.model == self._request.get("model"))
            and (when.prompt is None or when.prompt in self.prompt)
            and (when.matches is None or re.search(when.matches, self.prompt) is not None)
            and (when.tool_result is None or when.tool_result in text_of(self.newest, "tool_result"))
            and (when.failed is None or when.failed == self._failed())
            and (when.said is None or when.said in self.said)
            and (when.after is None or when.after in self._called())
            and (when.offers is None or find_tool(when.offers, self._request.get("tools")) is not None)
            and (when.system is None or when.system in text_of(self._request.get("system"), "text"))
        )

    @cached_property
    def _end(self) -> tuple[list[JsonObject], list[JsonObject]]:
        """The user's blocks after the model's last message, and the blocks of that message, which may be split up.

        System messages in between are skipped.
        """
        newest: list[list[JsonObject]] = []
        last: list[list[JsonObject]] = []
        messages = _items(self._request.get("messages"))
        for item in reversed(messages):
            message = cast("JsonObject", item) if isinstance(item, dict) else {}
            content, role = _blocks(message.get("content")), message.get("role")
            if role == "assistant":
                last.append(content)
            elif role == "user" and last:
                break
            elif role == "user":
                newest.append(content)
        return _in_order(newest), _in_order(last)

    @property
    def newest(self) -> list[JsonObject]:
        return self._end[0]

    @property
    def last(self) -> list[JsonObject]:
        return self._end[1]

    @cached_property
    def prompt(self) -> str:
        return text_of(self.newest, "text")

    @cached_property
    def said(self) -> str:
        return text_of(self.last, "text")

    def _failed(self) -> bool:
        return any(block.get("type") == "tool_result" and block.get("is_error") is True for block in self.newest)

    def _called(self) -> list[Any]:
        return [block.get("name") for block in self.last if block.get("type") == "tool_use"]


def text_of(content: Any, block_type: str) -> str:
    """The text of all blocks of one type; for tool results, of their content."""
    if isinstance(content, str):
        return content
    blocks = [block for block in _objects(content) if block.get("type") == block_type]
    if block_type == "tool_result":
        return "\n".join(text_of(block.get("content"), "text") for block in blocks)
    return "\n".join(str(block.get("text", "")) for block in blocks)


def _in_order(newest_first: list[list[JsonObject]]) -> list[JsonObject]:
    return [block for blocks in reversed(newest_first) for block in blocks]


def _blocks(content: Any) -> list[JsonObject]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else _objects(content)


def _objects(value: Any) -> list[JsonObject]:
    """The objects in a list from the wire; other items are dropped."""
    return [cast("JsonObject", item) for item in _items(value) if isinstance(item, dict)]


def _items(value: Any) -> Sequence[Any]:
    """A list from the wire, or () for anything else. A history may be any sequence and is not copied."""
    listed = isinstance(value, Sequence) and not isinstance(value, str | bytes | Mapping)
    return cast("Sequence[Any]", value) if listed else ()
