"""The raw frames of a session's process, for whoever looks for a fault. They hold all that was said and done."""

from __future__ import annotations

import asyncio
from typing import Annotated

from msgspec import Meta, Struct
from starlette.responses import Response

from handrail.bridge.web.http.route import Asked, json_answer, route
from handrail.bridge.web.http.uploads import INERT

__all__: list[str] = []


class WireQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`after`: the number of the last frame that is known."""

    after: Annotated[int, Meta(ge=0, le=2**53)] = 0


@route("GET", "/api/sessions/{id}/wire", "admin", query=WireQuery, on_machine=True)
async def wire(asked: Asked) -> Response:
    """The newest frames between the session and its CLI, both ways, with secrets masked."""
    host = await asked.bridge.sessions.get(asked.parts["id"])
    return json_answer(await asyncio.to_thread(host.wire.snapshot().shown, asked.query.after))


@route("GET", "/api/sessions/{id}/wire/recording", "admin", gives="application/x-ndjson", on_machine=True)
async def recording(asked: Asked) -> Response:
    """The same of the last process, as a recording that `handrail replay` and `handrail inspect` read."""
    id = asked.parts["id"]
    host = await asked.bridge.sessions.get(id)
    data = await asyncio.to_thread(host.wire.snapshot().recording)
    headers = {**INERT, "content-disposition": f'attachment; filename="{id}.ndjson"'}
    return Response(data, media_type="application/x-ndjson", headers=headers)
