"""The Glob tool: finds files by name, newest first."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

from handrail.agent.tools.base import Outcome, Tool
from handrail.agent.tools.ripgrep import place_of, readable, ripgrep, shown_path

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk

__all__ = ["Glob", "GlobInput"]

_MAX_FILES: Final = 100
_WILDCARDS: Final = frozenset("*?[{")


class GlobInput(Struct, frozen=True):
    """The pattern, and the folder to search."""

    pattern: Annotated[str, Meta(description="A pattern such as `**/*.py` or `src/*.ts`.")]
    path: Annotated[str | None, Meta(description="The folder to search; default: the working directory.")] = None


class Glob(Tool[GlobInput]):
    """Finds files by name."""

    name = "Glob"
    description = """\
Finds files by the pattern of their path, such as `**/*.py` or `src/**/test_*.ts`: most recently modified first, at \
most 100. Use it if you know a part of a name; to search in files use Grep."""
    Input = GlobInput
    concurrent = True

    def describe(self, given: GlobInput) -> str:
        return given.pattern

    async def run(self, given: GlobInput, desk: Desk) -> Outcome:
        began = time.monotonic()
        folder, pattern = _split(given)
        base = place_of(folder, desk, kinds=("directory",))
        found = await ripgrep(["--files", "--null", "--no-ignore", f"--glob={pattern}"], base)
        paths = [found.path(name) for name in found.output.split(b"\0") if name]
        newest = sorted(((_modified(path), path) for path in paths if readable(path, desk)), reverse=True)
        names = [shown_path(path, desk).encode("utf-8", "replace").decode() for _, path in newest[:_MAX_FILES]]
        detail = {
            "filenames": names,
            "durationMs": round((time.monotonic() - began) * 1000),
            "numFiles": len(names),
            "truncated": len(newest) > _MAX_FILES or not found.complete,
            "totalMatches": len(newest),
            "countIsComplete": found.complete,
        }
        return Outcome(_listing(names, len(newest), complete=found.complete), detail)


def _listing(names: list[str], total: int, *, complete: bool) -> str:
    if not names:
        return "No files found"
    if total <= len(names) and complete:
        return "\n".join(names)
    more = "" if complete else " or more"
    return "\n".join([*names, f"({len(names)} of {total}{more} shown. Use a narrower pattern or path.)"])


def _split(given: GlobInput) -> tuple[str | None, str]:
    """Split an absolute pattern into the folder before its first wildcard and the rest."""
    if not given.pattern.startswith("/"):
        return given.path, given.pattern
    parts = given.pattern.split("/")
    plain = next((at for at, part in enumerate(parts) if _WILDCARDS & set(part)), len(parts) - 1)
    return "/".join(parts[:plain]) or "/", "/" + "/".join(parts[plain:])


def _modified(path: str) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0
