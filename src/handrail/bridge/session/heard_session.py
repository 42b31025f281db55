"""A session that is listened to. In: lines of a CLI. Out: on record or streamed, and what they change."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any, Final

from handrail.bridge.session.asked_session import AskedSession
from handrail.bridge.session.events import LARGEST, live_item
from handrail.bridge.session.frame_text import frame_text
from handrail.bridge.session.notes import note
from handrail.bridge.session.partial import Partial
from handrail.bridge.session.patience import until_kept
from handrail.bridge.store.events_base import NewEvent
from handrail.bridge.store.index_base import SessionRecord
from handrail.client.session import Session
from handrail.protocol import Message, TurnTable

__all__ = ["HeardSession"]

LIVE: Final = frozenset({"stream_event", "tool_progress"})
"""Lines that are not kept: what they say comes again, whole."""


class HeardSession(AskedSession):
    """A session and what its CLI says."""

    def __init__(self, record: SessionRecord, *, clock: Callable[[], float] = time.monotonic, **kept: Any) -> None:
        super().__init__(record, **kept)
        self.partial = Partial()
        self.used = self.touched = clock()
        """When something last happened; when somebody last asked for it."""
        self._clock = clock
        self._session: Session | None = None
        self._compacting = self._tasks_running = self._ending = False
        self.on_result: Callable[[bytes], None] = lambda raw: None
        """Is told of every result, in order."""
        self._turns = TurnTable()
        """Goes by what is on record, not by what the process has said since."""

    def _see(self, message: Message) -> None:
        """What a line says about messages on their way."""

    async def _take(self, batch: list[Message]) -> None:
        self.used = self._clock()
        for live, messages in groupby(batch, lambda message: message.type in LIVE):
            if live:
                self._stream(messages)
                continue
            said: list[NewEvent] = []
            for message in messages:
                self._note(message)
                said.append(NewEvent("frame", message.raw, frame_text(message)))
            await self._keep(said)

    def _stream(self, messages: Iterable[Message]) -> None:
        """What is told and not kept. A frame has an end: what is too long for one comes again, whole."""
        items: list[bytes] = []
        for message in messages:
            self.partial.take(message.raw)
            if not self._turns.running:
                self._turns.receive(message)
            if len(message.raw) <= LARGEST:
                items.append(live_item(message.raw))
        self.feed.publish(items)

    async def _keep(self, said: list[NewEvent]) -> None:
        """Where the store cannot take it now, the CLI waits."""
        events = [*said, *self._state_events()]
        await until_kept(lambda: self.record_events(events), self.record.id, lambda: self._ending)

    def _note(self, message: Message) -> None:
        """What a line changes."""
        kind, session = message.type, self._session
        self.subagents.see(message)
        self._turns.receive(message)
        self._see(message)
        if kind == "assistant":
            self.partial.whole(message.raw)
        elif kind == "result":
            self.partial.end()
            self._compacting = False
            self.on_result(message.raw)
            if session is not None:
                self.change(cost=session.meter.total_cost_usd)
        noted = note(message, self.record)
        if noted.fields:
            self.change(**noted.fields)
        self._compacting = self._compacting if noted.compacting is None else noted.compacting
        self._tasks_running = self._tasks_running if noted.tasks is None else noted.tasks
