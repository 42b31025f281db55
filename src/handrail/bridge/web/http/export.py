"""A session to take along, as Markdown or JSON. It is read and sent page by page, however long it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Literal

import msgspec
from msgspec import Struct
from starlette.responses import Response, StreamingResponse

from handrail.bridge.session.session_lines import session_line
from handrail.bridge.store.base import Event
from handrail.bridge.web.export import file_name, markdown_blocks, markdown_header
from handrail.bridge.web.http.route import Asked, route
from handrail.bridge.web.http.sessions import known_session
from handrail.bridge.web.http.uploads import INERT
from handrail.bridge.web.viewers import item_for_viewers

__all__: list[str] = []

_KINDS = {"markdown": ("md", "text/markdown"), "json": ("json", "application/json")}


class ExportQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """As what."""

    format: Literal["markdown", "json"] = "markdown"


@route("GET", "/api/sessions/{id}/export", "view", query=ExportQuery, gives="application/octet-stream")
async def export(asked: Asked) -> Response:
    """The session as a file: for people as Markdown, for programs as JSON with its record and its events."""
    record = await known_session(asked)
    line = session_line(record, paths=asked.device.sees_paths)
    ending, kind = _KINDS[asked.query.format]
    name = f"{file_name(line.title, line.id)}.{ending}"
    headers = {**INERT, "content-disposition": f'attachment; filename="{name}"'}
    told = _markdown(asked, line) if ending == "md" else _json(asked, line)
    return StreamingResponse(told, media_type=kind, headers=headers)


async def _pages(asked: Asked, id: str) -> AsyncIterator[list[Event]]:
    """All that is on record now, page by page."""
    log = asked.bridge.sessions.events
    last, after = (await log.bounds(id)).last, 0
    while after < last and (page := await log.read(id, after)):
        after = page[-1].seq
        if kept := [one for one in page if one.seq <= last]:
            yield kept


def _item(asked: Asked, one: Event) -> dict[str, Any]:
    item = {"seq": one.seq, "time": one.time, "kind": one.kind, "data": msgspec.json.decode(one.data)}
    return item if asked.device.sees_paths else item_for_viewers(item)


async def _markdown(asked: Asked, line: Any) -> AsyncIterator[str]:
    yield markdown_header(line)
    async for page in _pages(asked, line.id):
        yield await asyncio.to_thread(_page_of_markdown, asked, page)


def _page_of_markdown(asked: Asked, page: list[Event]) -> str:
    return "".join(piece for one in page for piece in markdown_blocks(_item(asked, one)))


async def _json(asked: Asked, line: Any) -> AsyncIterator[bytes]:
    yield b'{"session":%s,"events":[' % msgspec.json.encode(line)
    between = b""
    async for page in _pages(asked, line.id):
        yield between + await asyncio.to_thread(_page_of_json, asked, page)
        between = b","
    yield b"]}"


def _page_of_json(asked: Asked, page: list[Event]) -> bytes:
    return b",".join(msgspec.json.encode(_item(asked, one)) for one in page)
