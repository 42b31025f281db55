"""Sessions: the list, search, one session with its events, and the raw frames between it and its CLI.

Viewers do not see in which folder of the machine a session works. The frames contain the whole conversation and are
for debugging.
"""

from __future__ import annotations

import asyncio
import os
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from handrail.bridge.commands.router import Router
from handrail.bridge.commands.table import Id
from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.events import item
from handrail.bridge.session.sessions import Sessions
from handrail.bridge.store.base import SessionIndex, SessionLine, SessionRecord
from handrail.bridge.web.http.route import INERT, Refused, RouteRequest, json_answer, route
from handrail.bridge.web.viewers import for_viewers

__all__ = ["EventRoutes", "FrameRoutes", "SessionRoutes", "known_session"]

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


class PageQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`after`: the seq of the newest known event; `before`: that of the oldest, to read backwards."""

    after: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    before: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1000


class EventRoutes:
    """Serves the events of a session in pages, and single events that are too large for a page."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    @route("GET", "/api/sessions/{id}/events", "view", query=PageQuery)
    async def events(self, request: RouteRequest) -> Response:
        """A page of events in order: at most `limit`, and about 1 MiB."""
        record = await known_session(self._sessions.index, request)
        log, query = self._sessions.events, request.query
        if query.after is not None and query.before is not None:
            raise Refused(400, "bad_query", "give either after or before, not both")
        if query.before is None:
            page = await log.read(record.id, query.after or 0, limit=query.limit)
        else:
            page = await log.read_back(record.id, query.before, limit=query.limit)
        bounds = await log.bounds(record.id)
        head = b'{"session":"%s","first":%d,"last":%d,"events":[' % (record.id.encode(), bounds.first, bounds.last)
        items = b",".join(map(item, page))
        shown = items if request.device.sees_paths else for_viewers(items)
        return Response(head + shown + b"]}", media_type="application/json")

    @route("GET", "/api/sessions/{id}/events/{seq}", "view")
    async def one_event(self, request: RouteRequest) -> Response:
        """One event, of any size."""
        record, seq = await known_session(self._sessions.index, request), int(request.parts["seq"])
        found = await self._sessions.events.read(record.id, seq - 1, limit=1)
        if not found or found[0].seq != seq:
            raise CommandRefused("not_found", f"event {seq} of session {record.id} not found; it may have been deleted")
        one = found[0]
        head = b'{"seq":%d,"time":%d,"kind":"%s","data":' % (one.seq, one.time, one.kind.encode())
        whole = head + one.data + b"}"
        return Response(whole if request.device.sees_paths else for_viewers(whole), media_type="application/json")


class FrameQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`after`: the number of the newest known frame."""

    after: Annotated[int, Meta(ge=0, le=2**53)] = 0


class FrameRoutes:
    """Serves the frames between a session and its CLI."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    @route("GET", "/api/sessions/{id}/wire", "admin", query=FrameQuery, on_machine=True)
    async def wire(self, request: RouteRequest) -> Response:
        """The newest frames in both directions, with secrets masked."""
        host = await self._sessions.get(request.parts["id"])
        return json_answer(await asyncio.to_thread(host.wire.snapshot().shown, request.query.after))

    @route("GET", "/api/sessions/{id}/wire/recording", "admin", gives="application/x-ndjson", on_machine=True)
    async def recording(self, request: RouteRequest) -> Response:
        """The frames of the last process as a recording for `handrail replay` and `handrail inspect`."""
        id = request.parts["id"]
        host = await self._sessions.get(id)
        data = await asyncio.to_thread(host.wire.snapshot().recording)
        headers = {**INERT, "content-disposition": f'attachment; filename="{id}.ndjson"'}
        return Response(data, media_type="application/x-ndjson", headers=headers)
