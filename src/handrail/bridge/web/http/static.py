"""The files of the web page. They are read once when the server starts, so no path of a request reaches the disk.

A file with a content hash in its name is cached by browsers for good; all others are revalidated with each request.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path
from typing import Final

from msgspec import Struct
from starlette.responses import Response

from handrail.bridge.web.http.route import Anything, Bound, Route, RouteRequest

__all__ = ["page_routes"]


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
TEXTS: Final = frozenset({".html", ".js", ".css", ".svg", ".json", ".webmanifest"})
LARGE: Final = 1024
"""Text files with more bytes are compressed for clients that accept gzip."""
FOR_GOOD: Final = "public, max-age=31536000, immutable"
_HASHED: Final = re.compile(r"assets/.+-[\w-]{8}\.\w+")
_NO_PAGE: Final = b"<!doctype html><title>Handrail</title><p>This build of Handrail has no web page; use the API."


class _File(Struct, frozen=True):
    """One file. `packed` is the gzip form, or empty if that is not smaller."""

    kind: str
    data: bytes
    packed: bytes
    mark: str
    caching: str


def page_routes(folder: Path) -> list[Bound]:
    """A route for each file of the page, or for a placeholder if the page was not built."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in KINDS)
    files = {path.relative_to(folder).as_posix(): _read(path, folder) for path in found}
    if "index.html" not in files:
        files["index.html"] = _File(KINDS[".html"], _NO_PAGE, b"", _mark(_NO_PAGE), "no-cache")
    return [_route("/" if name == "index.html" else f"/{name}", file) for name, file in files.items()]


def _read(path: Path, folder: Path) -> _File:
    data = path.read_bytes()
    packed = gzip.compress(data, mtime=0) if path.suffix in TEXTS and len(data) > LARGE else b""
    hashed = _HASHED.fullmatch(path.relative_to(folder).as_posix())
    smaller = packed if len(packed) < len(data) else b""
    return _File(KINDS[path.suffix], data, smaller, _mark(data), FOR_GOOD if hashed else "no-cache")


def _mark(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _route(path: str, file: _File) -> Bound:
    async def answer(request: RouteRequest) -> Response:
        packed = bool(file.packed) and _takes_gzip(request.encodings)
        mark = f'"{file.mark}-gzip"' if packed else f'"{file.mark}"'
        headers = {"content-type": file.kind, "etag": mark, "cache-control": file.caching}
        headers |= {"vary": "accept-encoding"} if file.packed else {}
        if mark in [known.strip().removeprefix("W/") for known in request.unchanged.split(",")]:
            return Response(status_code=304, headers=headers)
        if packed:
            headers["content-encoding"] = "gzip"
        return Response(file.packed if packed else file.data, headers=headers)

    summary = "A file of the page."
    return Route(method="GET", path=path, scope=None, summary=summary, query=Anything, gives=file.kind), answer


def _takes_gzip(accepted: str) -> bool:
    """Whether an Accept-Encoding header accepts gzip; `gzip;q=0` refuses it."""
    for one in accepted.lower().split(","):
        name, _, weight = one.partition(";")
        if name.strip() in ("gzip", "*"):
            return not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", weight)
    return False
