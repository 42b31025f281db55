"""Session files of the CLI and of handrail-agent: find, read, search, rename, tag, archive, fork and delete them.

Plain synchronous code. A module is imported when one of its names is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handrail.transcripts.archive import archive_session, unarchive_session
    from handrail.transcripts.entry import Entry
    from handrail.transcripts.errors import (
        AmbiguousSession,
        EntryNotFound,
        InvalidSessionId,
        InvalidTag,
        InvalidTitle,
        SessionNotFound,
        TranscriptError,
        TranscriptUnusable,
    )
    from handrail.transcripts.export import jsonl, markdown
    from handrail.transcripts.fork import fork_session
    from handrail.transcripts.index import SessionInfo, find_session, list_sessions, match_session
    from handrail.transcripts.layout import (
        SessionFile,
        check_session_id,
        config_home,
        legacy_home,
        locate,
        project_name,
        projects_folder,
        search_path,
    )
    from handrail.transcripts.read import Damage, Transcript, read_session
    from handrail.transcripts.search import Hit, search_sessions
    from handrail.transcripts.subagents import Subagent, read_subagents
    from handrail.transcripts.write import delete_session, rename_session, tag_session
    from handrail.transcripts.writer import is_written_by_agent

_PLACES = {
    "archive": "archive_session unarchive_session",
    "entry": "Entry",
    "errors": "AmbiguousSession EntryNotFound InvalidSessionId InvalidTag InvalidTitle SessionNotFound TranscriptError"
    " TranscriptUnusable",
    "export": "jsonl markdown",
    "fork": "fork_session",
    "index": "SessionInfo find_session list_sessions match_session",
    "layout": "SessionFile check_session_id config_home legacy_home locate project_name projects_folder search_path",
    "read": "Damage Transcript read_session",
    "search": "Hit search_sessions",
    "subagents": "Subagent read_subagents",
    "write": "delete_session rename_session tag_session",
    "writer": "is_written_by_agent",
}
"""The module of each public name."""

_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}

__all__ = [
    "AmbiguousSession",
    "Damage",
    "Entry",
    "EntryNotFound",
    "Hit",
    "InvalidSessionId",
    "InvalidTag",
    "InvalidTitle",
    "SessionFile",
    "SessionInfo",
    "SessionNotFound",
    "Subagent",
    "Transcript",
    "TranscriptError",
    "TranscriptUnusable",
    "archive_session",
    "check_session_id",
    "config_home",
    "delete_session",
    "find_session",
    "fork_session",
    "is_written_by_agent",
    "jsonl",
    "legacy_home",
    "list_sessions",
    "locate",
    "markdown",
    "match_session",
    "project_name",
    "projects_folder",
    "read_session",
    "read_subagents",
    "rename_session",
    "search_path",
    "search_sessions",
    "tag_session",
    "unarchive_session",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
