"""Finds files by a part of their name, best match first.

Links are not followed, and credentials and tool folders are left out. The scan is bounded and breadth first, so in a
large project it covers the upper folders.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Final

from handrail.bridge.commands.workspace import is_private
from handrail.files.errors import FileError
from handrail.files.open import Root

__all__ = ["MOST", "files_like", "ranked", "shown_path"]

MOST: Final = 50
MOST_FOLDERS: Final = 400
MOST_NAMES: Final = 20_000
SKIPPED: Final = frozenset(
    ".git .hg .svn node_modules __pycache__ .venv venv .tox .mypy_cache .pytest_cache .ruff_cache .cache".split()
)


def files_like(cwd: str, query: str) -> list[dict[str, Any]]:
    """Paths below a folder that contain the query; folders end with a slash. Reads the disk."""
    try:
        with Root(cwd) as root:
            return ranked(_names(root), query)
    except FileError:
        return []


def _names(root: Root) -> list[str]:
    found: list[str] = []
    pending = deque(["."])
    for _ in range(MOST_FOLDERS):
        if not pending or len(found) >= MOST_NAMES:
            break
        folder = pending.popleft()
        try:
            listing = root.entries(folder, limit=MOST_NAMES - len(found), follow_links=False)
        except FileError:  # removed meanwhile, or unreadable
            continue
        for entry in listing.entries:
            path = entry.name if folder == "." else f"{folder}/{entry.name}"
            if entry.name in SKIPPED or is_private(entry.name):
                continue
            found.append(f"{path}/" if entry.kind == "directory" else path)
            if entry.kind == "directory":
                pending.append(path)
    return found


def ranked(paths: Iterable[str], query: str) -> list[dict[str, Any]]:
    """The paths that contain the query: names that start with it first, then shorter paths."""
    wanted = query.casefold().removeprefix("./")
    fits = [path for path in dict.fromkeys(paths) if wanted in path.casefold() and shown_path(path)]
    fits.sort(key=lambda path: (_distance(path.casefold(), wanted), len(path), path))
    return [{"path": path, "kind": "folder" if path.endswith("/") else "file"} for path in fits[:MOST]]


def _distance(path: str, wanted: str) -> int:
    name = path.rstrip("/").rpartition("/")[2]
    return 0 if name.startswith(wanted) else 1 if path.startswith(wanted) else 2 if wanted in name else 3


def shown_path(path: str) -> bool:
    """Whether a path may be offered: no credentials, and only names that a client can send back."""
    return path.isprintable() and '"' not in path and not is_private(path)
