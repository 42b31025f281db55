"""Session stores under their official names: the protocol, the store in memory, functions on stored sessions."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar, cast

from handrail import session_store as stores
from handrail.claude_agent_sdk.loops import CallerLoop
from handrail.claude_agent_sdk.session_types import ForkSessionResult, SDKSessionInfo, SessionMessage, session_info
from handrail.session_store.base import (
    METHODS,
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreFlushMode,
    SessionStoreListEntry,
    SessionSummaryEntry,
    implements,
)
from handrail.session_store.files import project_key_for_directory
from handrail.session_store.memory import InMemorySessionStore
from handrail.session_store.sessions import StoredSession
from handrail.session_store.summary import fold_session_summary
from handrail.transcripts.entry import Entry
from handrail.transcripts.errors import InvalidSessionId, SessionNotFound, TranscriptError

__all__ = [
    "InMemorySessionStore",
    "SessionKey",
    "SessionListSubkeysKey",
    "SessionStore",
    "SessionStoreEntry",
    "SessionStoreFlushMode",
    "SessionStoreListEntry",
    "SessionSummaryEntry",
    "delete_session_via_store",
    "fold_session_summary",
    "fork_session_via_store",
    "get_session_info_from_store",
    "get_session_messages_from_store",
    "get_subagent_messages_from_store",
    "import_session_to_store",
    "list_sessions_from_store",
    "list_subagents_from_store",
    "project_key_for_directory",
    "rename_session_via_store",
    "tag_session_via_store",
]

log = logging.getLogger("handrail.claude_agent_sdk")

T = TypeVar("T")


def store_options(
    session_store: SessionStore | None, session_store_flush: SessionStoreFlushMode, load_timeout_ms: int
) -> dict[str, Any]:
    """The options of Handrail for those of `ClaudeAgentOptions` that are about the store."""
    if session_store is None:
        return {}
    return {
        "session_store": session_store,
        "session_store_flush": session_store_flush,
        "session_store_load_timeout": load_timeout_ms / 1000,
    }


def called_store(store: SessionStore, caller: CallerLoop) -> SessionStore:
    """The store, whose methods run in the loop of the caller. It implements the same methods as `store`."""
    if caller.is_session_side:
        return store

    def method(name: str) -> Any:
        async def call(_: object, *arguments: Any) -> Any:
            return await caller.call(getattr(store, name), *arguments)

        return call

    names = [name for name in METHODS if implements(store, name)]
    kind = type(type(store).__name__, (), {name: method(name) for name in names})
    return cast("SessionStore", kind())


# Reading


async def list_sessions_from_store(
    session_store: SessionStore, directory: str | None = None, limit: int | None = None, offset: int = 0
) -> list[SDKSessionInfo]:
    """The sessions of a directory, newest first. A `limit` of 0 means all."""
    if not (implements(session_store, "list_session_summaries") or implements(session_store, "list_sessions")):
        raise ValueError(
            f"{type(session_store).__name__} implements neither list_session_summaries() nor list_sessions(), so its"
            " sessions cannot be listed; add one of them to the store"
        )
    return [_info(one) for one in await stores.list_sessions(session_store, directory, limit or None, offset)]


async def get_session_info_from_store(
    session_store: SessionStore, session_id: str, directory: str | None = None
) -> SDKSessionInfo | None:
    """One session; None if the store does not have it."""
    found = await _or(None, stores.find_session(session_store, session_id, directory))
    return None if found is None else _info(found)


async def get_session_messages_from_store(
    session_store: SessionStore,
    session_id: str,
    directory: str | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> list[SessionMessage]:
    """The messages of a session, oldest first; empty if the store does not have it."""
    found: list[Entry] = await _or([], stores.read_session(session_store, session_id, directory))
    return _page([_message(entry, session_id) for entry in found], limit, offset)


async def list_subagents_from_store(
    session_store: SessionStore, session_id: str, directory: str | None = None
) -> list[str]:
    """The ids of a session's subagents."""
    if not implements(session_store, "list_subkeys"):
        raise ValueError(
            f"{type(session_store).__name__} does not implement list_subkeys(), so subagents cannot be listed; add it"
            " to the store"
        )
    empty: list[str] = []
    return await _or(empty, stores.list_subagents(session_store, session_id, directory))


