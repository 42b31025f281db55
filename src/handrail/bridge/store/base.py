"""The ports of the store: event log, session index, session writer, ownership; and the values that pass through them.

SQLite implements them for one machine (this folder), NATS JetStream for many (`cluster/`). One conformance suite per
port, in `handrail.testing`, holds for every implementation.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, Final, Literal, Protocol, get_args

from msgspec import Struct, field
from msgspec.structs import replace

__all__ = [
    "AT_REST",
    "STATES",
    "Bounds",
    "Event",
    "EventLog",
    "Hit",
    "NewEvent",
    "Ownership",
    "Receipt",
    "SessionIndex",
    "SessionLine",
    "SessionRecord",
    "SessionWriter",
    "State",
    "matching_records",
]

# Events


class NewEvent(Struct, frozen=True):
    """An event to append. `data` is JSON, byte for byte where a CLI wrote it; `text` is what a search matches."""

    kind: str
    data: bytes
    text: str = ""


class Event(Struct, frozen=True):
    """A durable event. `time` is in milliseconds since 1970."""

    seq: int
    time: int
    kind: str
    data: bytes


class Receipt(Struct, frozen=True):
    """The answer to a command, stored in the same transaction as the events that the command caused."""

    command: str
    answer: bytes


class Bounds(Struct, frozen=True):
    """The range of stored events. `first` is above 1 where old events were deleted; without events `last` is 0."""

    first: int = 1
    last: int = 0


class Hit(Struct, frozen=True):
    """A search result, with the words around it."""

    session: str
    seq: int
    time: int
    snippet: str


class EventLog(Protocol):
    """The events of all sessions. Sequence numbers are gapless within a session and never reused."""

    async def append(
        self, session: str, events: Sequence[NewEvent], receipt: Receipt | None = None, *, time: int | None = None
    ) -> list[Event]:
        """Append events; returns them with their numbers once they are durable."""
        ...

    async def read(self, session: str, after: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        """The events after a number, in order; at least one where there is one, however large it is."""
        ...

    async def read_back(self, session: str, before: int, *, limit: int = 1000, most_bytes: int = 2**20) -> list[Event]:
        """The newest events before a number, in ascending order; at least one where there is one."""
        ...

    async def bounds(self, session: str) -> Bounds:
        """The range of a session's events."""
        ...

    async def receipt(self, command: str) -> bytes | None:
        """The answer to a command; None if it was never answered."""
        ...

    async def search(self, words: str, *, limit: int = 50, session: str | None = None) -> list[Hit]:
        """Events that contain every word, each as a word prefix; newest first."""
        ...

    async def forget(self, session: str, *, through: int | None = None) -> None:
        """Delete a session's events, all of them or those through a number."""
        ...

    async def size(self, session: str) -> int:
        """Bytes of a session's events."""
        ...

    async def close(self) -> None:
        """Finish pending writes."""
        ...


# Sessions

State = Literal["starting", "idle", "running", "waiting_approval", "compacting", "hibernated", "failed", "interrupted"]
STATES: tuple[State, ...] = get_args(State)
AT_REST: Final = frozenset({"hibernated", "failed"})
"""States without a process."""


class SessionLine(Struct, frozen=True, kw_only=True, gc=False):
    """One session as clients see it. Times are milliseconds since 1970.

    conversation  the id by which the CLI resumes it
    changed       the last activity: a message, an answer, a setting; not the start or end of an idle process
    lapsed        permissions granted for the session that ended with its process and can be granted again
    forked_from   the session it was forked from, and `forked_at` the message; "" if not a fork, or a fork of all
    runner        the machine that runs it or ran it last; "" for a server that is alone
    agent         the name of the ACP agent that was chosen for it; "" for the CLI of the server
    state         "interrupted": its machine left the cluster, and another can take the session over
    """

    id: str
    cwd: str
    created: int
    changed: int
    conversation: str = ""
    title: str = ""
    state: State = "starting"
    model: str = ""
    mode: str = "default"
    archived: bool = False
    trusted: bool = False
    cost: float = 0.0
    questions: int = 0
    error: str = ""
    lapsed: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    forked_from: str = ""
    forked_at: str = ""
    runner: str = ""
    agent: str = ""

    def without_paths(self) -> SessionLine:
        """For devices with the view scope alone: the folder's last name, no rules, no error text."""
        return replace(self, cwd=os.path.basename(self.cwd), error="failed" if self.error else "", lapsed=[])


class SessionRecord(SessionLine, frozen=True, kw_only=True, gc=False):
    """Everything the server stores about a session.

    options  the user's choices: model, effort, folders, limits
    rules    permission updates granted for the session; they lapse with the process
    settled  the number of the last event up to which nothing is pending
    """

    options: dict[str, Any] = field(default_factory=dict[str, Any])
    rules: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    settled: int = 0

    def line(self, *, paths: bool = True) -> SessionLine:
        """The part that clients see. `paths=False`: as in `SessionLine.without_paths`."""
        line = SessionLine(**dict(zip(_LINE_FIELDS, _line_values(self), strict=True)))
        return line if paths else line.without_paths()


_LINE_FIELDS: Final = SessionLine.__struct_fields__
_line_values: Final = attrgetter(*_LINE_FIELDS)


def matching_records(records: Iterable[SessionRecord], *, archived: bool | None, words: str) -> list[SessionRecord]:
    """The records that match a query of `SessionIndex.list`, last changed first."""
    wanted = words.casefold().split()
    found = [
        record
        for record in records
        if archived in (None, record.archived)
        and all(word in f"{record.title} {record.cwd}".casefold() for word in wanted)
    ]
    return sorted(found, key=lambda record: (record.changed, record.id), reverse=True)


class SessionIndex(Protocol):
    """The records of all sessions."""

    async def put(self, record: SessionRecord) -> None:
        """Insert or replace the record with this id."""
        ...

    async def get(self, id: str) -> SessionRecord | None:
        """The record with this id."""
        ...

    async def list(
        self, *, archived: bool | None = None, words: str = "", limit: int = 100, offset: int = 0
    ) -> list[SessionRecord]:
        """Records, last changed first. `words` must all occur in the title or the folder."""
        ...

    async def lines(
        self, *, archived: bool | None = None, words: str = "", limit: int = 100, offset: int = 0
    ) -> list[SessionLine]:
        """The same sessions, decoded only as far as clients see them."""
        ...

    async def delete(self, id: str) -> None:
        """Delete a record."""
        ...


class SessionWriter(Protocol):
    """Writes one session: its events and the record that summarises them, in one transaction."""

    async def write(
        self,
        session: str,
        events: Sequence[NewEvent],
        record: SessionRecord | None = None,
        receipt: Receipt | None = None,
    ) -> list[Event]:
        """Store all of it or none. Returns the events with their numbers once they are durable.

        Calls for one session take effect in the order in which they are made, also when they overlap.
        """
        ...


class Ownership(Protocol):
    """Gives each session to one machine at a time."""

    async def claim(self, session: str, *, new: bool = False) -> bool:
        """Take a session; True if this machine owns it now. `new`: no other machine can know of it yet."""
        ...

    async def release(self, session: str, *, gone: bool = False) -> None:
        """Release a session if it is owned. `gone`: it was deleted, so no machine may claim it again."""
        ...

    async def owner(self, session: str) -> str:
        """The name of the owner, or "" without one."""
        ...
