"""Sessions: the list, one session, search. Viewers do not see in which folder of the machine a session works."""

from __future__ import annotations

import os
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from handrail.bridge.commands.fields import Id
from handrail.bridge.commands.router import Router
from handrail.bridge.errors import CommandRefused
from handrail.bridge.store.base import SessionIndex, SessionLine, SessionRecord
from handrail.bridge.web.http.route import RouteRequest, route

__all__ = ["SessionRoutes", "known_session"]

MOST_SCANNED: Final = 100_000
Words = Annotated[str, Meta(max_length=200)]
Limit = Annotated[int, Meta(ge=1, le=10_000)]
Offset = Annotated[int, Meta(ge=0, le=1_000_000)]


async def known_session(index: SessionIndex, request: RouteRequest) -> SessionRecord:
    """The session that the path names. Raises CommandRefused if it does not exist."""
    id = request.parts["id"]
    record = await index.get(id)
    if record is None:
        raise CommandRefused("not_found", f"session {id} not found")
    return record


class ListQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`terminal`: also list the sessions of CLIs that were not imported yet."""

    words: Words = ""
    archived: bool | None = False
    limit: Limit = 100
    offset: Offset = 0
    terminal: bool = False


class SearchQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """All words must occur, each as the beginning of a word."""

    q: Annotated[str, Meta(min_length=1, max_length=200)]
    session: Id | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class SessionRoutes:
    """Lists and searches sessions."""

    def __init__(self, index: SessionIndex, router: Router) -> None:
        self._index, self._router = index, router

    @route("GET", "/api/sessions", "view", query=ListQuery)
    async def list_sessions(self, request: RouteRequest) -> dict[str, Any]:
        """Sessions, the most recently changed first."""
        query: ListQuery = request.query
        paths = request.device.sees_paths
        found = await self._found(query, paths=paths)
        answer: dict[str, Any] = {"sessions": found if paths else [one.without_paths() for one in found]}
        if query.terminal and paths:
            ours = await self._index.lines(limit=MOST_SCANNED)  # archived ones and those of other pages too
            answer["terminal"] = await self._terminal(query, {id for one in ours for id in (one.id, one.conversation)})
        return answer

    @route("GET", "/api/sessions/{id}", "view")
    async def one(self, request: RouteRequest) -> dict[str, Any]:
        """One session."""
        return {"session": (await known_session(self._index, request)).line(paths=request.device.sees_paths)}

    @route("GET", "/api/search", "view", query=SearchQuery)
    async def search(self, request: RouteRequest) -> dict[str, Any]:
        """Events that contain the words, newest first."""
        query: SearchQuery = request.query
        hits = await self._router.search(query.q, limit=query.limit, session=query.session)
        return {"hits": msgspec.to_builtins(hits)}

    async def _found(self, query: ListQuery, *, paths: bool) -> list[SessionLine]:
        """The words of viewers match only what viewers see; otherwise they could guess a path letter by letter."""
        wanted = query.words.casefold().split()
        lines = self._index.lines
        if paths or not wanted:
            return await lines(archived=query.archived, words=query.words, limit=query.limit, offset=query.offset)
        found = await lines(archived=query.archived, words=query.words, limit=MOST_SCANNED)
        seen = [one for one in found if _has_words(f"{one.title} {os.path.basename(one.cwd)}", wanted)]
        return seen[query.offset : query.offset + query.limit]

    async def _terminal(self, query: ListQuery, ours: set[str]) -> list[dict[str, Any]]:
        """Terminal sessions that the bridge does not have."""
        wanted = query.words.casefold().split()
        found = await self._router.terminal_sessions(MOST_SCANNED if wanted else query.limit + len(ours))
        shown = [
            row
            for row in found
            if row["id"] not in ours and (not wanted or _has_words(f"{row['title']} {row['cwd']}", wanted))
        ]
        return shown[: query.limit]


def _has_words(text: str, wanted: list[str]) -> bool:
    return all(word in text.casefold() for word in wanted)
