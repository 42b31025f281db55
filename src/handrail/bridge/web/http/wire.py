"""The raw frames between a session and its CLI, for debugging. They contain the whole conversation."""

from __future__ import annotations

import asyncio
from typing import Annotated

from msgspec import Meta, Struct
from starlette.responses import Response

from handrail.bridge.session.sessions import Sessions
from handrail.bridge.web.http.route import RouteRequest, json_answer, route
from handrail.bridge.web.http.uploads import INERT

__all__ = ["WireRoutes"]


class WireQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`after`: the number of the newest known frame."""

    after: Annotated[int, Meta(ge=0, le=2**53)] = 0


class WireRoutes:
    """Serves frames."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    @route("GET", "/api/sessions/{id}/wire", "admin", query=WireQuery, on_machine=True)
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
