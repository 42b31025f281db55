"""The CLI's own session files on disk: found, read, searched, renamed, forked, deleted. Plain synchronous code."""

from handrail.transcripts.entry import Entry
from handrail.transcripts.errors import (
    AmbiguousSession,
    EntryNotFound,
    InvalidSessionId,
    InvalidTitle,
    SessionNotFound,
    TranscriptError,
)
from handrail.transcripts.export import jsonl, markdown
from handrail.transcripts.fork import fork_session
from handrail.transcripts.index import SessionInfo, find_session, list_sessions, match_session
from handrail.transcripts.layout import (
    SessionFile,
    check_session_id,
    config_home,
    locate,
    project_name,
    projects_folder,
)
from handrail.transcripts.read import Damage, Transcript, read_session
from handrail.transcripts.search import Hit, search_sessions
from handrail.transcripts.subagents import Subagent, read_subagents
from handrail.transcripts.write import delete_session, rename_session

__all__ = [
    "AmbiguousSession",
    "Damage",
    "Entry",
    "EntryNotFound",
    "Hit",
    "InvalidSessionId",
    "InvalidTitle",
    "SessionFile",
    "SessionInfo",
    "SessionNotFound",
    "Subagent",
    "Transcript",
    "TranscriptError",
    "check_session_id",
    "config_home",
    "delete_session",
    "find_session",
    "fork_session",
    "jsonl",
    "list_sessions",
    "locate",
    "markdown",
    "match_session",
    "project_name",
    "projects_folder",
    "read_session",
    "read_subagents",
    "rename_session",
    "search_sessions",
]
