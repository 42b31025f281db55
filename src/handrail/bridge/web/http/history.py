"""The events of a session in pages, and single events that are too large for a page."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct
from starlette.responses import Response

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.events import item
from handrail.bridge.session.sessions import Sessions
from handrail.bridge.web.http.route import Refused, RouteRequest, route
from handrail.bridge.web.http.sessions import known_session
from handrail.bridge.web.viewers import for_viewers

__all__ = ["HistoryRoutes"]


class PageQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`after`: the seq of the newest known event; `before`: that of the oldest, to read backwards."""

    after: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    before: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1000


class HistoryRoutes:
    """Serves events."""

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
