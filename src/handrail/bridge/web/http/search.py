"""A search over all that was said and done."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from handrail.bridge.commands.fields import Id
from handrail.bridge.web.http.route import Asked, route

__all__: list[str] = []


class SearchQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """All words must be there, each as the beginning of a word."""

    q: Annotated[str, Meta(min_length=1, max_length=200)]
    session: Id | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


@route("GET", "/api/search", "view", query=SearchQuery)
async def search(asked: Asked) -> dict[str, Any]:
    """Where words stand, newest first."""
    query: SearchQuery = asked.query
    hits = await asked.bridge.sessions.events.search(query.q, limit=query.limit, session=query.session)
    return {"hits": msgspec.to_builtins(hits)}
