"""Words of a command as the shell passes them on, and brace lists.

The text has a hole where only the running shell knows the value. Control characters never get this far, so four of
them serve as signs: for a hole, for the home folder, for the current folder, and for a number.
"""

from __future__ import annotations

import re
from itertools import product
from typing import Final

from msgspec import Struct

__all__ = ["HERE", "HOLE", "HOME", "NUMBER", "Word", "expand_braces", "fixed_word", "is_option"]

HOLE: Final = "\x00"
HOME: Final = "\x01"
HERE: Final = "\x02"
NUMBER: Final = "\x03"
_SIGNS: Final = re.compile(f"[{HOLE}{HOME}{HERE}{NUMBER}]")

MOST_BRACE_WORDS: Final = 200
_GROUP: Final = re.compile(r"\{([^{}]*)\}")
_NUMBERS: Final = re.compile(r"(-?\d{1,6})\.\.(-?\d{1,6})(?:\.\.-?\d{1,6})?")
_PADDED: Final = re.compile(r"(?<!\d)0\d")
_LETTERS: Final = re.compile(r"([a-z])\.\.([a-z])|([A-Z])\.\.([A-Z])")


class Word(Struct, frozen=True, gc=False):
    """One word: what the shell makes of it, and how it was written."""

    text: str
    """With quotes and escapes worked off; a sign where the value is not known here."""
    source: str
    names: tuple[str, ...] = ()
    """The variable behind each hole, in order; nothing for a substitution."""
    splits: bool = False
    """A hole outside quotes: it may become no word, or several."""
    globs: bool = False
    """A pattern outside quotes: it may become the names of files."""
    values: tuple[str, ...] | None = None
    """Every text that it can become, where the command and the disk decide that; each becomes one word."""

    @property
    def fixed(self) -> bool:
        """Is it exactly one word, known here?"""
        return not self.globs and not _SIGNS.search(self.text)

    @property
    def known(self) -> bool:
        """Is its text known, but for what home and current folder are called?"""
        return HOLE not in self.text

    @property
    def may_be_option(self) -> bool:
        """Could it turn out to begin with a dash without being written so?"""
        if self.values is not None:
            return any(value.startswith("-") for value in self.values)
        return self.text.startswith(HOLE) or self.splits or (self.globs and self.text[:1] in "*?[")


def fixed_word(text: str) -> Word:
    """A word that is exactly this text."""
    return Word(text, text)


def is_option(word: Word) -> bool:
    """Whether it is written as an option."""
    return word.text.startswith("-") and len(word.text) > 1


def expand_braces(text: str) -> list[str] | None:
    """What `a{b,c}` and `{1..3}` become, in a word without quotes; None if it is unclear."""
    outside = _GROUP.sub("", text)
    over = {"{", "}"} & set(outside)
    if len(over) > 1 or (over and outside != text):
        return None
    parts, count, at = list[list[str]](), 1, 0
    for group in _GROUP.finditer(text):
        choices = _choices(group[1])
        count *= len(choices or ())
        if choices is None or count > MOST_BRACE_WORDS:
            return None
        parts += [text[at : group.start()]], choices
        at = group.end()
    return ["".join(chosen) for chosen in product(*parts, [text[at:]])]


def _choices(inner: str) -> list[str] | None:
    if "," in inner:
        return inner.split(",") if len(inner) < MOST_BRACE_WORDS * 50 else None
    if ".." not in inner:
        return ["{" + inner + "}"]
    if numbers := _NUMBERS.fullmatch(inner):
        padded_or_stepped = inner.count("..") > 1 or _PADDED.search(inner)
        return None if padded_or_stepped else _range(int(numbers[1]), int(numbers[2]))
    if letters := _LETTERS.fullmatch(inner):
        first, last = (letters[1] or letters[3]), (letters[2] or letters[4])
        return [chr(code) for code in range(ord(first), ord(last) + 1)] or None
    return None


def _range(first: int, last: int) -> list[str] | None:
    if abs(last - first) > MOST_BRACE_WORDS:
        return None
    step = 1 if last >= first else -1
    return [str(number) for number in range(first, last + step, step)]
