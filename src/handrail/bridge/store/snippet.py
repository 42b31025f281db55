"""What is shown of a text that was found. In: the text, the words that were looked for. Out: the words around. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from unicodedata import combining, normalize

__all__ = ["snippet", "words_of"]

AROUND: Final = 12
"""So many words before the first that was found, and after it."""
LOOKED_THROUGH: Final = 100_000
_WORD: Final = re.compile(r"\w+")


def words_of(query: str) -> list[str]:
    """What is looked for; signs between words mean nothing."""
    return _WORD.findall(query)


def snippet(text: str, wanted: Sequence[str]) -> str:
    """The words around the first that begins with one of those wanted; the beginning where there is none."""
    beginnings = tuple(map(_plain, wanted))
    places = list(_WORD.finditer(text[:LOOKED_THROUGH]))
    found = next((n for n, place in enumerate(places) if _plain(place[0]).startswith(beginnings)), 0)
    first, last = max(0, found - AROUND), found + AROUND
    start = places[first].start() if first else 0
    end = places[last].end() if last < len(places) else len(text)
    shown = text[start : min(end, start + 1000)]
    return f"{'…' if start else ''}{shown}{'…' if start + len(shown) < len(text) else ''}"


def _plain(word: str) -> str:
    """As it is compared: without accents, in small letters."""
    if word.isascii():
        return word.lower()
    return "".join(sign for sign in normalize("NFKD", word) if not combining(sign)).casefold()
