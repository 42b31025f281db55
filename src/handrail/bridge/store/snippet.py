"""The excerpt shown for a search result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from unicodedata import combining, normalize

__all__ = ["snippet", "words_of"]

AROUND: Final = 12
"""Words shown before and after the first match."""
MOST_SEARCHED: Final = 100_000
MOST_SHOWN: Final = 1000
_WORD: Final = re.compile(r"\w+")


def words_of(query: str) -> list[str]:
    """The words of a query; punctuation is ignored."""
    return _WORD.findall(query)


def snippet(text: str, wanted: Sequence[str]) -> str:
    """The words around the first match of a prefix in `wanted`; the beginning of the text if none matches."""
    prefixes = tuple(map(_folded, wanted))
    words = list(_WORD.finditer(text[:MOST_SEARCHED]))
    found = next((n for n, word in enumerate(words) if _folded(word[0]).startswith(prefixes)), 0)
    first, last = max(0, found - AROUND), found + AROUND
    start = words[first].start() if first else 0
    end = words[last].end() if last < len(words) else len(text)
    shown = text[start : min(end, start + MOST_SHOWN)]
    return f"{'…' if start else ''}{shown}{'…' if start + len(shown) < len(text) else ''}"


def _folded(word: str) -> str:
    """Without accents and case, as the full-text index compares words."""
    if word.isascii():
        return word.lower()
    return "".join(character for character in normalize("NFKD", word) if not combining(character)).casefold()
