"""A command as the shell's own reader takes it apart. Data only: what `bash_prefilter` finds, and what it notes.

`plain` is the same text with every word, quote, comment, here-document and redirection replaced by letters and blanks,
so that nothing is left in it that a parser could read in another way than the shell. What stands at some place of the
text begins there at twice that place, so that a blank is between any two things: where brackets touch what follows,
the parser looks for patterns, and takes longer and longer.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct, field

from handrail.permissions.bash_words import NUMBER, Word

__all__ = ["OF_COMPOUND", "SCALE", "Notes", "Reading", "Redirect"]

OF_COMPOUND: Final = -1
SCALE: Final = 2
MOST_VALUES: Final = 100
_ALWAYS_NUMBERS: Final = frozenset({"RANDOM", "SRANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "UID", "EUID", "PPID"})


class Redirect(Struct, frozen=True, gc=False):
    """`>file` and its kin: the sign, without a number before it, and the file or the here-document's limiter."""

    operator: str
    target: Word


class Reading(Struct):
    """One script: the command itself, or what stands in one `$(…)`, `` `…` ``, `<(…)` or here-document in it."""

    text: str
    plain: str = ""
    words: dict[int, tuple[Word, ...]] = field(default_factory=dict[int, tuple[Word, ...]])
    """By where they begin; several where braces make several of one."""
    sizes: dict[int, int] = field(default_factory=dict[int, int])
    """How many of these belong to each command, by where it begins; the parser must find the same."""
    redirects: dict[int, list[Redirect]] = field(default_factory=dict[int, list[Redirect]])
    """By where the command begins that they belong to; those of loops and blocks at OF_COMPOUND."""
    inner: list[tuple[int, Reading]] = field(default_factory=list[tuple[int, "Reading"]])
    """The scripts in it that the shell runs on the way, and where they begin."""
    scale: int = SCALE
    """How many signs of the plain text stand for one of the text."""


class Notes(Struct):
    """What holds for the whole command, however deep: variables and what they are given, and what is doubtful."""

    values: dict[str, list[Word | None]] = field(default_factory=dict[str, list[Word | None]])
    """What each variable is set to; None for what is not known."""
    counted: set[str] = field(default_factory=set[str])
    """Variables that the shell will evaluate as sums; a value such as `a[$(x)]` would run x."""
    numbers: set[str] = field(default_factory=set[str])
    """Variables that a sum sets."""
    doubts: list[str] = field(default_factory=list[str])
    depth: int = 0
    loops: int = 0
    """How many loops set a variable each time round."""
    from_braces: int = 0
    """How many words lists in braces have made."""

    def give(self, name: str, value: Word | None) -> None:
        """A variable is set."""
        self.values.setdefault(name, []).append(value)

    def known_values(self, name: str) -> list[str] | None:
        """Everything a variable can hold, if the command alone decides that."""
        given = self.values.get(name)
        if not given or name in self.numbers or len(given) > MOST_VALUES:
            return None
        texts = [word.text for word in given if word is not None and word.known and not word.globs]
        return texts if len(texts) == len(given) else None

    def uncountable(self) -> str:
        """Why evaluating a variable as a sum could run something. Out: the reason, or nothing."""
        names = sorted(name for name in self.counted if not self.is_number(name))
        return f"{names[0]} is evaluated as a sum, and what it holds is not known" if names else ""

    def is_number(self, name: str) -> bool:
        """Can a variable hold nothing but a number?"""
        given = self.values.get(name, [])
        if not given:
            return name in self.numbers or name in _ALWAYS_NUMBERS
        return len(given) <= MOST_VALUES and all(
            word is not None and _is_digits(word.text.replace(NUMBER, "0")) for word in given
        )


def _is_digits(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19
