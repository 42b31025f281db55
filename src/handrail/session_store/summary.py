"""Summaries of sessions, kept up to date from the entries of each append. Pure.

The fields of `data` have the names that the official SDK gives them, so that both list the sessions of one store alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from handrail.session_store.base import SessionKey, SessionStoreEntry, SessionSummaryEntry
from handrail.transcripts.entry import mapping, mappings
from handrail.transcripts.index import COMMAND, NOT_A_PROMPT

__all__ = ["fold_session_summary", "milliseconds"]

_PROMPT_LIMIT = 200
_LAST_VALUES = {
    "customTitle": "custom_title",
    "aiTitle": "ai_title",
    "lastPrompt": "last_prompt",
    "summary": "summary_hint",
    "gitBranch": "git_branch",
}
"""Fields of entries of which the newest value counts."""


def fold_session_summary(
    prev: SessionSummaryEntry | None, key: SessionKey, entries: list[SessionStoreEntry]
) -> SessionSummaryEntry:
    """The summary after these entries were appended to the one that `prev` summarises.

    Call it in `append`, for keys without a subpath. `mtime` is that of `prev`; the store sets it to its own time.
    """
    data = dict(prev["data"]) if prev is not None else {}
    for entry in entries:
        _fold(data, entry)
    return {"session_id": key["session_id"], "mtime": prev["mtime"] if prev is not None else 0, "data": data}


def _fold(data: dict[str, Any], entry: Mapping[str, Any]) -> None:
    data.setdefault("is_sidechain", entry.get("isSidechain") is True)
    if "created_at" not in data and (created := milliseconds(entry.get("timestamp"))) is not None:
        data["created_at"] = created
    if not data.get("cwd") and isinstance(cwd := entry.get("cwd"), str) and cwd:
        data["cwd"] = cwd
    if not data.get("first_prompt_locked"):
        _fold_prompt(data, entry)
    for wire, name in _LAST_VALUES.items():
        if isinstance(value := entry.get(wire), str):
            data[name] = value
    if entry.get("type") == "tag" and isinstance(tag := entry.get("tag"), str):
        data["tag"] = tag
        if not tag:
            del data["tag"]


def _fold_prompt(data: dict[str, Any], entry: Mapping[str, Any]) -> None:
    """Take the first text that a person wrote; else the name of a slash command."""
    if entry.get("type") != "user" or entry.get("isMeta") or entry.get("isCompactSummary"):
        return
    for text in _texts(mapping(entry.get("message")).get("content")):
        if (command := COMMAND.search(text)) is not None:
            data.setdefault("command_fallback", command[1])
        elif text and not text.startswith(NOT_A_PROMPT):
            shown = text.replace("\n", " ")
            cut = f"{shown[:_PROMPT_LIMIT].rstrip()}…" if len(shown) > _PROMPT_LIMIT else shown
            data["first_prompt"], data["first_prompt_locked"] = cut, True
            return


def _texts(content: object) -> Iterable[str]:
    if isinstance(content, str):
        return [content.strip()]
    blocks = mappings(content)
    if any(block.get("type") == "tool_result" for block in blocks):
        return []
    return [block["text"].strip() for block in blocks if isinstance(block.get("text"), str)]


def milliseconds(timestamp: object) -> int | None:
    """The `timestamp` of an entry in milliseconds since 1970; None if it is missing or invalid."""
    try:
        moment = datetime.fromisoformat(timestamp) if isinstance(timestamp, str) else None
    except ValueError:
        return None
    if moment is None:
        return None
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
