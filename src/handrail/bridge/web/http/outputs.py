"""Tool output that was too large for the conversation: the file in which the CLI stored all of it.

A CLI names the file in its tool result. Only files in the `tool-results` folders of transcripts are served, and links
are not followed.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from typing import Annotated, Any, BinaryIO, Final

from msgspec import Meta, Struct
from starlette.responses import Response

from handrail.bridge.store.base import SessionIndex
from handrail.bridge.web.http.route import INERT, Refused, RouteRequest, route
from handrail.bridge.web.http.sessions import known_session
from handrail.files.errors import FileError
from handrail.files.open import READ_LIMIT, Root
from handrail.files.resolve import real_path
from handrail.transcripts import projects_folder, search_path

__all__ = ["OutputRoutes"]

FOLDER: Final = "tool-results"
_DEPTH: Final = 4
"""A project, a session, the folder, the file."""
_LONGEST_LINE: Final = 10_000


class OutputQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`path`: as the tool result names it. `tail`: return the number of lines and the last ones instead of all."""

    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    tail: Annotated[int, Meta(ge=0, le=200)] = 0


class OutputRoutes:
    """Serves stored tool output."""

    def __init__(self, index: SessionIndex) -> None:
        self._index = index

    @route("GET", "/api/sessions/{id}/output", "prompt", query=OutputQuery, gives="text/plain", on_machine=True)
    async def output(self, request: RouteRequest) -> Response | dict[str, Any]:
        """The whole output as text, or its size, its number of lines and its last lines."""
        await known_session(self._index, request)
        file = await asyncio.to_thread(_open, request.query.path)
        if request.query.tail:
            return await asyncio.to_thread(_summary, file, request.query.tail)
        headers = {**INERT, "content-disposition": "inline"}
        return Response(await asyncio.to_thread(_whole, file), media_type="text/plain", headers=headers)


def _open(path: str) -> BinaryIO:
    """Open the file. Raises Refused."""
    folder = real_path(os.path.dirname(path))
    for home in search_path():
        root = real_path(str(projects_folder(home)))
        below = os.path.relpath(os.path.join(folder, os.path.basename(path)), root).split(os.sep)
        if len(below) == _DEPTH and below[-2] == FOLDER and os.pardir not in below:
            try:
                with Root(root) as opened:
                    return opened.open(os.path.join(*below), follow_links=False)
            except FileError:
                raise Refused(404, "not_found", "the stored output was not found; it may have been deleted") from None
    raise Refused(403, "forbidden", "this file is not stored tool output")


def _whole(file: BinaryIO) -> bytes:
    with file:
        data = file.read(READ_LIMIT + 1)
    if len(data) > READ_LIMIT:
        raise Refused(
            413, "too_large", f"the output is larger than {READ_LIMIT:,} bytes; open it on the machine itself"
        )
    return data


def _summary(file: BinaryIO, tail: int) -> dict[str, Any]:
    last, lines = deque[bytes](maxlen=tail), 0
    with file:
        for line in file:
            lines += 1
            last.append(line[-_LONGEST_LINE:])
        size = file.tell()
    return {"bytes": size, "lines": lines, "tail": b"".join(last).decode(errors="replace")}
