"""The plain page. In: nothing. Out: its three files by path.

No script or style stands in the page itself, so that the browser can be told to run none that does.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

__all__ = ["FILES", "page_file"]

FILES: Final[Mapping[str, tuple[str, str]]] = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
}
"""By path: the file's name and its type."""


def page_file(path: str) -> tuple[bytes, str]:
    """A file of the page. In: one of FILES. Out: its bytes and its type."""
    name, kind = FILES[path]
    return Path(__file__).with_name(name).read_bytes(), kind
