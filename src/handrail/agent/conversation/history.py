"""The conversation as the model sees it, in messages of the Messages API.

Messages are only ever appended, so nothing earlier is copied, changed or encoded again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from handrail.agent.blocks import missing_result, text_block

__all__ = ["History", "size_of", "with_question"]

JsonObject = dict[str, Any]
_CHARACTERS: Final = 3
"""Characters per token, at the least."""
_IMAGE: Final = 1600


def size_of(messages: Iterable[JsonObject]) -> int:
    """An estimate of the tokens of these messages, on the high side."""
    return sum(_size(block) for message in messages for block in message["content"])


def with_question(messages: Sequence[JsonObject], *texts: str) -> list[JsonObject]:
    """The conversation with a question of the agent itself at its end, of one or more texts.

    While tools run, their calls have no results yet. The API refuses such calls, so the answer that has them is left
    out with the results that are there.
    """
    kept = list(messages)
    last = max((number for number, message in enumerate(kept) if message["role"] == "assistant"), default=-1)
    answer: list[JsonObject] = kept[last]["content"] if last >= 0 else []
    called = {block["id"] for block in answer if block["type"] == "tool_use"}
    done = {block.get("tool_use_id") for message in kept[last + 1 :] for block in message["content"]}
    if called - done:
        kept = kept[:last]
    if kept and kept[-1]["role"] == "user":
        kept[-1] = {"role": "user", "content": [*kept[-1]["content"], *map(text_block, texts)]}
    else:
        kept.append({"role": "user", "content": [*map(text_block, texts)]})
    return kept


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
    """The messages so far; user and assistant alternate.

    `preface` is sent at the beginning of the first message and is not part of the conversation: it is the same in every
    request, also after a compaction and when a session is resumed.
    """

    def __init__(self, messages: Iterable[JsonObject] = ()) -> None:
        self.messages: list[JsonObject] = list(messages)
        self.preface: list[JsonObject] = []
        self._first: tuple[JsonObject, list[JsonObject], JsonObject] | None = None
        self.tokens = 0
        """The tokens that the API counted in the last request."""
        self._added = size_of(self.messages)

    @property
    def estimate(self) -> int:
        """The tokens of the conversation: those that were counted, and an estimate of the rest."""
        return self.tokens + self._added + (0 if self.tokens else sum(map(_size, self.preface)))

    def sent(self) -> list[JsonObject]:
        """The messages as they are sent, with the preface. The same objects while nothing changes at the beginning."""
        if not self.preface:
            return self.messages
        first = self.messages[0] if self.messages else {}
        if self._first is None or self._first[0] is not first or self._first[1] is not self.preface:
            content = [*self.preface, *(first["content"] if first.get("role") == "user" else ())]
            self._first = (first, self.preface, {"role": "user", "content": content})
        return [self._first[2], *self.messages[1 if first.get("role") == "user" else 0 :]]

    def note_tokens(self, counted: int) -> None:
        """Record how many tokens the API has counted up to here."""
        self.tokens, self._added = counted, 0

    def has(self, block: JsonObject) -> bool:
        """Whether a block is part of the conversation."""
        return any(block in message["content"] for message in self.messages)

    def add_user(self, content: str | list[JsonObject]) -> None:
        """Add a prompt, a result or a note. It is appended to the last message if that is a user message."""
        blocks = [text_block(content)] if isinstance(content, str) else content
        self._added += sum(map(_size, blocks))
        if self.messages and self.messages[-1]["role"] == "user":
            earlier = self.messages.pop()["content"]
            self.messages.append({"role": "user", "content": self._results_first([*earlier, *blocks])})
        elif blocks:
            self.messages.append({"role": "user", "content": list(blocks)})

    def _results_first(self, blocks: list[JsonObject]) -> list[JsonObject]:
        """The content of the next message: results in the order of their calls, as the API requires, then the rest.

        Calls that run at the same time end in any order, and notes about one may come before the result of another.
        """
        answer: list[JsonObject] = self.messages[-1]["content"] if self.messages else []
        calls: list[Any] = [block.get("id") for block in answer if block.get("type") == "tool_use"]
        order = {id: number for number, id in enumerate(calls)}
        return sorted(blocks, key=lambda block: order.get(block.get("tool_use_id"), len(calls)))

    def add_assistant(self, blocks: list[JsonObject]) -> None:
        """Add the blocks of one answer."""
        kept = [block for block in blocks if block.get("type") != "text" or block.get("text")]
        if not kept:
            return
        if self.messages and self.messages[-1]["role"] == "assistant":
            self.messages[-1] = {"role": "assistant", "content": [*self.messages[-1]["content"], *kept]}
        else:
            self.messages.append({"role": "assistant", "content": kept})

    def answer_open_calls(self, text: str) -> list[str]:
        """Add a result to each of the last calls that lack one, because the API requires it. Returns their ids."""
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
        """The calls of a message whose results are missing in the next one."""
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
        """Replace all messages."""
        self.messages = list(messages)
        self.tokens, self._added = 0, size_of(self.messages)
