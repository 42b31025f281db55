"""A session that can be looked at, wherever it runs. In: nothing. Out: what is on record of it, and what comes."""

from __future__ import annotations

from typing import Protocol

from handrail.bridge.session.feed import Feed
from handrail.bridge.session.partial import Partial
from handrail.bridge.store.events_base import Event
from handrail.bridge.store.index_base import SessionRecord, State

__all__ = ["Followed"]


class Followed(Protocol):
    """What clients need of a session to follow it: its host, or what stands here for one on another machine."""

    partial: Partial
    """The block that is being written."""

    @property
    def record(self) -> SessionRecord:
        """How it stands."""
        ...

    @property
    def feed(self) -> Feed:
        """What followers are told."""
        ...

    @property
    def seq(self) -> int:
        """The number of the newest event that followers may have seen."""
        ...

    def state(self) -> State:
        """Its state."""
        ...

    async def read(self, after: int, *, most_bytes: int = 2**20) -> list[Event]:
        """What is on record after a number."""
        ...
