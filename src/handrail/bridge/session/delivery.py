"""Prompts on their way to the CLI, one by one: urgent ones first, then in order.

A prompt that cannot be delivered now stays queued until the next prompt or the next process. A delivered prompt is
tracked until the CLI reports that it began with it. If the process ends before that, the outcome is unknown and the
user is asked. A prompt that was pending when the user stopped a turn is held until the user sends or cancels it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal

from msgspec import Struct

from handrail.bridge.errors import CommandRefused
from handrail.errors import HandrailError
from handrail.schema.activity_messages import CommandLifecycleMessage
from handrail.schema.message_view import MessageView
from handrail.schema.messages import UserMessage

__all__ = ["Content", "Delivery", "Priority", "Prompt", "begun_prompt"]

log = logging.getLogger("handrail.bridge")

Content = str | list[dict[str, Any]]
Priority = Literal["now", "next", "later"]
_ORDER: Final = {"now": 0, "next": 1, None: 1, "later": 2}
MOST_QUEUED: Final = 1024 * 1024
"""Characters that may be queued for one CLI."""


class Prompt(Struct, frozen=True):
    """A queued message of the user."""

    content: Content
    priority: Priority | None = None


def begun_prompt(view: MessageView) -> str:
    """The uuid of the prompt that the CLI began with, or dropped, by this message; "" for any other message."""
    if isinstance(view, UserMessage):
        return view.uuid if view.is_replay else ""
    if isinstance(view, CommandLifecycleMessage):
        return view.command_uuid if view.state != "queued" else ""
    return ""


class Delivery:
    """The prompts that one session's CLI has not begun with.

    `give` delivers one prompt, starting a process if needed; `run` starts background work.
    """

    def __init__(
        self, give: Callable[[str, Prompt], Awaitable[None]], run: Callable[[Awaitable[Any]], asyncio.Task[Any]]
    ) -> None:
        self._give, self._run = give, run
        self._queued: dict[str, Prompt] = {}
        self._delivered: dict[str, Prompt] = {}
        self._held: dict[str, Prompt] = {}
        self._delivering: asyncio.Task[None] | None = None

    @property
    def queued(self) -> list[str]:
        """The prompts that were not delivered yet, in delivery order."""
        return sorted(self._queued, key=lambda uuid: _ORDER[self._queued[uuid].priority])

    @property
    def open(self) -> bool:
        """Whether any prompt is unconfirmed by the CLI. Held prompts do not count."""
        return bool(self._queued or self._delivered)

    @property
    def unconfirmed(self) -> dict[str, Prompt]:
        """The prompts that were delivered and that the CLI may not have begun with."""
        return dict(self._delivered)

    # Queued

    def check_room(self) -> None:
        """Raises CommandRefused if the queue is full, which means that the CLI does not read."""
        contents = [prompt.content for prompt in (*self._queued.values(), *self._held.values())]
        if sum(len(content if isinstance(content, str) else str(content)) for content in contents) >= MOST_QUEUED:
            raise CommandRefused(
                "busy", "the prompt queue is full because the CLI does not read it; wait, or stop the session"
            )

    def add(self, uuid: str, prompt: Prompt) -> None:
        """Queue a prompt without starting to deliver it."""
        self._queued[uuid] = prompt

    def put(self, uuid: str, prompt: Prompt) -> None:
        """Queue a prompt and deliver it as soon as possible."""
        self.add(uuid, prompt)
        self.start()

    def start(self) -> None:
        """Start delivering queued prompts."""
        if self._queued and (self._delivering is None or self._delivering.done()):
            self._delivering = self._run(self._deliver())

    def remove(self, uuid: str) -> Prompt | None:
        """Remove a prompt from the queue and return it; None if it is no longer queued."""
        return self._queued.pop(uuid, None)

    # Held

    @property
    def held(self) -> list[str]:
        """The prompts that wait for the user."""
        return list(self._held)

    def hold(self, uuid: str, prompt: Prompt) -> None:
        """Keep a prompt until the user sends or cancels it."""
        self._queued.pop(uuid, None)
        self._held[uuid] = prompt

    def release(self, uuid: str) -> Prompt | None:
        """Remove a held prompt and return it; None if it is not held."""
        return self._held.pop(uuid, None)

    async def _deliver(self) -> None:
        while self._queued:
            uuid = self.queued[0]
            try:
                await self._give(uuid, self._queued[uuid])
            except HandrailError as error:
                log.info("a prompt stays queued: %s", error)
                return

    # Delivered

    def hand_over(self, uuid: str) -> bool:
        """Mark a prompt as delivered; False if it was withdrawn before."""
        if uuid not in self._queued:
            return False
        self._delivered[uuid] = self._queued.pop(uuid)
        return True

    def settle(self, uuid: str) -> bool:
        """Mark the outcome of a prompt as known; False if it already was."""
        return self._delivered.pop(uuid, None) is not None

    def observe(self, view: MessageView, pending: tuple[str, ...]) -> None:
        """Update the prompts from a message. `pending`: prompts the CLI was sent and has not begun with."""
        if view.type == "result":
            self._delivered = {uuid: prompt for uuid, prompt in self._delivered.items() if uuid in pending}
        elif self._delivered and (uuid := begun_prompt(view)):
            self.settle(uuid)

    def take_unconfirmed(self) -> list[str]:
        """Remove and return the unconfirmed prompts, after the process ended."""
        lost, self._delivered = list(self._delivered), {}
        return lost
