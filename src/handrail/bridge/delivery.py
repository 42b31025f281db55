"""Messages on their way to the CLI. In: what was accepted. Out: given over one by one, in order.

What cannot be given now stays, and is tried again with the next message or the next process. What was given is looked
after until the CLI has begun with it: if its process ends before, nobody knows what became of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from handrail.bridge.errors import CommandRefused
from handrail.protocol import Message
from handrail.protocol.errors import HandrailError

__all__ = ["Content", "Delivery", "begun"]

log = logging.getLogger("handrail.bridge")

Content = str | list[dict[str, Any]]
MOST_WAITING: Final = 1024 * 1024
"""Where so many letters wait for one CLI, no more is accepted."""


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
        self, give: Callable[[str, Content], Awaitable[None]], run: Callable[[Awaitable[Any]], asyncio.Task[Any]]
    ) -> None:
        self._give, self._run = give, run
        self._messages: dict[str, Content] = {}
        self._handed: dict[str, None] = {}
        self._giving: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> list[str]:
        """What the CLI has not been given, oldest first."""
        return list(self._messages)

    @property
    def open(self) -> bool:
        """Is there a message of which nobody knows yet that the CLI has it?"""
        return bool(self._messages or self._handed)

    # What was accepted

    def check_room(self) -> None:
        """CommandRefused where so much waits that the CLI does not seem to read."""
        waiting = sum(len(part if isinstance(part, str) else str(part)) for part in self._messages.values())
        if waiting >= MOST_WAITING:
            raise CommandRefused("busy", "the CLI takes nothing now and much waits for it: wait, or stop the session")

    def keep(self, uuid: str, content: Content) -> None:
        """One more, to be given with the next."""
        self._messages[uuid] = content

    def put(self, uuid: str, content: Content) -> None:
        """One more, to be given now."""
        self.keep(uuid, content)
        self.go()

    def go(self) -> None:
        """Give what waits."""
        if self._messages and (self._giving is None or self._giving.done()):
            self._giving = self._run(self._deliver())

    def take_back(self, uuid: str) -> Content | None:
        """Out: what it says, if it was still here."""
        return self._messages.pop(uuid, None)

    async def _deliver(self) -> None:
        while self._messages:
            uuid, content = next(iter(self._messages.items()))
            try:
                await self._give(uuid, content)
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
