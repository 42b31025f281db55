"""Prompts that wait. In: prompts of the host and of the agent itself. Out: those that make up the next turn.

What waits when a turn begins is merged into it; what comes before a tool round is folded into the turn that runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

if TYPE_CHECKING:
    from handrail.agent.slash_commands.expansion import Expansion

__all__ = ["Prompt", "PromptQueue"]

JsonObject = dict[str, Any]
_ORDER: Final = {"now": 0, "next": 1, "later": 2}


class Prompt(Struct, frozen=True):
    """Something the model is to be told."""

    content: str | list[JsonObject]
    uuid: str = ""
    """The host's own id; with one, the host is told what becomes of it."""
    priority: str = "next"
    asks: bool = True
    """False: it is only to be known at the next turn."""
    origin: JsonObject | None = None
    """Where it comes from, if not from the host."""
    expansion: Expansion | None = None
    """It was a command, and is now what the command stands for."""

    @property
    def text(self) -> str:
        """Its text, blocks joined."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(str(block.get("text") or "") for block in self.content if block.get("type") == "text")

    @property
    def is_command(self) -> bool:
        """Does it begin with a slash? Such a prompt has a turn of its own."""
        return self.expansion is None and self.text.lstrip().startswith("/")


class PromptQueue:
    """First come, first served, but by priority. `seen` drops a uuid that came before."""

    def __init__(self) -> None:
        self._waiting: list[Prompt] = []
        self._seen: set[str] = set()
        self._changed = asyncio.Event()
        self.ended = False

    def put(self, prompt: Prompt) -> bool:
        """Add a prompt. Out: False where its uuid was here before."""
        if prompt.uuid:
            if prompt.uuid in self._seen:
                return False
            self._seen.add(prompt.uuid)
        self._waiting.append(prompt)
        self._waiting.sort(key=lambda item: _ORDER.get(item.priority, 1))
        self._changed.set()
        return True

    def put_first(self, prompt: Prompt) -> None:
        """What a prompt has become takes its place."""
        self._waiting.insert(0, prompt)

    def end(self) -> None:
        """Nothing more will come from the host."""
        self.ended = True
        self._changed.set()

    def wake(self) -> None:
        """Somebody should look again whether there is anything to wait for."""
        self._changed.set()

    async def next(self, more_may_come: Callable[[], bool]) -> list[Prompt]:
        """Wait for the prompts of the next turn. Out: none where nothing can come any more."""
        while True:
            if self._waiting:
                return self._take_turn()
            if self.ended and not more_may_come():
                return []
            self._changed.clear()
            await self._changed.wait()

    def _take_turn(self) -> list[Prompt]:
        if _is_alone(self._waiting[0]) or not self._waiting[0].asks:
            return [self._waiting.pop(0)]
        taken: list[Prompt] = []
        while self._waiting and not _is_alone(self._waiting[0]) and self._waiting[0].asks:
            taken.append(self._waiting.pop(0))
        return taken

    def fold(self) -> list[Prompt]:
        """What has come for the turn that runs."""
        taken: list[Prompt] = []
        left: list[Prompt] = []
        for prompt in self._waiting:
            (left if prompt.is_command or prompt.priority == "later" else taken).append(prompt)
        self._waiting = left
        return taken

    def cancel(self, uuid: str) -> bool:
        """Take back a prompt that waits."""
        before = len(self._waiting)
        self._waiting = [prompt for prompt in self._waiting if prompt.uuid != uuid]
        return len(self._waiting) < before

    def uuids(self) -> list[str]:
        """The ids of those that wait."""
        return [prompt.uuid for prompt in self._waiting if prompt.uuid]

    def clear(self) -> list[str]:
        """Take back all. Out: their ids."""
        taken = self.uuids()
        self._waiting.clear()
        return taken

    def __len__(self) -> int:
        return sum(prompt.asks for prompt in self._waiting)


def _is_alone(prompt: Prompt) -> bool:
    return prompt.is_command or prompt.expansion is not None or prompt.origin is not None