async def get_subagent_messages_from_store(
    session_store: SessionStore,
    session_id: str,
    agent_id: str,
    directory: str | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> list[SessionMessage]:
    """The messages of a subagent, oldest first; empty if the store does not have it."""
    if not agent_id:
        return []
    found = await _or(None, stores.read_subagent(session_store, session_id, agent_id, directory))
    if found is None:
        return []
    call = found.about.get("toolUseId")
    parent = call if isinstance(call, str) else None
    return _page([_message(entry, session_id, parent) for entry in found.messages], limit, offset)


# Changing


async def rename_session_via_store(
    session_store: SessionStore, session_id: str, title: str, directory: str | None = None
) -> None:
    """Set the title of a session. Raises ValueError for an invalid id or an empty title."""
    await _checked(stores.rename_session(session_store, session_id, title, directory))


async def tag_session_via_store(
    session_store: SessionStore, session_id: str, tag: str | None, directory: str | None = None
) -> None:
    """Set the tag of a session; None removes it. Raises ValueError for an invalid id or an empty tag."""
    await _checked(stores.tag_session(session_store, session_id, tag, directory))


async def delete_session_via_store(session_store: SessionStore, session_id: str, directory: str | None = None) -> None:
    """Delete a session with its subagents. A store without `delete` keeps it, which is logged."""
    if implements(session_store, "delete"):
        await _checked(stores.delete_session(session_store, session_id, directory))
    else:
        log.warning("%s lacks delete(), so session %s is still stored", type(session_store).__name__, session_id)


async def fork_session_via_store(
    session_store: SessionStore,
    session_id: str,
    directory: str | None = None,
    up_to_message_id: str | None = None,
    title: str | None = None,
) -> ForkSessionResult:
    """Copy a session, up to and including a message, to a new one. Raises ValueError or FileNotFoundError."""
    forking = stores.fork_session(session_store, session_id, directory, up_to=up_to_message_id, title=title)
    return ForkSessionResult(await _checked(forking))


async def import_session_to_store(
    session_id: str,
    store: SessionStore,
    *,
    directory: str | None = None,
    include_subagents: bool = True,
    batch_size: int = 500,
) -> None:
    """Append a session of this machine to a store. Raises ValueError or FileNotFoundError."""
    project = None if directory is None else project_key_for_directory(directory)
    more: dict[str, Any] = {"include_subagents": include_subagents, "batch_size": batch_size}
    await _checked(stores.import_session(session_id, store, project=project, **more))


async def _or(otherwise: T, work: Awaitable[T]) -> T:
    """The result, or `otherwise` if the session id is invalid."""
    try:
        return await work
    except InvalidSessionId:
        return otherwise


async def _checked(work: Awaitable[T]) -> T:
    try:
        return await work
    except SessionNotFound as error:
        raise FileNotFoundError(str(error)) from error
    except TranscriptError as error:
        raise ValueError(str(error)) from error


def _page(messages: Sequence[SessionMessage], limit: int | None, offset: int) -> list[SessionMessage]:
    return list(messages[offset : offset + limit] if limit else messages[offset:])


def _message(entry: Entry, session_id: str, parent: str | None = None) -> SessionMessage:
    kind = "user" if entry.type == "user" else "assistant"
    return SessionMessage(kind, entry.uuid, session_id, entry.decode().get("message"), parent)


def _info(session: StoredSession) -> SDKSessionInfo:
    return session_info(session, summary=session.title, custom_title=session.custom_title)
