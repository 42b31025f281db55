"""Files of a session's folder, and images that are sent with a message.

Nothing outside of the folder is reachable, and links are not followed. Keys and credentials are refused, also if the
folder is someone's home.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote

from msgspec import Meta, Struct
from starlette.responses import Response

from handrail.bridge.store.base import SessionIndex
from handrail.bridge.store.uploads import LARGEST as LARGEST_IMAGE
from handrail.bridge.store.uploads import Uploads
from handrail.bridge.web.http.route import INERT, Refused, RouteRequest, json_answer, route
from handrail.bridge.web.http.sessions import known_session
from handrail.files.errors import FileError, FileNotThere, TooLarge, WrongKind
from handrail.files.open import Listing, Root
from handrail.files.private_names import is_private
from handrail.files.resolve import real_path

__all__ = ["FileRoutes", "UploadRoutes"]

LARGEST: Final = 8 * 1024 * 1024


class FileQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A path below the session's folder; the default is the folder itself."""

    path: Annotated[str, Meta(max_length=4096)] = "."


class FileRoutes:
    """Serves files of sessions. `data` is the server's own folder, which is refused.

    A session's folder must be below one of `roots` at every request: it may have been replaced by a link since.
    """

    def __init__(self, index: SessionIndex, data: Path, roots: Sequence[Path]) -> None:
        self._index, self._data, self._roots = index, data, tuple(map(str, roots))

    @route(
        "GET", "/api/sessions/{id}/files", "prompt", query=FileQuery, gives="application/octet-stream", on_machine=True
    )
    async def read(self, request: RouteRequest) -> Response | dict[str, Any]:
        """The entries of a folder, or the bytes of a file."""
        record, path = await known_session(self._index, request), request.query.path
        _check(path, record.cwd, str(self._data))
        found = await asyncio.to_thread(_look, record.cwd, path, self._roots)
        if isinstance(found, bytes):
            name = quote(os.path.basename(path), safe="", errors="replace")
            headers = {**INERT, "content-disposition": f"attachment; filename*=UTF-8''{name}"}
            return Response(found, media_type="application/octet-stream", headers=headers)
        entries = [
            {"name": _text(one.name), "kind": one.kind, "size": one.size, "modified": round(one.modified * 1000)}
            for one in found.entries
            if not is_private(os.path.join(record.cwd, path, one.name), record.cwd)
        ]
        return {"path": path, "entries": entries, "complete": found.complete}


def _forbidden() -> Refused:
    return Refused(403, "forbidden", "this file or folder cannot be read here")


def _check(path: str, cwd: str, data: str) -> None:
    """Refuse credentials and the server's own folder, whether or not they exist."""
    wanted = os.path.normpath(os.path.join(cwd, path))
    own = real_path(data)
    if is_private(os.path.join(cwd, path), cwd) or wanted == own or wanted.startswith(f"{own}/"):
        raise _forbidden()


def _look(cwd: str, path: str, roots: Sequence[str]) -> Listing | bytes:
    """Raises Refused. A path that leads out is 403, whether or not it exists."""
    try:
        with Root(cwd, within=roots) as root:
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


class UploadRoutes:
    """Stores and serves images."""

    def __init__(self, uploads: Uploads) -> None:
        self._uploads = uploads

    @route("POST", "/api/uploads", "prompt", takes="bytes", most_bytes=LARGEST_IMAGE)
    async def upload(self, request: RouteRequest) -> Response:
        """Keep an image for a day: png, jpeg, gif or webp, recognised by its content."""
        return json_answer({"id": await self._uploads.add(request.body)}, 201)

    @route("GET", "/api/uploads/{id}", "view", gives="image/*")
    async def image(self, request: RouteRequest) -> Response | dict[str, Any]:
        """The image."""
        kind, data = await self._uploads.get(request.parts["id"])
        return Response(data, media_type=kind, headers=INERT)
