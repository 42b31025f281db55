"""Who the subagents of a session are. In: lines of the CLI. Out: what kind each id is of, as far as lines have told."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import msgspec

from handrail.protocol import Message

__all__ = ["Subagents"]

MOST: Final = 256
"""So many are remembered, the newest."""
PATIENCE: Final = 1.0
"""Seconds. Lines wait for the store, questions do not: one may overtake the line that tells who asks."""
_TELLING: Final = frozenset({"assistant", "user", "system"})


class _Line(msgspec.Struct):
    subtype: str | None = None
    agent_id: str | None = None
    task_id: str | None = None
    subagent_type: str | None = None


_decode = msgspec.json.Decoder(_Line).decode


class Subagents:
    """The kinds of a session's subagents, by id."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._awaited: dict[str, asyncio.Future[None]] = {}

    def see(self, message: Message) -> None:
        """A line of the CLI. Most name no subagent, and cost no more than to look for the word."""
        if message.type not in _TELLING or b'"subagent_type"' not in message.raw:
            return
        try:
            line = _decode(message.raw)
        except msgspec.MsgspecError:
            return
        # The task of a subagent has the subagent's id, and is told of first.
        id = line.task_id if line.subtype == "task_started" else line.agent_id
        if not id or not line.subagent_type:
            return
        self._kinds.pop(id, None)
        self._kinds[id] = line.subagent_type[:200]
        if (awaited := self._awaited.pop(id, None)) is not None and not awaited.done():
            awaited.set_result(None)
        if len(self._kinds) > MOST:
            del self._kinds[next(iter(self._kinds))]

    def kind(self, id: str | None) -> str:
        """What kind it is of; "" where that is not known, or where nobody is named."""
        return self._kinds.get(id or "", "")

    async def told(self, id: str | None, patience: float = PATIENCE) -> str:
        """What kind it is of, as soon as a line tells it; "" where none does within so many seconds."""
        if id and id not in self._kinds:
            awaited = self._awaited.setdefault(id, asyncio.get_running_loop().create_future())
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(awaited), patience)
            self._awaited.pop(id, None)
        return self.kind(id)
