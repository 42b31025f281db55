"""Resolves words to the files they may name.

A word can name several files: a variable with several values, a pattern, a folder that is uncertain. Every known path
is listed; an open candidate marks a path that is known only in part.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from itertools import islice, product
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from handrail.permissions.circumstances import World
from handrail.permissions.paths.matching import Anchors
from handrail.permissions.shell.commands import Folder
from handrail.permissions.shell.reading import Notes
from handrail.permissions.shell.words import HERE, HOLE, HOME, NUMBER, Word

__all__ = ["Candidate", "candidates", "could_overlap", "folder_path", "with_values"]

MOST: Final = 24
MOST_VALUES: Final = 200
_GLOB: Final = re.compile(r"[*?\[]")
_MAKES_WORDS: Final = re.compile(r"[\s*?\[]")
"""Outside quotes a value with one of these becomes several words, or the names of files."""


class Candidate(Struct, frozen=True):
    """A path that a word may mean. An open one is only known to begin like this."""

    path: str
    open: bool = False
    glob: str = ""
    """The last name, where it is a pattern."""


def candidates(word: Word, folders: tuple[Folder, ...], anchors: Anchors, notes: Notes) -> list[Candidate]:
    """Every file that a word may mean, as far as that is known here."""
    texts = _texts(word, notes) if word.values is None else word.values
    found = dict.fromkeys(
        _candidate(text, folder, anchors, globs=word.globs and word.values is None)
        for text in texts
        for folder in folders
    )
    most = MOST if word.values is None else MOST_VALUES
    return list(found)[:most] if len(found) <= most else [*list(found)[:most], Candidate(anchors.cwd, open=True)]


def _texts(word: Word, notes: Notes) -> list[str]:
    """The text with its holes filled where the values of the variables are known."""
    if HOLE not in word.text:
        return [word.text]
    values = [notes.known_values(name) or [HOLE] for name in word.names] or [[HOLE]]
    if word.splits:
        values = [[HOLE if _MAKES_WORDS.search(value) else value for value in choices] for choices in values]
    pieces = word.text.split(HOLE)
    if len(values) != len(pieces) - 1:
        return [word.text]
    filled = islice(product(*values), MOST)
    return ["".join(part for pair in zip(pieces, (*choice, ""), strict=True) for part in pair) for choice in filled]


def with_values(word: Word, folders: tuple[Folder, ...], anchors: Anchors, notes: Notes, world: World) -> Word:
    """Look up what a word becomes: the values of its variables, and the files that its pattern matches."""
    if word.text == HOLE and word.source.startswith("<("):
        return replace(word, values=("/dev/stdin",))
    if (not word.names and not word.globs) or len(folders) != 1:
        return word
    folder = folder_path(folders[0], anchors)
    if HOLE in folder:
        return word
    choices = [_values(name, folder, anchors, notes, world) for name in word.names]
    pieces = word.text.split(HOLE)
    if None in choices or len(choices) != len(pieces) - 1:
        return word
    filled = list(islice(product(*(choice or () for choice in choices)), MOST_VALUES + 1))
    texts: list[str] = []
    for choice in filled:
        text = "".join(part for pair in zip(pieces, (*choice, ""), strict=True) for part in pair)
        found = _matches(text, folder, anchors, world) if word.globs else [text]
        if found is None:
            return word
        texts += found
    unsplit = not word.splits or not any(_MAKES_WORDS.search(value) or not value for value in _flat(choices))
    return replace(word, values=tuple(texts)) if unsplit and len(texts) <= MOST_VALUES else word


def _flat(choices: list[list[str] | None]) -> list[str]:
    return [value for choice in choices for value in choice or ()]


def _values(name: str, folder: str, anchors: Anchors, notes: Notes, world: World) -> list[str] | None:
    """Everything a variable can hold, including the files of a pattern that a loop goes over."""
    given = notes.values.get(name)
    if not given or name in notes.numbers or len(given) > MOST_VALUES:
        return None
    found: list[str] = []
    for value in given:
        if value is None or not value.known:
            return None
        matched = _matches(value.text, folder, anchors, world) if value.globs else [value.text]
        if matched is None or len(found) > MOST_VALUES:
            return None
        found += matched
    return found


def _matches(text: str, folder: str, anchors: Anchors, world: World) -> list[str] | None:
    """The paths that a pattern matches, at least; None if they are uncertain. Without a match it remains as written."""
    text = _signless(text, folder, anchors)
    found = [""]
    for part in re.split(r"(/+)", text):
        if not _GLOB.search(part):
            found = [f"{path}{part}" for path in found]
            continue
        named = re.compile(_at_least(part), re.DOTALL)
        paths: list[str] = []
        for path in found:
            names = world.names(_joined(folder, path or ".", anchors))
            if names is None:
                return None
            paths += [f"{path}{name}" for name in names if named.fullmatch(name) and _is_shown(name, part)]
        found = paths
        if len(found) > MOST_VALUES:
            return None
    if not found and _GLOB.match(text):
        return None  # a file that appears meanwhile could be named like an option
    return found or [text]


def _at_least(pattern: str) -> str:
    """An expression for at least the names of a pattern: brackets and what follows them can be anything."""
    sure, bracket, _ = pattern.partition("[")
    expression = "".join({"*": ".*", "?": "."}.get(sign, re.escape(sign)) for sign in sure)
    return f"{expression}.*" if bracket else expression


def _is_shown(name: str, pattern: str) -> bool:
    """A leading dot must be spelled out."""
    return not name.startswith(".") or pattern.startswith(".")


def folder_path(folder: Folder, anchors: Anchors) -> str:
    """The path of a folder, with a hole where it is not known."""
    base = anchors.cwd
    for target in folder:
        if HOLE in target:
            return HOLE
        base = _joined(base, target, anchors)
    return base


def _candidate(text: str, folder: Folder, anchors: Anchors, *, globs: bool) -> Candidate:
    base = folder_path(folder, anchors)
    path = _joined(base, text, anchors)
    found = _GLOB.search(path, len(path) - len(_signless(text, base, anchors))) if globs else None
    first = min((at for at in (path.find(HOLE), found.start() if found else -1) if at >= 0), default=-1)
    if first < 0:
        return Candidate(path)
    known = path[:first].rpartition("/")[0]
    if path[first] == HOLE:
        return Candidate(known or ("/" if path.startswith("/") else ""), open=True)
    rest = path[len(known) + 1 :]
    return Candidate(known or "/", open="/" in rest or HOLE in rest, glob=rest.partition("/")[0])


def _joined(base: str, text: str, anchors: Anchors) -> str:
    text = _signless(text, base, anchors)
    return text if text.startswith(("/", HOLE)) else f"{base}/{text}"


def _signless(text: str, base: str, anchors: Anchors) -> str:
    return text.replace(HOME, anchors.home).replace(HERE, base).replace(NUMBER, "0")


def could_overlap(pattern: str, content: str) -> bool:
    """Whether a pattern for file names could match a file of a rule, by the last name of each. Errs towards yes."""
    name = content.rstrip("/").rpartition("/")[2]
    if not _GLOB.search(name):
        return fnmatchcase(name.casefold(), pattern.casefold())
    mine, others = _GLOB.split(pattern.casefold()), _GLOB.split(name.casefold())
    begins = mine[0].startswith(others[0]) or others[0].startswith(mine[0])
    ends = mine[-1].endswith(others[-1]) or others[-1].endswith(mine[-1])
    return begins and (ends or "[" in pattern or "[" in name)
