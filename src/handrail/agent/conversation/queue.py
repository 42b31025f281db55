"""Prompts that wait for a turn.

All prompts that wait when a turn starts are merged into it. A prompt or a notice that arrives while tools run is folded
into the running turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from handrail.agent.base import Prompt
from handrail.agent.extensions.command import Command
from handrail.agent.slash_commands.expansion import Expansion

__all__ = ["ExpandedPrompt", "PromptQueue", "expanded", "is_blank", "is_command"]

JsonObject = dict[str, Any]
_ORDER: Final = {"now": 0, "next": 1, "later": 2}


class ExpandedPrompt(Prompt, frozen=True):
    """A prompt that was a slash command and is now what the command stands for."""

    expansion: Expansion = Expansion(())
    call: JsonObject = {}
    """The command as the user typed it, for hooks."""
    fork: Command | None = None
    """The command if it runs in a subagent."""

    @property
    def call_text(self) -> str:
        """The call, in the elements in which transcripts and models know it."""
        name, arguments = self.call["command_name"], self.call["command_args"]
        lines = [f"<command-message>{name}</command-message>", f"<command-name>/{name}</command-name>"]
        return "\n".join([*lines, f"<command-args>{arguments}</command-args>"] if arguments else lines)


def expanded(
    prompt: Prompt,
    content: str | list[JsonObject],
    expansion: Expansion,
    call: JsonObject,
    fork: Command | None = None,
) -> ExpandedPrompt:
    """The prompt with the content that its command expands to."""
    return ExpandedPrompt(
        content,
        uuid=prompt.uuid,
        priority=prompt.priority,
        asks=prompt.asks,
        origin=prompt.origin,
        stamp=prompt.stamp,
        expansion=expansion,
        call=call,
        fork=fork,
    )


def is_command(prompt: Prompt) -> bool:
    """Whether a prompt is a slash command. Such a prompt is not merged with others."""
    if isinstance(prompt, ExpandedPrompt) or prompt.verbatim:
        return False
    return prompt.text.lstrip().startswith("/")


def is_blank(prompt: Prompt) -> bool:
    """Whether a prompt is only whitespace, about which the model is not asked. Blocks of text are not checked."""
    return isinstance(prompt.content, str) and prompt.content.isspace() and prompt.asks and not prompt.origin


class PromptQueue:
    """Prompts in the order of their priority, then of their arrival. A uuid is queued once."""

    def __init__(self) -> None:
        self._waiting: list[Prompt] = []
        self._seen: set[str] = set()
        self._changed = asyncio.Event()
        self.ended = False

    def put(self, prompt: Prompt) -> bool:
        """Add a prompt. Returns False if its uuid was queued before."""
        if prompt.uuid:
            if prompt.uuid in self._seen:
                return False
            self._seen.add(prompt.uuid)
        self._waiting.append(prompt)
        self._waiting.sort(key=lambda item: _ORDER.get(item.priority, 1))
        self._changed.set()
        return True

    def put_first(self, prompt: Prompt) -> None:
        """Add the expansion of a prompt in its place."""
        self._waiting.insert(0, prompt)

    def end(self) -> None:
        """The host sends nothing more."""
        self.ended = True
        self._changed.set()

    def wake(self) -> None:
        """Have `next` check again whether more can come."""
        self._changed.set()

    async def next(self, more_may_come: Callable[[], bool]) -> list[Prompt]:
        """Wait for the prompts of the next turn. Returns none if nothing more can come."""
        while True:
            if self._waiting:
                return self._take_turn()
            if self.ended and not more_may_come():
                return []
            self._changed.clear()
            await self._changed.wait()

    def _take_turn(self) -> list[Prompt]:
        if all(map(_is_notice, self._waiting[:2])) and len(self._waiting) > 1:
            return [replace(self._waiting.pop(0), asks=False)]  # the model is asked once, about the last one
        if _is_alone(self._waiting[0]) or not self._waiting[0].asks:
            return [self._waiting.pop(0)]
        taken: list[Prompt] = []
        while self._waiting and not _is_alone(self._waiting[0]) and self._waiting[0].asks:
            taken.append(self._waiting.pop(0))
        return taken

    def fold(self) -> list[Prompt]:
        """Take the prompts that join the running turn."""
        taken: list[Prompt] = []
        left: list[Prompt] = []
        for prompt in self._waiting:
            later = prompt.priority == "later" and not _is_notice(prompt)
            (left if later or is_command(prompt) or is_blank(prompt) else taken).append(prompt)
        self._waiting = left
        return taken

    def cancel(self, uuid: str) -> bool:
        """Remove a prompt. Returns whether it was waiting."""
        before = len(self._waiting)
        self._waiting = [prompt for prompt in self._waiting if prompt.uuid != uuid]
        return len(self._waiting) < before

    def uuids(self) -> list[str]:
        """The uuids of the prompts that wait."""
        return [prompt.uuid for prompt in self._waiting if prompt.uuid]

    def clear(self) -> list[str]:
        """Remove all prompts. Returns their uuids."""
        taken = self.uuids()
        self._waiting.clear()
        return taken

    def __len__(self) -> int:
        return sum(prompt.asks for prompt in self._waiting)


def _is_notice(prompt: Prompt) -> bool:
    """Whether a prompt reports a background task."""
    return prompt.origin is not None and prompt.origin.get("kind") == "task-notification"


def _is_alone(prompt: Prompt) -> bool:
    expanded = isinstance(prompt, ExpandedPrompt)
    return is_command(prompt) or is_blank(prompt) or expanded or prompt.origin is not None
