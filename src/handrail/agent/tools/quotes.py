"""Finding and replacing text whose quotes are curly in one place and straight in the other. Pure.

Models often write straight quotes where a file has curly ones, and the other way round.
"""

from __future__ import annotations

from typing import Final

__all__ = ["occurrences", "replaced"]

_KINDS: Final = (('"', "\u201c", "\u201d"), ("'", "\u2018", "\u2019"))
"""Straight, opening and closing."""
_STRAIGHT: Final = str.maketrans({curly: kind[0] for kind in _KINDS for curly in kind[1:]})
_QUOTES: Final = frozenset(mark for kind in _KINDS for mark in kind)
_BEFORE_OPENING: Final = frozenset("([{\u2013\u2014")


def occurrences(text: str, wanted: str) -> list[int]:
    """The positions of `wanted` in a text; if there are none, those with all quotes made straight."""
    return _positions(text, wanted) or _positions(text.translate(_STRAIGHT), wanted.translate(_STRAIGHT))


def _positions(text: str, wanted: str) -> list[int]:
    found: list[int] = []
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        found.append(at)
        at = text.find(wanted, at + len(wanted))
    return found


def replaced(text: str, positions: list[int], wanted: str, new: str) -> str:
    """The text with `new` at these occurrences of `wanted`, in the quotes of what it replaces."""
    parts: list[str] = []
    end = 0
    for start in positions:
        actual = text[start : start + len(wanted)]
        before = text[start - 1 : start] if start else ""
        parts += (text[end:start], new if actual == wanted else _in_quotes_of(actual, new, before))
        end = start + len(wanted)
    return "".join((*parts, text[end:]))


def _in_quotes_of(actual: str, new: str, before: str) -> str:
    """`new` with the quotes that `actual` has of each kind; a kind that `actual` lacks is left alone."""
    for straight, opening, closing in _KINDS:
        if opening in actual or closing in actual:
            new = _curled(new, straight, opening, closing, before)
        elif straight in actual:
            new = new.replace(opening, straight).replace(closing, straight)
    return new


def _curled(text: str, straight: str, opening: str, closing: str, before: str) -> str:
    """Straight quotes of one kind as curly ones: opening after a space, a bracket, a dash or an opening quote."""
    shown: list[str] = []
    opens = _opens_after(before)
    for character in text:
        shown.append((opening if opens else closing) if character == straight else character)
        # A quote right after an opening one opens as well.
        opens = opens if character in _QUOTES else _opens_after(character)
    return "".join(shown)


def _opens_after(before: str) -> bool:
    return not before or before.isspace() or before in _BEFORE_OPENING
