"""Sessions: lists and single ones. Those who may only look are not told where on this machine a session works."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from handrail.bridge.access import Device
from handrail.bridge.errors import CommandRefused
from handrail.bridge.http.route import Asked, route
from handrail.bridge.session_index.base import SessionRecord
from handrail.bridge.session_lines import session_fields
from handrail.transcripts import SessionInfo

__all__ = ["known_session", "shown"]

Words = Annotated[str, Meta(max_length=200)]
Limit = Annotated[int, Meta(ge=1, le=1000)]
Offset = Annotated[int, Meta(ge=0, le=1_000_000)]


def shown(record: SessionRecord, device: Device) -> dict[str, Any]:
    """A session as this device may see it."""
    return session_fields(record, paths=device.sees_paths)


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
    index = asked.bridge.sessions.index
    found = await index.list(archived=query.archived, words=query.words, limit=query.limit, offset=query.offset)
    answer: dict[str, Any] = {"sessions": [shown(record, asked.device) for record in found]}
    if query.terminal and asked.device.sees_paths:
        theirs = await asked.bridge.terminal.list(limit=query.limit)
        ours = {one.conversation for one in found} | {one.id for one in found}
        wanted = query.words.casefold().split()
        answer["terminal"] = [
            _terminal(info)
            for info in theirs
            if info.id not in ours and all(word in f"{info.title} {info.cwd}".casefold() for word in wanted)
        ]
    return answer


def _terminal(info: SessionInfo) -> dict[str, Any]:
    changed = round(info.modified.timestamp() * 1000)
    return {"id": info.id, "cwd": info.cwd, "title": info.title, "changed": changed}


@route("GET", "/api/sessions/{id}", "view")
async def one_session(asked: Asked) -> dict[str, Any]:
    """One session."""
    return {"session": shown(await known_session(asked), asked.device)}
