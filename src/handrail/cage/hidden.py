"""The files that rules deny reading, for a search that has to find them in large folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from handrail.permissions.circumstances import Circumstances
from handrail.permissions.paths.matching import Anchors, Resolved
from handrail.permissions.paths.names import fold, is_below, names_of
from handrail.permissions.paths.patterns import Pattern, compile_pattern
from handrail.permissions.tools.file_access import path_rules, rule_on_path

__all__ = ["Hidden", "hidden_files"]

_WILD = frozenset("*?[\\")


class Hidden:
    """The files that a session's rules deny reading."""

    def __init__(self, circumstances: Circumstances, contents: Iterable[str | None]) -> None:
        self._circumstances = circumstances
        contents = list(contents)
        self._everything = any(content is None for content in contents)
        given = [content for content in contents if content is not None]
        last = [_last_name(content) for content in given]
        self._any_name = None in last
        self._last = [part.fullmatch for pattern in last if pattern for part in pattern.parts if part]
        self._roots = {_folded(root) for content in given for root in _roots(content, circumstances.anchors)}

    def concerns(self, folder: str) -> bool:
        """Whether files in this folder may be hidden, or the folder itself."""
        folded = _folded(folder)
        return self._everything or any(is_below(folded, root) or is_below(root, folded) for root in self._roots)

    def covers(self, path: str) -> bool:
        """Whether this path is hidden. The path contains no links, and the folders on its way are not hidden."""
        if self._everything:
            return True
        name = fold(path.rpartition("/")[2])
        # The whole rule is slow to compare, and few names fit.
        if not self._any_name and not any(matches(name) for matches in self._last):
            return False
        resolved = Resolved(asked=path, lexical=path, real=path, kind="file")
        return rule_on_path(resolved, "deny", "Read", self._circumstances) is not None


def hidden_files(circumstances: Circumstances) -> Hidden | None:
    """The files that rules deny reading; None if no rule denies any."""
    rules = list(path_rules(circumstances, "deny", "Read"))
    if not rules:
        return None
    return Hidden(circumstances, [None if rule.broken else rule.rule.content for rule in rules])


@lru_cache(maxsize=1024)
def _last_name(content: str) -> Pattern | None:
    """The pattern of the last name of a rule, which a path must fit; None if every path may."""
    names = [name for name in content.replace("\\", "/").split("/") if name not in ("", ".", "**")]
    if not names or names[-1] in ("..", "~") or "\\" in content:
        return None
    return compile_pattern(names[-1], forgiving=True)


def _roots(content: str, anchors: Anchors) -> Iterator[str]:
    """The folders, without patterns, in which all files lie that a rule can mean."""
    homes = (anchors.home, anchors.real_home)
    folders = (anchors.cwd, anchors.real_cwd, anchors.project, anchors.real_project, "/")
    beneath = homes if content.startswith("~") else ("/",) if content.startswith("//") else folders
    text = content.removeprefix("~")
    fixed: list[str] = []
    for name in text.split("/"):
        if _WILD & set(name):
            break
        fixed.append(name)
    # A single name is meant at any depth.
    anywhere = "/" not in text.strip("/") and not text.startswith(("/", "./"))
    for folder in filter(None, beneath):
        if folder == "/" and beneath is folders and not text.startswith("/") and text.strip("*/"):
            continue
        yield _climbed(folder, [] if anywhere else fixed)


def _climbed(folder: str, names: Iterable[str]) -> str:
    found = names_of(folder)
    for name in names:
        if name == "..":
            del found[-1:]
        elif name not in ("", "."):
            found.append(name)
    return "/" + "/".join(found)


def _folded(path: str) -> str:
    return "/" + "/".join(map(fold, names_of(path)))
