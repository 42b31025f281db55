"""Export of a session as Markdown or JSON. It is read and sent in pages, so its length does not matter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Literal

import msgspec
from msgspec import Struct
from starlette.responses import Response, StreamingResponse

from handrail.bridge.session.sessions import Sessions
from handrail.bridge.store.base import Event, SessionLine
from handrail.bridge.web.export import file_name, markdown_blocks, markdown_header
from handrail.bridge.web.http.route import RouteRequest, route
from handrail.bridge.web.http.sessions import known_session
from handrail.bridge.web.http.uploads import INERT
from handrail.bridge.web.viewers import item_for_viewers

__all__ = ["ExportRoutes"]

_KINDS = {"markdown": ("md", "text/markdown"), "json": ("json", "application/json")}


class ExportQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The format."""

    format: Literal["markdown", "json"] = "markdown"


class ExportRoutes:
    """Exports sessions."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    @route("GET", "/api/sessions/{id}/export", "view", query=ExportQuery, gives="application/octet-stream")
    async def export(self, request: RouteRequest) -> Response:
        """The session as a file: Markdown for people, or JSON with its record and its events."""
        record, paths = await known_session(self._sessions.index, request), request.device.sees_paths
        line = record.line(paths=paths)
        extension, kind = _KINDS[request.query.format]
        name = f"{file_name(line.title, line.id)}.{extension}"
        headers = {**INERT, "content-disposition": f'attachment; filename="{name}"'}
        written = self._markdown if extension == "md" else self._json
        return StreamingResponse(written(line, paths=paths), media_type=kind, headers=headers)

    async def _markdown(self, line: SessionLine, *, paths: bool) -> AsyncIterator[bytes]:
        yield markdown_header(line).encode()
        async for page in self._pages(line.id):
            yield (await asyncio.to_thread(_page_of_markdown, page, paths)).encode()

    async def _json(self, line: SessionLine, *, paths: bool) -> AsyncIterator[bytes]:
        yield b'{"session":%s,"events":[' % msgspec.json.encode(line)
        between = b""
        async for page in self._pages(line.id):
            yield between + await asyncio.to_thread(_page_of_json, page, paths)
            between = b","
        yield b"]}"

    async def _pages(self, id: str) -> AsyncIterator[list[Event]]:
        """All events up to the one that is the last now."""
        events = self._sessions.events
        last, after = (await events.bounds(id)).last, 0
        while after < last and (page := await events.read(id, after)):
            after = page[-1].seq
            if kept := [one for one in page if one.seq <= last]:
                yield kept


def _item(one: Event, paths: bool) -> dict[str, Any]:  # noqa: FBT001
    item = {"seq": one.seq, "time": one.time, "kind": one.kind, "data": msgspec.json.decode(one.data)}
    return item if paths else item_for_viewers(item)


def _page_of_markdown(page: list[Event], paths: bool) -> str:  # noqa: FBT001
    return "".join(piece for one in page for piece in markdown_blocks(_item(one, paths)))


def _page_of_json(page: list[Event], paths: bool) -> bytes:  # noqa: FBT001
    return b",".join(msgspec.json.encode(_item(one, paths)) for one in page)
