"""Glob: files by their names. In: a pattern, and where. Out: their paths, the newest first."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

from handrail.agent.tools.base import Outcome, Tool
from handrail.agent.tools.ripgrep import place_of, ripgrep, shown_path

if TYPE_CHECKING:
    from handrail.agent.desk import Desk

__all__ = ["Glob", "GlobInput"]

_MOST: Final = 100
_SIGNS: Final = frozenset("*?[{")


class GlobInput(Struct, frozen=True):
    """Which names, and where."""

    pattern: Annotated[str, Meta(description="A pattern such as `**/*.py` or `src/*.ts`.")]
    path: Annotated[str | None, Meta(description="The folder to look in; else the working folder.")] = None


class Glob(Tool[GlobInput]):
    """Finds files by their names."""

    name = "Glob"
    description = "Finds files whose paths match a pattern, the most recently changed first, at most 100 of them."
    Input = GlobInput
    concurrent = True

    def describe(self, given: GlobInput) -> str:
        return given.pattern

    async def run(self, given: GlobInput, desk: Desk) -> Outcome:
        began = time.monotonic()
        folder, pattern = _split(given)
        base = place_of(folder, desk, kinds=("directory",)).real or ""
        found = await ripgrep(["--files", "--null", "--no-ignore", f"--glob={pattern}"], base)
        allowed = desk.may_read
        paths = [os.path.join(base, os.fsdecode(name)) for name in found.output.split(b"\0") if name]
        newest = sorted(((_changed(path), path) for path in paths if allowed(path)), reverse=True)
        names = [shown_path(path, desk).encode("utf-8", "replace").decode() for _, path in newest[:_MOST]]
        detail = {
            "filenames": names,
            "durationMs": round((time.monotonic() - began) * 1000),
            "numFiles": len(names),
            "truncated": len(newest) > _MOST or not found.complete,
            "totalMatches": len(newest),
            "countIsComplete": found.complete,
        }
        return Outcome(_said(names, len(newest), complete=found.complete), detail)


def _said(names: list[str], total: int, *, complete: bool) -> str:
    if not names:
        return "No files found"
    if total <= len(names) and complete:
        return "\n".join(names)
    more = "" if complete else " or more"
    return "\n".join([*names, f"({len(names)} of {total}{more} are shown. Use a narrower pattern or path.)"])


def _split(given: GlobInput) -> tuple[str | None, str]:
    """A pattern that begins at the root, as the folder before its first sign and the pattern below it."""
    if not given.pattern.startswith("/"):
        return given.path, given.pattern
    parts = given.pattern.split("/")
    plain = next((at for at, part in enumerate(parts) if _SIGNS & set(part)), len(parts) - 1)
    return "/".join(parts[:plain]) or "/", "/" + "/".join(parts[plain:])


def _changed(path: str) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0
