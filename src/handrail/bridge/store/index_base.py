"""Which sessions there are and how they stand. In: records. Out: lists of them, newest first."""

from __future__ import annotations

from typing import Any, Literal, Protocol, get_args

from msgspec import Struct, field

__all__ = ["STATES", "SessionIndex", "SessionLine", "SessionRecord", "State"]

State = Literal["starting", "idle", "running", "waiting_approval", "compacting", "hibernated", "failed", "interrupted"]
STATES: tuple[State, ...] = get_args(State)


class SessionLine(Struct, frozen=True, kw_only=True, gc=False):
    """One session as clients are shown it. Times are milliseconds since 1970.

    conversation  the id under which the CLI knows it: resuming names this one
    lapsed        what was granted for the session alone and is in force no more; it can be granted again
    forked_from   the session of which it is a branch, and the message after which it branched off; "" for none, or all
    runner        the machine that runs it, or ran it last; "" where there is only one
    state         "interrupted": its machine has gone, and it can be taken up on another
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


class SessionRecord(SessionLine, frozen=True, kw_only=True, gc=False):
    """One session with all that is known of it.

    options       what the user chose for it: model, effort, folders, limits
    rules         what was granted for the session alone, by the words that were shown; it lapses with the process
    settled       the number of the last event up to which nothing is open
    """

    options: dict[str, Any] = field(default_factory=dict[str, Any])
    rules: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    settled: int = 0


class SessionIndex(Protocol):
    """Where records are kept."""

    async def put(self, record: SessionRecord) -> None:
        """Keep a record, in place of the one with its id."""
        ...

    async def get(self, id: str) -> SessionRecord | None:
        """The record with this id."""
        ...

    async def list(
        self, *, archived: bool | None = None, words: str = "", limit: int = 100, offset: int = 0
    ) -> list[SessionRecord]:
        """Records, the one that changed last first. `words`: all of them in its title or folder."""
        ...

    async def lines(
        self, *, archived: bool | None = None, words: str = "", limit: int = 100, offset: int = 0
    ) -> list[SessionLine]:
        """The same sessions, with no more than clients are shown."""
        ...

    async def delete(self, id: str) -> None:
        """Forget one."""
        ...
