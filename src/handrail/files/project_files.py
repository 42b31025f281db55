"""Lists the files of a project that a person may want to mention.

Files that git ignores, tool folders and credentials are left out, and links are not followed. The scan is bounded and
breadth first, so in a large project it covers the upper folders.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from handrail.files.errors import FileError
from handrail.files.open import Root
from handrail.files.private_names import is_private
from handrail.permissions.paths.patterns import Pattern, compile_pattern, problem_of

__all__ = ["project_files"]

MOST_FOLDERS: Final = 400
MOST_NAMES: Final = 20_000
SKIPPED: Final = frozenset(
    ".git .hg .svn node_modules __pycache__ .venv venv .tox .mypy_cache .pytest_cache .ruff_cache .cache".split()
)
LARGEST_IGNORE_FILE: Final = 64 * 1024


class _Rule(Struct, frozen=True):
    """A line of a `.gitignore`, for the names below its folder."""

    depth: int
    pattern: Pattern
    ignores: bool
    folders_only: bool


def project_files(root: Root, *, most: int = MOST_NAMES) -> list[str]:
    """The paths of files and folders below a folder; those of folders end with a slash."""
    found: list[str] = []
    pending = deque[tuple[str, tuple[_Rule, ...]]]([(".", tuple(_rules(root, ".git/info/exclude", 0)))])
    for _ in range(MOST_FOLDERS):
        if not pending or len(found) >= most:
            break
        folder, rules = pending.popleft()
        try:
            listing = root.entries(folder, limit=most - len(found), follow_links=False)
        except FileError:  # removed meanwhile, or unreadable
            continue
        names = [] if folder == "." else folder.split("/")
        rules = (*rules, *_rules(root, "/".join([*names, ".gitignore"]), len(names)))
        for entry in listing.entries:
            path, is_folder = "/".join([*names, entry.name]), entry.kind == "directory"
            private = is_private(os.path.join(root.path, path), root.path)
            if entry.name in SKIPPED or private or _is_ignored([*names, entry.name], rules, is_folder=is_folder):
                continue
            found.append(f"{path}/" if is_folder else path)
            if is_folder:
                pending.append((path, rules))
    return found


def _rules(root: Root, path: str, depth: int) -> Iterator[_Rule]:
    """The rules of an ignore file; none if there is none, or if it cannot be read."""
    try:
        text = root.read(path, limit=LARGEST_IGNORE_FILE, follow_links=False).decode(errors="replace")
    except FileError:
        return
    for line in text.splitlines():
        content = line.rstrip()
        if not content or content.startswith("#"):
            continue
        ignores = not content.startswith("!")
        content = content if ignores else content[1:]
        name = content.rstrip("/")
        if name and not problem_of(name.removeprefix("\\")):
            pattern = compile_pattern(name, anywhere="/" not in name)
            yield _Rule(depth, pattern, ignores, name != content)


def _is_ignored(names: list[str], rules: Iterable[_Rule], *, is_folder: bool) -> bool:
    """The last rule that matches decides."""
    ignored = False
    for rule in rules:
        if (is_folder or not rule.folders_only) and rule.pattern.matches(names[rule.depth :]):
            ignored = rule.ignores
    return ignored
