"""What the model is shown of the conversation. In: what was said and done. Out: messages of the Messages API.

Messages are only ever added at the end, so that nothing said earlier is copied, changed or encoded again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast

__all__ = ["History", "missing_result", "size_of", "text_block"]

JsonObject = dict[str, Any]
_CHARACTERS: Final = 3
"""As many characters make one token, or a few more."""
_IMAGE: Final = 1600


def text_block(text: str) -> JsonObject:
    """A block of text."""
    return {"type": "text", "text": text}


def missing_result(id: str, text: str) -> JsonObject:
    """The result of a call that did not come to its end."""
    return {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": True}


def size_of(messages: Iterable[JsonObject]) -> int:
    """About as many tokens as these messages have; rather too many than too few."""
    return sum(_size(block) for message in messages for block in message["content"])


def _size(block: JsonObject) -> int:
    kind = block.get("type")
    if kind == "image":
        return _IMAGE
    inner: Any = block.get("content") if kind == "tool_result" else None
    if isinstance(inner, list):
        return sum(map(_size, cast("list[JsonObject]", inner)))
    said: Any = block.get("text") if kind == "text" else inner
    return len(said if isinstance(said, str) else str(block)) // _CHARACTERS + 1


class History:
    """The messages so far: user and assistant by turns."""

    def __init__(self, messages: Iterable[JsonObject] = ()) -> None:
        self.messages: list[JsonObject] = list(messages)
        self.tokens = 0
        """As many as the API counted when it was last asked."""
        self._added = size_of(self.messages)

    @property
    def estimate(self) -> int:
        """How many tokens it has: those that were counted, and a guess at what came since."""
        return self.tokens + self._added

    def note_tokens(self, counted: int) -> None:
        """The API has counted everything up to here."""
        self.tokens, self._added = counted, 0

    def add_user(self, content: str | list[JsonObject]) -> None:
        """Something for the model: a prompt, a result, a note. It joins what the user's side has said last."""
        blocks = [text_block(content)] if isinstance(content, str) else content
        self._added += sum(map(_size, blocks))
        if self.messages and self.messages[-1]["role"] == "user":
            self.messages[-1] = {"role": "user", "content": [*self.messages[-1]["content"], *blocks]}
        elif blocks:
            self.messages.append({"role": "user", "content": list(blocks)})

    def add_assistant(self, blocks: list[JsonObject]) -> None:
        """What the model said in one answer."""
        kept = [block for block in blocks if block.get("type") != "text" or block.get("text")]
        if not kept:
            return
        if self.messages and self.messages[-1]["role"] == "assistant":
            self.messages[-1] = {"role": "assistant", "content": [*self.messages[-1]["content"], *kept]}
        else:
            self.messages.append({"role": "assistant", "content": kept})

    def answer_open_calls(self, text: str) -> list[str]:
        """Give the last calls that have no result one: an API refuses a conversation in which one lacks. Out: their
        ids."""
        given: list[str] = []
        for index in range(len(self.messages) - 1, max(len(self.messages) - 3, -1), -1):
            results = [missing_result(id, text) for id in self._open_calls(index)]
            given += [result["tool_use_id"] for result in results]
            if results and self._role(index + 1) == "user":
                after = self.messages[index + 1]
                self.messages[index + 1] = {**after, "content": [*results, *after["content"]]}
            elif results:
                self.messages.insert(index + 1, {"role": "user", "content": results})
        return given

    def _open_calls(self, index: int) -> list[str]:
        """The calls of a message that the next one has no result for."""
        message = self.messages[index]
        if message["role"] != "assistant":
            return []
        after = self.messages[index + 1]["content"] if self._role(index + 1) == "user" else ()
        done = {block.get("tool_use_id") for block in after}
        calls = [block["id"] for block in message["content"] if block.get("type") == "tool_use"]
        return [id for id in calls if id not in done]

    def _role(self, index: int) -> str:
        return self.messages[index]["role"] if index < len(self.messages) else ""

    def replace(self, messages: Iterable[JsonObject]) -> None:
        """Begin anew with these."""
        self.messages = list(messages)
        self.tokens, self._added = 0, size_of(self.messages)
