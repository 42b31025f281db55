"""Checks that keywords and brackets are nested correctly.

The parser then receives only well-nested text, so that its work grows with the length.
"""

from __future__ import annotations

from typing import Final

from handrail.permissions.shell.quotes import Unclear

__all__ = ["Nesting"]

_OPENS: Final = {"if": "then", "while": "do", "until": "do", "for": "do", "case": "esac", "{": "}", "(": ")"}
"""What must come next after an opening."""
_GOES_ON: Final = {
    ("then", "then"): "fi",
    ("elif", "fi"): "then",
    ("else", "fi"): "fi only",
    ("fi", "fi"): "",
    ("fi", "fi only"): "",
    ("do", "do"): "done",
    ("done", "done"): "",
    ("esac", "esac"): "",
    ("}", "}"): "",
    (")", ")"): "",
}
"""A keyword, and what was expected: what must come after it; nothing where that closes it."""
_NEEDS_NOTHING: Final = frozenset({"fi", "done", "esac", "}", ")", "for", "case"})


class Nesting:
    """What is open at one place of a script."""

    def __init__(self) -> None:
        self.expected: list[str] = []
        self.brackets = 0
        self.empty = False
        """Nothing has been said yet since the last opening."""

    def pass_keyword(self, word: str) -> None:
        """Go past a keyword or a bracket."""
        if word in _OPENS:
            self.expected.append(_OPENS[word])
            self.brackets += word == "("
        elif word != "!":
            self._go_on(word)
        self.empty = word not in _NEEDS_NOTHING

    def _go_on(self, word: str) -> None:
        after = _GOES_ON.get((word, self.expected[-1])) if self.expected else None
        if after is None or (self.empty and word != "esac"):
            raise Unclear(f"`{word}` is out of place")
        self.expected.pop()
        self.brackets -= word == ")"
        if after:
            self.expected.append(after)

    def in_case(self) -> bool:
        """Is a branch of a `case` the innermost thing that is open?"""
        return self.expected[-1:] == ["esac"]
