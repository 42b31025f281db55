"""The page. In: the files that came with the package. Out: those and no others, each by its exact name.

They are read once. No path of a request ever reaches the disk.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from starlette.responses import Response

from handrail.bridge.http.route import Anything, Asked, route

__all__ = ["PAGE"]

PAGE: Final = Path(__file__).parent.parent / "page"
KINDS: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
}
_NO_PAGE: Final = b"<!doctype html><title>Handrail</title><p>This build of Handrail has no page: use the API."


def _serve(path: str, data: bytes, kind: str) -> None:
    mark = f'"{hashlib.sha256(data).hexdigest()[:32]}"'

    @route("GET", path, None, query=Anything, gives=kind)
    async def file(asked: Asked) -> Response:
        """A file of the page."""
        headers = {"content-type": kind, "etag": mark, "cache-control": "no-cache"}
        if asked.unchanged == mark:
            return Response(status_code=304, headers=headers)
        return Response(data, headers=headers)


def _enter() -> None:
    found = sorted(path for path in PAGE.rglob("*") if path.is_file() and path.suffix in KINDS)
    for path in found:
        name = path.relative_to(PAGE).as_posix()
        _serve("/" if name == "index.html" else f"/{name}", path.read_bytes(), KINDS[path.suffix])
    if not any(path.name == "index.html" and path.parent == PAGE for path in found):
        _serve("/", _NO_PAGE, KINDS[".html"])


_enter()
