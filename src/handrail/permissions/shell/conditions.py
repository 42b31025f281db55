"""Checks the words of `[[ … ]]` that the shell evaluates.

In a test the shell evaluates some words as sums, and a sum such as `a[$(x)]` runs x.
"""

from __future__ import annotations

import re
from typing import Final

from handrail.permissions.shell.quotes import Unclear
from handrail.permissions.shell.reading import Notes
from handrail.permissions.shell.words import HOLE, NUMBER, Word

__all__ = ["check_test"]

INTEGER_OPERATORS: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_AFTER_PATTERN: Final = (["]]"], ["&&"], ["||"])
_NUMBER: Final = re.compile(rf"-?\d{{1,18}}|{NUMBER}")


def check_test(words: list[Word], notes: Notes) -> None:
    """What a test evaluates as a sum, and what it looks up by name, could run a substitution within it."""
    for index, word in enumerate(words):
        if word.source in ("-v", "-R"):
            notes.doubts.append("a test looks up a variable by a name that is worked out")
        if word.source == "=~" and [item.source for item in words[index + 2 : index + 3]] not in _AFTER_PATTERN:
            raise Unclear("a pattern of a test is not plain")
        if word.source in INTEGER_OPERATORS:
            _count(words[index - 1], notes)
            _count(words[index + 1], notes)


def _count(word: Word, notes: Notes) -> None:
    """A word that is evaluated as a sum: digits, or one variable."""
    if word.text == HOLE and word.names[0].isidentifier():
        notes.counted.add(word.names[0])
    elif not _NUMBER.fullmatch(word.text):
        notes.doubts.append("a test evaluates a word as a sum")
