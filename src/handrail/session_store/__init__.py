"""Session stores: copies of transcripts outside of the machine that runs the CLI, from which a session can be resumed.

`Options(session_store=…)` uses one. A module is imported when one of its names is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handrail.session_store.base import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStore,
        SessionStoreEntry,
        SessionStoreError,
        SessionStoreFlushMode,
        SessionStoreListEntry,
        SessionSummaryEntry,
        implements,
    )
    from handrail.session_store.files import key_of_path, project_key_for_directory
    from handrail.session_store.memory import InMemorySessionStore
    from handrail.session_store.postgres import PostgresSessionStore
    from handrail.session_store.sessions import (
        StoredSession,
        StoredSubagent,
        delete_session,
        find_session,
        fork_session,
        import_session,
        list_sessions,
        list_subagents,
        read_session,
        read_subagent,
        rename_session,
        tag_session,
    )
    from handrail.session_store.sqlite import SqliteSessionStore
    from handrail.session_store.summary import fold_session_summary

_PLACES = {
    "base": "SessionKey SessionListSubkeysKey SessionStore SessionStoreEntry SessionStoreError SessionStoreFlushMode"
    " SessionStoreListEntry SessionSummaryEntry implements",
    "files": "key_of_path project_key_for_directory",
    "memory": "InMemorySessionStore",
    "postgres": "PostgresSessionStore",
    "sessions": "StoredSession StoredSubagent delete_session find_session fork_session import_session list_sessions"
    " list_subagents read_session read_subagent rename_session tag_session",
    "sqlite": "SqliteSessionStore",
    "summary": "fold_session_summary",
}
"""The module of each public name."""

_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}

__all__ = [
    "InMemorySessionStore",
    "PostgresSessionStore",
    "SessionKey",
    "SessionListSubkeysKey",
    "SessionStore",
    "SessionStoreEntry",
    "SessionStoreError",
    "SessionStoreFlushMode",
    "SessionStoreListEntry",
    "SessionSummaryEntry",
    "SqliteSessionStore",
    "StoredSession",
    "StoredSubagent",
    "delete_session",
    "find_session",
    "fold_session_summary",
    "fork_session",
    "implements",
    "import_session",
    "key_of_path",
    "list_sessions",
    "list_subagents",
    "project_key_for_directory",
    "read_session",
    "read_subagent",
    "rename_session",
    "tag_session",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
