"""Messages on their way to the CLI. In: what was accepted. Out: given over one by one, the urgent first, then in order.

What cannot be given now stays, and is tried again with the next message or the next process. What was given is looked
after until the CLI has begun with it: if its process ends before, nobody knows what became of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal

import msgspec

from handrail.bridge.errors import CommandRefused
from handrail.protocol import Message
from handrail.protocol.errors import HandrailError

__all__ = ["Content", "Delivery", "Held", "Priority", "begun"]

log = logging.getLogger("handrail.bridge")

Content = str | list[dict[str, Any]]
Priority = Literal["now", "next", "later"]
_ORDER: Final = {"now": 0, "next": 1, None: 1, "later": 2}
MOST_WAITING: Final = 1024 * 1024
"""Where so many letters wait for one CLI, no more is accepted."""


class Held(msgspec.Struct, frozen=True):
    """A message that waits, and how urgent it is."""

    content: Content
    priority: Priority | None = None


class _Line(msgspec.Struct):
    """What a line says about a message."""

    type: str = ""
    uuid: str | None = None
    isReplay: bool = False  # noqa: N815 - as it is written
    command_uuid: str | None = None
    state: str = ""


_decode = msgspec.json.Decoder(_Line).decode
_TELLING = frozenset({"user", "command_lifecycle"})


def begun(kind: str, raw: bytes) -> str:
    """Which message the CLI has begun with, or done away with, by this line; "" for none. In its queue is not begun."""
    if kind not in _TELLING:
        return ""
    try:
        line = _decode(raw)
    except msgspec.MsgspecError:
        return ""
    if kind == "user":
        return (line.uuid or "") if line.isReplay else ""
    return (line.command_uuid or "") if line.state != "queued" else ""


class Delivery:
    """The messages that one session's CLI has not begun with."""

    def __init__(
        self, give: Callable[[str, Held], Awaitable[None]], run: Callable[[Awaitable[Any]], asyncio.Task[Any]]
    ) -> None:
        self._give, self._run = give, run
        self._messages: dict[str, Held] = {}
        self._handed: dict[str, None] = {}
        self._giving: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> list[str]:
        """What the CLI has not been given, in the order in which it will be."""
        return sorted(self._messages, key=lambda uuid: _ORDER[self._messages[uuid].priority])

    @property
    def open(self) -> bool:
        """Is there a message of which nobody knows yet that the CLI has it?"""
        return bool(self._messages or self._handed)

    # What was accepted

    def check_room(self) -> None:
        """CommandRefused where so much waits that the CLI does not seem to read."""
        parts = [held.content for held in self._messages.values()]
        waiting = sum(len(part if isinstance(part, str) else str(part)) for part in parts)
        if waiting >= MOST_WAITING:
            raise CommandRefused("busy", "the CLI takes nothing now and much waits for it: wait, or stop the session")

    def keep(self, uuid: str, held: Held) -> None:
        """One more, to be given with the next."""
        self._messages[uuid] = held

    def put(self, uuid: str, held: Held) -> None:
        """One more, to be given as soon as it can be."""
        self.keep(uuid, held)
        self.go()

    def go(self) -> None:
        """Give what waits."""
        if self._messages and (self._giving is None or self._giving.done()):
            self._giving = self._run(self._deliver())

    def take_back(self, uuid: str) -> Held | None:
        """Out: what it says, if it was still here."""
        return self._messages.pop(uuid, None)

    async def _deliver(self) -> None:
        while self._messages:
            uuid = self.waiting[0]
            try:
                await self._give(uuid, self._messages[uuid])
            except HandrailError as error:
                log.info("a message waits: %s", error)
                return

    # What was given

    def hand(self, uuid: str) -> bool:
        """It is being written to the CLI. Out: false where it was taken back before."""
        if uuid not in self._messages:
            return False
        del self._messages[uuid]
        self._handed[uuid] = None
        return True

    def settle(self, uuid: str) -> bool:
        """Nobody has to ask what became of it any more. Out: whether somebody had to."""
        return self._handed.pop(uuid, 0) is None

    def see(self, message: Message, pending: tuple[str, ...]) -> None:
        """A line of the CLI. `pending`: what it was sent and has not begun with."""
        if message.type == "result":
            self._handed = {uuid: None for uuid in self._handed if uuid in pending}
        elif self._handed and (uuid := begun(message.type, message.raw)):
            self.settle(uuid)

    def lose(self) -> list[str]:
        """The process has ended. Out: the messages of which nobody knows what became of them."""
        lost, self._handed = list(self._handed), {}
        return lost
