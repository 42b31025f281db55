"""The port of a session store: a copy of transcripts outside of the machine that runs the CLI.

A store holds lists of entries. An entry is one line of a transcript, decoded. Each list has a key: the project, the
session, and for the transcript of a subagent its path below the session's folder, without `.jsonl`. The names and the
shapes are those of the official SDK, so that a store written for it works here, and the other way round.
"""

# No `from __future__ import annotations`: TypedDict reads Required and NotRequired from the annotations themselves.

from typing import Any, Literal, NotRequired, Protocol, Required, TypedDict

from handrail.errors import MachineError

__all__ = [
    "METHODS",
    "SessionKey",
    "SessionListSubkeysKey",
    "SessionStore",
    "SessionStoreEntry",
    "SessionStoreError",
    "SessionStoreFlushMode",
    "SessionStoreListEntry",
    "SessionSummaryEntry",
    "implements",
]

SessionStoreFlushMode = Literal["batched", "eager"]
"""When entries are appended: together at the end of a turn, or as soon as the CLI sends them."""


class SessionKey(TypedDict):
    """Names a list of entries. Without `subpath` it is the session's own transcript."""

    project_key: str
    session_id: str
    subpath: NotRequired[str]


class SessionStoreEntry(TypedDict, total=False):
    """One line of a transcript. It has any other fields too, and a store returns all of them unchanged."""

    type: Required[str]
    uuid: str
    timestamp: str


class SessionStoreListEntry(TypedDict):
    """A session in a list. `mtime` is the time of its last append, in milliseconds since 1970."""

    session_id: str
    mtime: int


class SessionSummaryEntry(TypedDict):
    """What lists of sessions show, kept up to date by `fold_session_summary`. A store does not look into `data`."""

    session_id: str
    mtime: int
    data: dict[str, Any]


class SessionListSubkeysKey(TypedDict):
    """Names a session whose subagents are listed."""

    project_key: str
    session_id: str


class SessionStore(Protocol):
    """Stores transcripts. Only `append` and `load` are required; `handrail.testing` has its conformance suite.

    The methods of one store may be called concurrently. A method that raises has changed nothing.
    """

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Add entries at the end of a list. When it returns, they are as durable as the store promises."""
        ...

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """All entries of a list in the order of the appends; None for an unknown key."""
        ...

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """The sessions of a project in any order. Needed to continue the latest one, and to list them."""
        raise NotImplementedError

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """The summaries of a project's sessions. Without it, listing loads every session."""
        raise NotImplementedError

    async def delete(self, key: SessionKey) -> None:
        """Delete a list; without `subpath` the whole session. A missing one is not an error."""
        raise NotImplementedError

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """The `subpath` of each other list of a session. Needed to resume a session with its subagents."""
        raise NotImplementedError


class SessionStoreError(MachineError, RuntimeError):
    """A call of the session store failed, took too long, or returned something else than its contract says."""


METHODS = ("append", "load", "list_sessions", "list_session_summaries", "delete", "list_subkeys")
"""The methods of a store, the required ones first."""


def implements(store: object, method: str) -> bool:
    """Whether a store implements an optional method; the one it inherits from the protocol only raises."""
    found = getattr(type(store), method, None) or getattr(store, method, None)
    return callable(found) and found is not getattr(SessionStore, method, None)
