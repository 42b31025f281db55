"""Conditions such as `[ -f x ]`: whether they evaluate something."""

from __future__ import annotations

from handrail.permissions.programs.options import Finding
from handrail.permissions.shell.words import Word

__all__ = ["condition_hazard"]


def condition_hazard(words: tuple[Word, ...]) -> Finding | None:
    """The word by which a test runs something: `[ -v 'a[$(x)]' ]` runs x, and so would a word that becomes `-v`."""
    part: list[Word] = []
    for index, word in enumerate((*words[1:], Word("-a", "-a")), 1):
        if word.splits or (word.globs and (word.values is None or len(word.values) > 1)):
            return Finding(index, f"what {word.source} stands for could be a separate test")
        if word.fixed and word.text in ("-a", "-o", "!", "(", ")", "]"):
            operator = part[-2] if len(part) > 1 else None
            if len(part) > 3 or (operator and (not operator.fixed or operator.text in ("-v", "-R"))):
                return Finding(min(index, len(words) - 1), "a test looks up a variable by a name that is worked out")
            part = []
        else:
            part.append(word)
    return None
