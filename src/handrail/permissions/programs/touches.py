"""Reads options with their values, and describes the files that a command uses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from handrail.permissions.shell.words import HOLE, HOME, Word, fixed_word, is_option

__all__ = ["LOOKS_LIKE_PATH", "Access", "Touch", "options_given", "word_at"]

Access = Literal["read", "write", "remove"]
LOOKS_LIKE_PATH: Final = re.compile(rf"[/~{HOME}]|\.\.?(?:/|\Z)|.*/\.\./", re.DOTALL)


class Touch(Struct, frozen=True):
    """A file that a command names, and what becomes of it."""

    word: Word
    access: Access
    extra: bool = False
    """It is not what the program is for: a download's target, say, needs more than leave to download."""
    tree: bool = False
    """Every file below it is read too."""
    follows: bool = False
    """If it is a folder, its files are read too, also through links."""
    perhaps: bool = False
    """It may be no file at all: the argument is not described."""


def word_at(words: tuple[Word, ...], at: int) -> Word:
    return words[at] if at < len(words) else fixed_word(HOLE)


def options_given(words: tuple[Word, ...], valued: str) -> Iterator[tuple[str, Word]]:
    """Options, one letter or a long name at a time, each with what may be its value; plain words have an empty name.

    Whether a long option takes the next word is left open: that comes as a plain word as well.
    """
    at = 1
    while at < len(words):
        word, following = words[at], word_at(words, at + 1)
        if word.text.startswith("--"):
            name, equals, value = word.text[2:].partition("=")
            yield name, replace(word, text=value, values=None) if equals else following
        elif is_option(word):
            letters = word.text[1:]
            end = next((index for index, letter in enumerate(letters) if letter in valued), len(letters))
            yield from ((letter, following) for letter in letters[:end])
            if end < len(letters):
                attached = letters[end + 1 :]
                yield letters[end], replace(word, text=attached, values=None) if attached else following
                at += not attached
        else:
            yield "", word
        at += 1
