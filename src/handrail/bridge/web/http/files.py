"""Files of a session's folder, to be read. Nothing outside it is reached, and no link in it is followed.

Keys and credentials stay closed, also where the folder is somebody's home.
"""

from __future__ import annotations

import asyncio
import os
from typing import Annotated, Any, Final
from urllib.parse import quote

from msgspec import Meta, Struct
from starlette.responses import Response

from handrail.bridge.commands.closed_names import is_closed
from handrail.bridge.web.http.route import Asked, Refused, route
from handrail.bridge.web.http.sessions import known_session
from handrail.bridge.web.http.uploads import INERT
from handrail.files.errors import FileError, FileNotThere, TooLarge, WrongKind
from handrail.files.open import Listing, Root

__all__: list[str] = []

LARGEST: Final = 8 * 1024 * 1024
_NO: Final = Refused(403, "forbidden", "this is no file or folder that may be read here")


class FileQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A path below the session's folder; none is the folder itself."""

    path: Annotated[str, Meta(max_length=4096)] = "."


@route("GET", "/api/sessions/{id}/files", "prompt", query=FileQuery, gives="application/octet-stream", on_machine=True)
async def files(asked: Asked) -> Response | dict[str, Any]:
    """A folder as a list, or the bytes of a file."""
    record, path = await known_session(asked), asked.query.path
    _check(path, record.cwd, str(asked.bridge.configuration.data))
    found = await asyncio.to_thread(_look, record.cwd, path)
    if isinstance(found, bytes):
        name = quote(os.path.basename(path), safe="", errors="replace")
        headers = {**INERT, "content-disposition": f"attachment; filename*=UTF-8''{name}"}
        return Response(found, media_type="application/octet-stream", headers=headers)
    entries = [
        {"name": _text(one.name), "kind": one.kind, "size": one.size, "modified": round(one.modified * 1000)}
        for one in found.entries
        if not is_closed(one.name)
    ]
    return {"path": path, "entries": entries, "complete": found.complete}


def _check(path: str, cwd: str, data: str) -> None:
    """Refused where a name on the way is closed, whether or not there is such a file."""
    wanted = os.path.normpath(os.path.join(cwd, path))
    own = os.path.realpath(data)
    if is_closed(path) or wanted == own or wanted.startswith(f"{own}/"):
        raise _NO


def _look(cwd: str, path: str) -> Listing | bytes:
    """Refused: 403 for all that leads out, the same whether it is there or not; 404, 413."""
    try:
        with Root(cwd) as root:
            try:
                return root.entries(path, limit=5000, follow_links=False)
            except WrongKind:
                return root.read(path, limit=LARGEST, follow_links=False)
    except FileNotThere:
        raise Refused(404, "not_found", "there is no such file or folder") from None
    except TooLarge as error:
        raise Refused(413, "too_large", str(error)) from None
    except FileError:
        raise _NO from None


def _text(name: str) -> str:
    """A name that is no text is shown as well as it can be."""
    return name.encode(errors="surrogateescape").decode(errors="replace")
