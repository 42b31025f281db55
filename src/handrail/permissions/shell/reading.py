"""A command as the shell's own reader takes it apart. Data only: what `bash_prefilter` finds, and what it notes.

`plain` is the same text with every word, quote, comment, here-document and redirection replaced by letters and blanks,
so that nothing is left in it that a parser could read in another way than the shell. A word at some place
of the text begins at twice that place here, so that a blank separates any two things: where brackets touch the next
word, the parser looks for patterns and becomes slow.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from msgspec import Struct, field

from handrail.permissions.shell.quotes import Unclear
from handrail.permissions.shell.words import NUMBER, Word

__all__ = ["OF_COMPOUND", "SCALE", "Notes", "Reading", "Redirect"]

OF_COMPOUND: Final = -1
SCALE: Final = 2
MOST_VALUES: Final = 100
MOST_WORDS: Final = 4000
MOST_COMMANDS: Final = 300
"""A person does not read more than this either; with these limits a command of any length is judged within a second."""
_ALWAYS_NUMBERS: Final = frozenset({"RANDOM", "SRANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "UID", "EUID", "PPID"})


class Redirect(Struct, frozen=True, gc=False):
    """`>file` and its kin: the sign, without a number before it, and the file or the here-document's limiter."""

    operator: str
    target: Word


class Reading(Struct):
    """One script: the command itself, or the content of one `$(…)`, `` `…` ``, `<(…)` or here-document in it."""

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
    """Notes about the whole command at any depth: variables with their values, and doubts."""

    values: dict[str, list[Word | None]] = field(default_factory=dict[str, list[Word | None]])
    """The values that each variable is set to; None for an unknown one."""
    used: Counter[str] = field(default_factory=Counter[str])
    """How often the shell puts in the value of each variable, at any place."""
    counted: set[str] = field(default_factory=set[str])
    """Variables that the shell will evaluate as sums; a value such as `a[$(x)]` would run x."""
    numbers: set[str] = field(default_factory=set[str])
    """Variables that a sum sets."""
    doubts: list[str] = field(default_factory=list[str])
    functions: set[str] = field(default_factory=set[str])
    """Functions that are defined."""
    depth: int = 0
    loops: int = 0
    """How many loops set a variable each time round."""
    detached: bool = False
    """Whether something runs in the background or in `<(…)`, and the shell does not wait for it."""
    from_braces: int = 0
    """How many words lists in braces have made."""
    words: int = 0
    commands: int = 0

    def give(self, name: str, value: Word | None) -> None:
        """Note what a variable is set to."""
        self.count_word()
        self.values.setdefault(name, []).append(value)

    def count_word(self, *, new_command: bool = False) -> None:
        """Count a word, and the command that it begins; a script with too many of them is not read to its end."""
        self.words += 1
        self.commands += new_command
        if self.words > MOST_WORDS or self.commands > MOST_COMMANDS:
            raise Unclear("it has too many words")

    def known_values(self, name: str) -> list[str] | None:
        """Everything a variable can hold, if the command alone decides that."""
        given = self.values.get(name)
        if not given or name in self.numbers or len(given) > MOST_VALUES:
            return None
        texts = [word.text for word in given if word is not None and word.known and not word.globs]
        return texts if len(texts) == len(given) else None

    def uncountable(self) -> str:
        """Why evaluating a variable as a sum could run something; empty if it cannot."""
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
