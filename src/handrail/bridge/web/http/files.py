"""Reads files of a session's folder. Nothing outside of it is reachable, and links are not followed.

Keys and credentials are refused, also if the folder is someone's home.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote

from msgspec import Meta, Struct
from starlette.responses import Response

from handrail.bridge.commands.workspace import is_private
from handrail.bridge.store.base import SessionIndex
from handrail.bridge.web.http.route import Refused, RouteRequest, route
from handrail.bridge.web.http.sessions import known_session
from handrail.bridge.web.http.uploads import INERT
from handrail.files.errors import FileError, FileNotThere, TooLarge, WrongKind
from handrail.files.open import Listing, Root

__all__ = ["FileRoutes"]

LARGEST: Final = 8 * 1024 * 1024


class FileQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A path below the session's folder; the default is the folder itself."""

    path: Annotated[str, Meta(max_length=4096)] = "."


class FileRoutes:
    """Serves files of sessions. `data` is the server's own folder, which is refused."""

    def __init__(self, index: SessionIndex, data: Path) -> None:
        self._index, self._data = index, data

    @route(
        "GET", "/api/sessions/{id}/files", "prompt", query=FileQuery, gives="application/octet-stream", on_machine=True
    )
    async def read(self, request: RouteRequest) -> Response | dict[str, Any]:
        """The entries of a folder, or the bytes of a file."""
        record, path = await known_session(self._index, request), request.query.path
        _check(path, record.cwd, str(self._data))
        found = await asyncio.to_thread(_look, record.cwd, path)
        if isinstance(found, bytes):
            name = quote(os.path.basename(path), safe="", errors="replace")
            headers = {**INERT, "content-disposition": f"attachment; filename*=UTF-8''{name}"}
            return Response(found, media_type="application/octet-stream", headers=headers)
        entries = [
            {"name": _text(one.name), "kind": one.kind, "size": one.size, "modified": round(one.modified * 1000)}
            for one in found.entries
            if not is_private(one.name)
        ]
        return {"path": path, "entries": entries, "complete": found.complete}


def _forbidden() -> Refused:
    return Refused(403, "forbidden", "this file or folder cannot be read here")


def _check(path: str, cwd: str, data: str) -> None:
    """Refuse credentials and the server's own folder, whether or not they exist."""
    wanted = os.path.normpath(os.path.join(cwd, path))
    own = os.path.realpath(data)
    if is_private(path) or wanted == own or wanted.startswith(f"{own}/"):
        raise _forbidden()


def _look(cwd: str, path: str) -> Listing | bytes:
    """Raises Refused. A path that leads out is 403, whether or not it exists."""
    try:
        with Root(cwd) as root:
            try:
                return root.entries(path, limit=5000, follow_links=False)
            except WrongKind:
                return root.read(path, limit=LARGEST, follow_links=False)
    except FileNotThere:
        raise Refused(404, "not_found", "no such file or folder") from None
    except TooLarge as error:
        raise Refused(413, "too_large", str(error)) from None
    except FileError:
        raise _forbidden() from None


def _text(name: str) -> str:
    """A file name with replacement characters for undecodable bytes."""
    return name.encode(errors="surrogateescape").decode(errors="replace")
