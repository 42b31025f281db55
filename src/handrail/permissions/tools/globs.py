"""Finds the folders that the pattern of a Glob search may look into.

A pattern may climb out of its folder, or name another one. If the text does not show where it leads, the whole disk
counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["globbed"]

MOST_ALTERNATIVES: Final = 64
_MAGIC: Final = re.compile(r"[*?\[{(!+@]")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")


def globbed(tool: str, input: Mapping[str, Any], path: str) -> list[str]:
    """The folders that a pattern of Glob names, as paths; nothing for one that stays below `path` by itself."""
    pattern = input.get("pattern")
    if tool != "Glob" or not isinstance(pattern, str):
        return []
    places = [_place(each, path) for each in _alternatives(pattern.replace("\\", ""))]
    return [*dict.fromkeys(place for place in places if place != path)]


def _alternatives(pattern: str) -> list[str]:
    """Each pattern that the braces in one stand for. Too many of them, or groups that climb, may be anywhere."""
    done, waiting = list[str](), [pattern]
    while waiting:
        each = waiting.pop()
        braces = _BRACES.search(each)
        if len(done) + len(waiting) > MOST_ALTERNATIVES or ("(" in each and ".." in each):
            return ["/"]
        if braces is None:
            done.append(each)
        else:
            words = braces[1].split(",", MOST_ALTERNATIVES + 1)
            waiting += [each[: braces.start()] + word + each[braces.end() :] for word in words]
    return done


def _place(pattern: str, path: str) -> str:
    """The folder where a pattern without braces begins to search, and as far above it as it climbs later."""
    names = pattern.split("/")
    plain = next((index for index, name in enumerate(names) if _MAGIC.search(name)), len(names))
    beginning = "/".join(names[:plain]) + "/.." * names[plain:].count("..")
    if pattern.startswith(("/", "~")):
        return beginning or "/"
    return f"{path}/{beginning}" if beginning else path
