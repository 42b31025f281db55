"""Matches paths against the contents of rules, and finds paths that are unsafe.

A path has several spellings: the one that was asked for, and the one that the disk reports after following links. A
deny rule holds if any spelling matches, and ignores case and look-alikes; an allow rule holds only if every spelling
matches exactly.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from msgspec import Struct

from handrail.permissions.paths.names import absolute, fold, is_below, names_of, oddity, shown, squash
from handrail.permissions.paths.patterns import Pattern, compile_pattern, problem_of
from handrail.permissions.paths.protected import PACKAGE_FOLDERS, protection_of

__all__ = [
    "Anchors",
    "PathKind",
    "Resolved",
    "absolute",
    "allows",
    "denies",
    "inside",
    "is_doubtful",
    "is_protected",
    "is_refused",
    "matches",
    "may_match_below",
    "opens_own_settings",
    "problem_of",
    "shown",
]

PathKind = Literal["file", "directory", "missing", "fifo", "device", "socket", "proc", "loop", "other"]
_PLAIN = frozenset({"file", "directory", "missing"})
_REFUSED: dict[PathKind, str] = {
    "fifo": "it is a pipe, and reading it could wait for ever",
    "device": "it is a device",
    "socket": "it is a socket",
    "proc": "it leads through /proc, where processes show their secrets",
    "loop": "its links lead in a circle",
    "other": "this system cannot open such a path",
}
OWN_SETTINGS = ("/.claude/**", "~/.claude/**")
"""The contents that, granted for a session, let the agent edit its own settings; nothing else opens them."""


_ANY_NAME = "\x00\x00"
"""Stands for everything in a folder: no pattern spells it out, so only one that means all of them matches."""


class Resolved(Struct, frozen=True):
    """A path, and what the disk says about it: made in one go, and what is opened later is exactly `real`."""

    asked: str
    lexical: str
    """Absolute, with `.` and `..` worked off as text."""
    real: str | None
    """With all links followed, as far as it exists; None where they lead in a circle or the path is impossible."""
    kind: PathKind = "missing"
    links: int = 1
    """How many names the file has."""
    via: tuple[str, ...] = ()
    """Where each link on the way led."""
    ambiguous: bool = False
    """Whoever works off `..` as text, before following links, opens another file than the kernel does."""


class Anchors(Struct, frozen=True):
    """What the beginnings of contents stand for. The `real_…` fields: the same without links, where that differs."""

    cwd: str
    project: str
    home: str
    additional: tuple[str, ...] = ()
    """Further folders that may be worked in, in every spelling."""
    real_cwd: str = ""
    real_project: str = ""
    real_home: str = ""

    def folders(self) -> tuple[str, ...]:
        """The folders that may be worked in."""
        return tuple(folder for folder in (self.cwd, self.real_cwd, *self.additional) if folder)


def matches(content: str, path: str, anchors: Anchors) -> bool:
    """Whether a content means exactly this spelling, as an allow rule reads it; an unclear content means nothing."""
    return not problem_of(content) and _matches(content, path, anchors, forgiving=False)


def allows(content: str, resolved: Resolved, anchors: Anchors) -> bool:
    """Does an allow rule with this content cover the path, in every spelling?"""
    inner = f"/{_ANY_NAME}" if resolved.kind == "directory" else ""
    return not is_doubtful(resolved) and all(
        matches(content, path, anchors) or matches(content, path + inner, anchors)
        for path in (resolved.lexical, resolved.real or "")
    )


def denies(content: str, resolved: Resolved, anchors: Anchors) -> bool:
    """Does a deny or ask rule with this content cover the path, in any spelling? What is unclear covers all."""
    return bool(problem_of(content)) or any(
        _matches(content, path, anchors, forgiving=forgiving)
        for path in _suspects(resolved)
        for forgiving in (False, True)
    )


def may_match_below(content: str, folder: str, anchors: Anchors) -> bool:
    """Whether a deny or ask rule could cover a file below a folder."""
    names = _names(folder, forgiving=True)
    return bool(problem_of(content)) or any(
        base[: len(names)] == names or (names[: len(base)] == base and pattern.may_match_below(names[len(base) :]))
        for base, pattern in _readings(content, anchors, forgiving=True)
    )


def inside(resolved: Resolved, anchors: Anchors) -> bool:
    """Is the path, in every spelling, in a folder that may be worked in, and plainly what it seems to be?"""
    return not is_doubtful(resolved) and all(
        any(is_below(path, folder) for folder in anchors.folders()) for path in (resolved.lexical, resolved.real or "")
    )


def is_refused(resolved: Resolved) -> str:
    """Why this is never opened, with any rules; empty for a file, a folder, or what is not there yet."""
    return _REFUSED.get(resolved.kind, "") or ("it contains a NUL" if "\x00" in resolved.asked else "")


@lru_cache(maxsize=64)
def is_doubtful(resolved: Resolved) -> str:
    """Why its name does not tell what it is, so that a person must look; nothing for a plain path."""
    return (
        is_refused(resolved)
        or oddity(resolved.asked)
        or oddity(resolved.real or "\x00")
        or ("its `..` come after a link, so that it means two files" if resolved.ambiguous else "")
        or _other_names(resolved)
    )


def is_protected(resolved: Resolved, anchors: Anchors) -> str:
    """Why a person confirms a change of this file even if edits are accepted; empty if it is not protected."""
    reasons = (_protection(path, anchors) for path in _spellings(resolved))
    return next(filter(None, reasons), "") or _other_names(resolved)


def opens_own_settings(content: str | None, resolved: Resolved, anchors: Anchors) -> bool:
    """Does an allow rule of the session with this content let the agent change this file among its own settings?"""
    return (
        content in OWN_SETTINGS
        and allows(content, resolved, anchors)
        and all(_is_own_setting(path, anchors) for path in _spellings(resolved))
    )


def _protection(path: str, anchors: Anchors) -> str:
    names = names_of(path.replace("\\", "/"))
    at_home = squash("/".join(["", *names[:-1]])) in (anchors.home, anchors.real_home)
    if at_home and names[-1:] and names[-1].startswith("."):
        return protection_of(names) or "programs read their settings from such files in your home folder"
    return protection_of(names)


def _is_own_setting(path: str, anchors: Anchors) -> bool:
    """Is it below the `.claude` of the project or of the user, and is nothing else there a reason to protect it?"""
    homes = (anchors.project, anchors.real_project, anchors.home, anchors.real_home)
    folders = (squash(f"{home}/.claude") for home in homes if home)
    return any(is_below(path, folder) and not protection_of(names_of(path[len(folder) :])) for folder in folders)


def _other_names(resolved: Resolved) -> str:
    """A second name may lie where a rule would have denied it; only package managers link their files on purpose."""
    if resolved.kind != "file" or resolved.links < 2 or not PACKAGE_FOLDERS.isdisjoint(names_of(resolved.lexical)):
        return ""
    return f"the same file has {resolved.links - 1} other name{'s' if resolved.links > 2 else ''} elsewhere"


def _spellings(resolved: Resolved) -> tuple[str, ...]:
    return (resolved.lexical, *([] if resolved.real is None else [resolved.real]), *resolved.via)


@lru_cache(maxsize=64)
def _suspects(resolved: Resolved) -> frozenset[str]:
    """All spellings, and what they would be where a backslash separates folders."""
    spellings = _spellings(resolved)
    return frozenset((*spellings, *(squash(path.replace("\\", "/")) for path in spellings if "\\" in path)))


def _matches(content: str, path: str, anchors: Anchors, *, forgiving: bool) -> bool:
    names = _names(path, forgiving=forgiving)
    return any(
        names[: len(base)] == base and pattern.matches(names[len(base) :])
        for base, pattern in _readings(content, anchors, forgiving=forgiving)
    )


@lru_cache(maxsize=64)
def _names(path: str, *, forgiving: bool) -> tuple[str, ...]:
    return tuple(map(fold, names_of(path)) if forgiving else names_of(path))


@lru_cache(maxsize=4096)
def _readings(content: str, anchors: Anchors, *, forgiving: bool) -> tuple[tuple[tuple[str, ...], Pattern], ...]:
    """What a content can mean: a folder, and a pattern below it. A folder reached by a link has two spellings."""
    texts = [content, content.replace("\\", "/")] if forgiving and "\\" in content else [content]
    return tuple(
        (_names(base, forgiving=forgiving), compile_pattern(body, anywhere=anywhere, forgiving=forgiving))
        for text in texts
        for folders, rest, anywhere in _anchored(text, anchors, forgiving=forgiving)
        for base, body in (_climb(folder, rest) for folder in folders if folder)
    )


def _anchored(content: str, anchors: Anchors, *, forgiving: bool) -> list[tuple[tuple[str, ...], str, bool]]:
    """Where a content begins: the folder in its spellings, the pattern below it, and whether at any depth there."""
    if content.startswith("//"):
        return [(("/",), content[2:], False)]
    if content == "~" or content.startswith("~/"):
        return [((anchors.home, anchors.real_home), content[1:], False)]
    if content.startswith("/"):
        below_project = ((anchors.project, anchors.real_project), content, False)
        # Many write `/etc/shadow` and mean the file of that name: a deny covers both readings.
        return [below_project, (("/",), content, False)] if forgiving else [below_project]
    if forgiving and not content.strip("*/"):
        return [(("/",), content, False)]
    name, _, rest = content.partition("/")
    anywhere = name not in (".", "..") and (not rest or (forgiving and not rest.strip("*/")))
    return [((anchors.cwd, anchors.real_cwd), content, anywhere)]


def _climb(folder: str, pattern: str) -> tuple[str, str]:
    """Work off the `..` of a pattern as text, against the folder where its beginning is spent."""
    base, names = names_of(folder), list[str]()
    for name in pattern.split("/"):
        if name == "..":
            del (names or base)[-1:]
        elif name not in ("", "."):
            names.append(name)
    return "/" + "/".join(base), "/".join(names) + ("/" if pattern.endswith("/") else "")
