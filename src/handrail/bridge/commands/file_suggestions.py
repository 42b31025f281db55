"""Files whose names look like what somebody types. In: a folder and some letters. Out: a few paths, likeliest first.

No link is followed, nothing that is closed or belongs to tools is named, and no more than so much is looked at: where a
project is larger, its upper folders are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Final

from handrail.bridge.commands.closed_names import is_closed
from handrail.files.errors import FileError
from handrail.files.open import Root

__all__ = ["MOST", "files_like", "ranked", "shown_path"]

MOST: Final = 50
MOST_FOLDERS: Final = 400
MOST_NAMES: Final = 20_000
PASSED_OVER: Final = frozenset(
    ".git .hg .svn node_modules __pycache__ .venv venv .tox .mypy_cache .pytest_cache .ruff_cache .cache".split()
)


def files_like(cwd: str, query: str) -> list[dict[str, Any]]:
    """Paths below a folder that hold these letters, a folder with a slash at its end; it looks at the disk."""
    try:
        with Root(cwd) as root:
            return ranked(_names(root), query)
    except FileError:
        return []


def _names(root: Root) -> list[str]:
    found: list[str] = []
    waiting = deque(["."])
    for _ in range(MOST_FOLDERS):
        if not waiting or len(found) >= MOST_NAMES:
            break
        folder = waiting.popleft()
        try:
            listing = root.entries(folder, limit=MOST_NAMES - len(found), follow_links=False)
        except FileError:  # gone meanwhile, or not ours to read
            continue
        for entry in listing.entries:
            path = entry.name if folder == "." else f"{folder}/{entry.name}"
            if entry.name in PASSED_OVER or is_closed(entry.name):
                continue
            found.append(f"{path}/" if entry.kind == "directory" else path)
            if entry.kind == "directory":
                waiting.append(path)
    return found


def ranked(paths: Iterable[str], query: str) -> list[dict[str, Any]]:
    """Those that hold the letters: first where a name begins with them, then the shorter path. Pure."""
    wanted = query.casefold().removeprefix("./")
    fits = [path for path in dict.fromkeys(paths) if wanted in path.casefold() and shown_path(path)]
    fits.sort(key=lambda path: (_distance(path.casefold(), wanted), len(path), path))
    return [{"path": path, "kind": "folder" if path.endswith("/") else "file"} for path in fits[:MOST]]


def _distance(path: str, wanted: str) -> int:
    name = path.rstrip("/").rpartition("/")[2]
    return 0 if name.startswith(wanted) else 1 if path.startswith(wanted) else 2 if wanted in name else 3


def shown_path(path: str) -> bool:
    """May it be offered? Not where it is closed, and not where it is no plain text that could be sent back."""
    return path.isprintable() and '"' not in path and not is_closed(path)
