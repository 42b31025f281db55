"""Sessions: lists and single ones. Those who may only look are not told where on this machine a session works."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Meta, Struct

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.session_lines import session_line, without_paths
from handrail.bridge.store.base import SessionLine, SessionRecord
from handrail.bridge.web.http.route import Asked, route

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge

__all__ = ["all_of_terminals", "known_session"]

LOOKED_THROUGH: Final = 100_000
Words = Annotated[str, Meta(max_length=200)]
Limit = Annotated[int, Meta(ge=1, le=10_000)]
Offset = Annotated[int, Meta(ge=0, le=1_000_000)]


async def known_session(asked: Asked) -> SessionRecord:
    """The session that the path names. CommandRefused where there is none."""
    id = asked.parts["id"]
    record = await asked.bridge.sessions.index.get(id)
    if record is None:
        raise CommandRefused("not_found", f"there is no session {id}")
    return record


class ListQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`terminal`: also those that a CLI has on this machine and that are not ours yet."""

    words: Words = ""
    archived: bool | None = False
    limit: Limit = 100
    offset: Offset = 0
    terminal: bool = False


@route("GET", "/api/sessions", "view", query=ListQuery)
async def list_sessions(asked: Asked) -> dict[str, Any]:
    """Sessions, the one that changed last first."""
    query: ListQuery = asked.query
    index, paths = asked.bridge.sessions.index, asked.device.sees_paths
    found = await _found(asked, query)
    answer: dict[str, Any] = {"sessions": found if paths else list(map(without_paths, found))}
    if query.terminal and paths:
        ours = await index.lines(limit=LOOKED_THROUGH)  # also those that are put away, and those of other pages
        answer["terminal"] = await _terminal(asked, {id for one in ours for id in (one.id, one.conversation)})
    return answer


async def _found(asked: Asked, query: ListQuery) -> list[SessionLine]:
    """What may not be seen is not searched either: else one would learn it by asking letter after letter."""
    index, wanted = asked.bridge.sessions.index, query.words.casefold().split()
    if asked.device.sees_paths or not wanted:
        return await index.lines(archived=query.archived, words=query.words, limit=query.limit, offset=query.offset)
    found = await index.lines(archived=query.archived, words=query.words, limit=LOOKED_THROUGH)
    seen = [one for one in found if _has_words(f"{one.title} {os.path.basename(one.cwd)}", wanted)]
    return seen[query.offset : query.offset + query.limit]


def _has_words(text: str, wanted: list[str]) -> bool:
    return all(word in text.casefold() for word in wanted)


async def _terminal(asked: Asked, ours: set[str]) -> list[dict[str, Any]]:
    """Those of a terminal that are not ours."""
    query: ListQuery = asked.query
    wanted = query.words.casefold().split()
    theirs = await all_of_terminals(asked.bridge, LOOKED_THROUGH if wanted else query.limit + len(ours))
    shown = [
        row
        for row in theirs
        if row["id"] not in ours and (not wanted or _has_words(f"{row['title']} {row['cwd']}", wanted))
    ]
    return shown[: query.limit]


async def all_of_terminals(bridge: Bridge, limit: int) -> list[dict[str, Any]]:
    """Those of this machine, or of all, each once: machines may share a home. The newest first."""
    if bridge.cluster is None:
        return await bridge.terminal.rows(limit)
    known = await bridge.cluster.know("terminal", limit=limit)
    rows = {row["id"]: {**row, "runner": one.node} for one in known for row in one.answer or ()}
    return sorted(rows.values(), key=lambda row: row["changed"], reverse=True)[:limit]


@route("GET", "/api/sessions/{id}", "view")
async def one_session(asked: Asked) -> dict[str, Any]:
    """One session."""
    return {"session": session_line(await known_session(asked), paths=asked.device.sees_paths)}
