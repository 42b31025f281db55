"""Splits paths into names, makes them absolute, and finds oddities, as text only.

`Resolved` holds the answers of the disk.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["absolute", "bare_name", "fold", "is_below", "names_of", "oddity", "shown", "squash"]

_HIDDEN = "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
"""What no eye sees: soft hyphens, joiners, marks of direction. Some file systems do not see it either."""

_CONTROLS = "[\x00-\x1f\x7f-\x9f\u2028\u2029]"
_UNPRINTABLE = f"{_HIDDEN[:-1]}\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"
_SHORT_NAME = r"(?P<name>[^~.]{1,6})~\d+(?P<suffix>\..*)?"
# Compiled when first used, and kept by `re`: an agent that starts needs none of them.

_ODDITIES = (
    ("\x00", "it contains a NUL"),
    (_CONTROLS, "it contains control characters"),
    (_HIDDEN, "it contains characters that are invisible or reverse the text"),
    ("[\ud800-\udfff]", "it is not valid UTF-8"),
    (r"\A[A-Za-z][A-Za-z0-9+.-]*:[/\\]", "it looks like an address or a drive, and is neither here"),
    (r"\A~[^/]", "it names another user's home, and only ~/ is understood"),
    (r"\A(\$\{?\w+\}?|%\w+%)([/\\]|\Z)", "it begins with a variable, and none is expanded here"),
    (r"(?i)%(?:2[ef]|5c|00)", "it contains escapes of an address, and none are decoded here"),
    (r"\\", "it contains a backslash, which elsewhere separates folders"),
)


def oddity(path: str) -> str:
    """Why another reader may take this path for another one. Empty for a plain path."""
    return next((why for pattern, why in _ODDITIES if re.search(pattern, path)), "")


def shown(path: str) -> str:
    """The path fit for a screen: what cannot be seen, or changes what is seen, is written as an escape."""
    return re.sub(_UNPRINTABLE, lambda found: found[0].encode("unicode_escape").decode(), path)


def names_of(path: str) -> list[str]:
    """The names of an absolute path from the top, with `.` and `..` worked off as text."""
    names: list[str] = []
    for name in path.split("/"):
        if name == "..":
            del names[-1:]
        elif name not in ("", "."):
            names.append(name)
    return names


def squash(path: str) -> str:
    """An absolute path without `//`, `.` and `..`."""
    return "/" + "/".join(names_of(path))


def absolute(path: str, cwd: str, home: str) -> str:
    """A path as asked for → absolute, as text. Only a leading `~/` (or `~` alone) stands for the home folder."""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return squash(path if path.startswith("/") else f"{cwd}/{path}")


def is_below(path: str, folder: str) -> bool:
    """Is it this folder or something in it? By whole names: `/a/proj_x` is not below `/a/proj`."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def fold(name: str) -> str:
    """A name as the most forgiving file system compares it: no case, width, composition, hidden signs or end dots."""
    if not name.isascii():
        name = unicodedata.normalize("NFKC", re.sub(_HIDDEN, "", name)).casefold()
    return name.lower().rstrip(" .") or name


def bare_name(name: str) -> str:
    """A name as the most forgiving file system opens it: folded, and without stream or short form."""
    name = fold(fold(name).partition(":")[0])
    short = re.fullmatch(_SHORT_NAME, name)
    return f".{short['name']}{short['suffix'] or ''}" if short else name
