"""Finds options that execute programs or overwrite files, by tables."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from handrail.permissions.shell.words import Word, is_option

__all__ = ["Finding", "Hazards", "find_hazard", "hazards"]


class Hazards(Struct, frozen=True):
    """Options that execute or overwrite: letters, long names (abbreviated too), and plain words."""

    letters: str = ""
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    valued: str = ""
    """Letters of options with a value, which may be in the same word and is not made of letters then."""
    single_dash: bool = False
    """Long names come with one dash, as in `go test -exec`."""


class Finding(Struct, frozen=True):
    """An argument, by its place among the words, and what is the matter with it."""

    index: int
    why: str


def hazards(letters: str, names: str, words: str = "", *, valued: str = "", single_dash: bool = False) -> Hazards:
    """A row of a table, from words with blanks between them."""
    return Hazards(letters, tuple(names.split()), tuple(words.split()), valued, single_dash)


def find_hazard(table: Hazards, words: tuple[Word, ...]) -> Finding | None:
    """The first argument that the table warns of.

    If the next word is its value, that one is returned, so that a rule which spells out both covers it.
    """
    options = bool(table.letters or table.names)
    plain: list[str] = []
    for index, word in enumerate(words[1:], 1):
        if word.text == "--" and not _may_take(words[index - 1]):
            options = False
        added = bool(word.names) and set(word.names) == {"{}"}
        if word.may_be_option and not added and (options or (table.words and len(plain) < 2)):
            return Finding(index, f"what {word.source} stands for could be an option that executes or overwrites")
        if not is_option(word):
            plain.append(word.text)
        if word.text in table.words and (not word.text[:1].isalpha() or _is_subcommand(plain)):
            return Finding(index, f"{word.text} executes or overwrites")
        if options and (why := _warning(table, word.text)):
            takes_next = "=" not in word.text and index + 1 < len(words)
            return Finding(index + 1 if takes_next else index, why)
    return None


def _is_subcommand(plain: list[str]) -> bool:
    """Whether the last of these words is a subcommand, rather than the name of a script to run."""
    return len(plain) == 1 or (len(plain) < 4 and plain[0] not in _SCRIPT_RUNNERS)


_SCRIPT_RUNNERS: Final = frozenset({"run", "run-script", "test", "t", "start", "build", "why", "add", "install", "i"})


_FLAGS: Final = frozenset(
    """
    -- -a -h -l -p -q -v -z --all --cached --color --check --follow
    --full-history --ignore-all-space --merge --merged --name-only --name-status --no-color --no-merges --no-patch
    --no-renames --numeric-sort --numstat --oneline --patch --porcelain --quiet --reverse --shortstat --short --staged
    --stat --summary --unique --verbose --word-diff
    """.split()
)
"""Options that take the next word in no program."""


def _may_take(before: Word) -> bool:
    """Could an option take the `--` behind it for its value, so that options go on?"""
    text = before.text
    return is_option(before) and "=" not in text and text not in _FLAGS and not text[1:].isdigit()


def _warning(table: Hazards, text: str) -> str:
    if not text.startswith("-"):
        return ""
    if text.startswith("--") or table.single_dash:
        name = text.lstrip("-").partition("=")[0]
        exactly = name.partition(":")[0] in table.names
        known = exactly or (not table.single_dash and bool(name) and any(item.startswith(name) for item in table.names))
        return f"{text.partition('=')[0]} executes or overwrites" if known else ""
    letters = re.split(f"[{table.valued}]", text)[0] if table.valued else text
    letter = next((letter for letter in letters if letter in table.letters), "")
    return f"-{letter} executes or overwrites" if letter else ""
