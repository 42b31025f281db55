"""Which files a word may mean. In: a word, the folders its command may run in, what variables hold. Out: paths.

A word can stand for several files: a variable with several values, a pattern, a folder that is not certain. All of
them are named as far as they are known; where one is not known, that is said.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from itertools import islice, product
from typing import Final

from msgspec import Struct

from handrail.permissions.bash_commands import Folder
from handrail.permissions.bash_reading import Notes
from handrail.permissions.bash_words import HERE, HOLE, HOME, NUMBER, Word
from handrail.permissions.paths import Anchors

__all__ = ["Candidate", "candidates", "could_overlap"]

MOST: Final = 24
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
    found = dict.fromkeys(
        candidate
        for text in _texts(word, notes)
        for folder in folders
        if (candidate := _candidate(text, folder, anchors, globs=word.globs)) is not None
    )
    return list(found)[:MOST] if len(found) <= MOST else [*list(found)[:MOST], Candidate(anchors.cwd, open=True)]


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


def _candidate(text: str, folder: Folder, anchors: Anchors, *, globs: bool) -> Candidate | None:
    base = anchors.cwd
    for target in folder:
        if HOLE in target:
            base = HOLE
            break
        base = _joined(base, target, anchors)
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
    """Could a pattern for file names mean a file that a rule means? In: the last name of each. Errs towards yes."""
    name = content.rstrip("/").rpartition("/")[2]
    if not _GLOB.search(name):
        return fnmatchcase(name.casefold(), pattern.casefold())
    mine, others = _GLOB.split(pattern.casefold()), _GLOB.split(name.casefold())
    begins = mine[0].startswith(others[0]) or others[0].startswith(mine[0])
    ends = mine[-1].endswith(others[-1]) or others[-1].endswith(mine[-1])
    return begins and (ends or "[" in pattern or "[" in name)
