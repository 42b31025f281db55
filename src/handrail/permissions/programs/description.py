"""Describes the arguments of a program, and reads a command by its description.

A description names every option that is known to be safe, in full, and the kind of each value and operand. Anything
else makes the command undescribed: an option that is missing, an abbreviation, an operand too many, a value that looks
like an option, or a word whose text is only known to the running shell and could therefore turn out to be an option.

Descriptions are texts with one item per word:

    -n            an option, which may be part of a cluster such as `-rn`
    --all         a long option, never abbreviated
    -C:number     an option with a value, in the same word or the next one
    -i[:text]     an option whose value can only be in the same word
    -P_:text      an option whose value can only be in the next word
    --arg:text:text   an option with two values, in the next two words
    -#            a number as an option, as in `head -5`
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from handrail.permissions.shell.words import HOLE, NUMBER, Word

__all__ = ["PATH_KINDS", "Parsed", "Program", "Undescribed", "parse", "program", "values_of"]

SQL_FUNCTIONS: Final = tuple(
    "abs avg coalesce count date datetime group_concat ifnull instr iif json_extract julianday length lower ltrim max"
    " min nullif printf round rtrim strftime substr substring sum time total trim typeof upper"
    " and as by case exists from in not on or over partition select then union using values when where".split()
)
"""Functions that only compute, and the keywords that can precede a bracket."""
PS_COLUMNS: Final = tuple(
    "args bsdstart bsdtime c class cls cmd comm command cp cputime cputimes drs egid egroup etime etimes euid euser"
    " exe f flags gid group lstart lwp majflt maj_flt minflt min_flt ni nice nlwp pcpu pgid pgrp pid pmem policy"
    " ppid pri psr pss rgid rgroup rss rssize rsz rtprio ruid ruser s sess session sgi_p sid size spid stackp start"
    " start_time stat state stime sz thcount tid time times tname tpgid trs tt tty ucmd ucomm uid uname user uss"
    " vsize vsz wchan %cpu %mem".split()
)
"""Columns of ps. Others show the environment of processes."""
_COLUMN: Final = rf"(?:{'|'.join(PS_COLUMNS)})(?::\d+)?(?:=[^,]*)?"
CHECKED_KINDS: Final[dict[str, re.Pattern[str]]] = {
    "number": re.compile(rf"[-+]?[\d{HOLE}{NUMBER}][\w.,:%{HOLE}{NUMBER}]*"),
    "charset": re.compile(r"[\w.:+-]+(?://[\w/]*)?"),
    "process-columns": re.compile(rf"(?:{_COLUMN})(?:[,\s]+(?:{_COLUMN}))*"),
    "git-format": re.compile(rf"(?!.*(?:%[-+ ]?G|signature))[^{HOLE}]*", re.DOTALL),
    "git-sort": re.compile(rf"(?!.*signature)[^{HOLE}]*", re.DOTALL),
    "archive": re.compile(rf"[^:{HOLE}]*|[^:{HOLE}]*/[^{HOLE}]*", re.DOTALL),
    "plain-text": re.compile(rf"[^@{HOLE}].*", re.DOTALL),
    "date-format": re.compile(r"\+.*", re.DOTALL),
    "awk-setting": re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL),
    "variable": re.compile(r"[A-Za-z_]\w*"),
    "setting": re.compile(r"[A-Za-z_]\w*(?:=.*)?", re.DOTALL),
    "shell-option": re.compile(r"pipefail|errexit|nounset|xtrace|\+[eux]+"),
    "reflog": re.compile(r"(?!(?:expire|delete|drop)\Z).+", re.DOTALL),
    "process-ids": re.compile(rf"[\d, {HOLE}{NUMBER}]+"),
    "process-list": re.compile(r"[aAxufFlHjwT]+|\d+"),
    "count": re.compile(rf"\d+|{NUMBER}"),
    "duration": re.compile(rf"(?:\d+\.?\d*|\.\d+|{NUMBER})[smhd]?"),
    "make-goal": re.compile(
        r"[\w.%/+-]+"
        r"|[A-Za-z]\w*=(?:\d[\w.-]*|true|false|yes|no|on|off|[Dd]ebug|[Rr]elease|development|production|test|all|)"
    ),
    "cmake-setting": re.compile(
        r"(?!.*(?:LAUNCH|COMPILER|LINKER|PROGRAM|TOOLCHAIN|EXECUTABLE|COMMAND|_INCLUDE|MODULE_PATH|PREFIX_PATH))[\w:]+=[^;$]*",
        re.DOTALL,
    ),
    "sql-query": re.compile(
        r"\s*\.(?:databases|indexes|schema|tables)(?:\s+\w+)?\s*"
        r"|\s*(?:select|explain|with)\b(?!.*(?:--|/\*|[\"`\]]\s*\())"
        rf"(?!.*\b(?!(?:{'|'.join(SQL_FUNCTIONS)})\b)\w+\s*\()[^;{HOLE}]*;?\s*",
        re.DOTALL | re.IGNORECASE,
    ),
    "plain-path": re.compile(rf"[^@+{HOLE}].*", re.DOTALL),
    "jq-filter": re.compile(
        rf"(?!.*(?:\benv\b|\$ENV|\$__|\binclude\b|\bimport\b|modulemeta|input_filename|search_list))[^{HOLE}]*",
        re.DOTALL,
    ),
}
"""Kinds of values whose text must match; every other kind can be any text, because the program only compares or prints
it. `pattern` and `pattern-file` replace the operand that is a pattern. A `charset` with a single slash is a file, and
git's formats and sort keys can start gpg. An `archive` with a colon is on another machine."""
DASHED_KINDS: Final = ("pattern", "git-sort", "sort-key", "mode", "anything")
"""Kinds of values that often begin with a dash. Any other value that does is refused: in another version of the program
the option may take no value, and the word would then be an option."""
_LOOKS_LIKE_OPTION: Final = re.compile(r"-[^\d.]", re.DOTALL)
PATH_KINDS: Final = ("path", "plain-path", "pattern-file")
"""Kinds of words that name a file to read. A `plain-path` cannot be `@file`, which holds arguments, or `+command`."""


class Program(Struct, frozen=True, dict=True):
    """The described arguments of a program or subcommand."""

    options: str = ""
    operands: str = ""
    """Kinds, in order; one with a star repeats. Words after the last kind are undescribed."""
    tree: str = ""
    """Options that read every file below the folders; `always` if no option is needed."""
    follows: bool = False
    """It reads the files in the folders that are its operands, also through links."""
    patternless: str = ""
    """Options with which no operand is a pattern."""
    clusters: bool = True
    """One-letter options can be joined. If not, `-name` is one option."""
    leading: bool = False
    """Options must precede the operands; a later word with a dash is an operand."""
    needs: int = 0
    """With fewer operands the program takes commands from its input, or prints the environment."""
    bare: bool = True
    """It can be run without arguments; otherwise it would then print the environment."""
    prints: bool = False
    """It only prints its arguments."""

    @cached_property
    def kinds(self) -> dict[str, tuple[str, ...]]:
        """The kinds of the values of every option."""
        items = (item.replace("[:", ":").replace("_:", ":").rstrip("]").split(":") for item in self.options.split())
        return {name: tuple(values) for name, *values in items}

    @cached_property
    def attached(self) -> frozenset[str]:
        """Options whose value can only be in the same word."""
        return frozenset(item.partition("[")[0] for item in self.options.split() if "[" in item)

    @cached_property
    def separate(self) -> frozenset[str]:
        """Options whose value can only be in the next word."""
        return frozenset(item.partition("_:")[0] for item in self.options.split() if "_:" in item)

    @cached_property
    def recursive(self) -> frozenset[str]:
        """The options that read whole trees."""
        return frozenset(self.tree.split())


def program(options: str = "", operands: str = "", **more: str | bool | int) -> Program:
    """Describe a program; the keywords are the other fields of `Program`."""
    return Program(options, operands, **more)  # pyright: ignore[reportArgumentType]


class Parsed(Struct, frozen=True):
    """A command that is described: its words by kind."""

    arguments: tuple[tuple[str, Word], ...] = ()
    options: frozenset[str] = frozenset()
    tree: bool = False
    follows: bool = False

    def of_kind(self, *kinds: str) -> list[Word]:
        """The words of these kinds, in order."""
        return [word for kind, word in self.arguments if kind in kinds]


class Undescribed(Struct, frozen=True):
    """The place of the first word that the description does not cover."""

    index: int


class _Reader:
    def __init__(self, words: tuple[Word, ...], described: Program) -> None:
        self.words, self.described = words, described
        self.at = 1
        self.arguments: list[tuple[str, Word]] = []
        self.operands: list[Word] = []
        self.places: list[int] = []
        self.options: set[str] = set()

    def read(self) -> Parsed | Undescribed:
        reading_options = True
        while self.at < len(self.words):
            word = self.words[self.at]
            if reading_options and word.fixed and word.text == "--":
                reading_options = False
            elif reading_options and is_dashed(word):
                if not self._option(word):
                    return Undescribed(min(self.at, len(self.words) - 1))
            elif reading_options and word.may_be_option:
                return Undescribed(self.at)
            else:
                self.operands.append(word)
                self.places.append(self.at)
                reading_options = reading_options and not self.described.leading
            self.at += 1
        return self._with_operands()

    def _option(self, word: Word) -> bool:
        """Read the option at this place with its values; False if it is not described."""
        if word.text.startswith("--") or not self.described.clusters:
            name, equals, value = word.text.partition("=")
            if not self.described.clusters and name not in self.described.kinds:
                return False
            return self._take(name, replace(word, text=value, values=None) if equals else None)
        if "-#" in self.described.kinds and word.text[1:].isdigit():
            return True
        return self._cluster(word)

    def _cluster(self, word: Word) -> bool:
        for index, letter in enumerate(word.text[1:], 1):
            kinds = self.described.kinds.get(f"-{letter}")
            if kinds is None:
                return False
            if kinds:
                rest = word.text[index + 1 :]
                if rest and f"-{letter}" in self.described.separate:
                    return False
                return self._take(f"-{letter}", replace(word, text=rest, values=None) if rest else None)
            self.options.add(f"-{letter}")
        return True

    def _take(self, name: str, attached: Word | None) -> bool:
        kinds = self.described.kinds.get(name)
        if kinds is None or (attached is not None and len(kinds) != 1):
            return False
        self.options.add(name)
        if not kinds or (attached is None and name in self.described.attached):
            return True
        values = [attached] if attached is not None else self.words[self.at + 1 : self.at + 1 + len(kinds)]
        if attached is None:
            self.at += len(kinds)
            if any(_is_dashed_value(kind, value) for kind, value in zip(kinds, values, strict=False)):
                return False
        return len(values) == len(kinds) and all(
            self._argument(kind, value) for kind, value in zip(kinds, values, strict=True)
        )

    def _argument(self, kind: str, word: Word, *, repeats: bool = False) -> bool:
        """Note a value; False if it does not fit its kind, or may become several words where one is expected."""
        checked = CHECKED_KINDS.get(kind)
        if word.globs and not repeats and (word.values is None or len(word.values) > 1):
            return False
        if checked is not None and (word.globs or not checked.fullmatch(word.text)):
            return False
        if word.values is None and (word.splits or (word.globs and kind not in (*PATH_KINDS, "anything"))):
            return kind == "anything"
        self.arguments.append((kind, word))
        if word.globs and kind not in PATH_KINDS:
            self.arguments.append(("path", word))  # the shell reads the folder
        return True

    def _with_operands(self) -> Parsed | Undescribed:
        kinds = self.described.operands.split()
        given = any(kind in ("pattern", "pattern-file") for kind, _ in self.arguments)
        if given or self.options.intersection(self.described.patternless.split()):
            kinds = [kind for kind in kinds if kind != "pattern"]
        for index, word in enumerate(self.operands):
            kind = kinds[min(index, len(kinds) - 1)] if kinds else ""
            repeats = kind.endswith("*")
            if (index >= len(kinds) and not repeats) or not self._argument(kind.rstrip("*"), word, repeats=repeats):
                return Undescribed(self.places[index])
        if len(self.operands) < self.described.needs or (len(self.words) == 1 and not self.described.bare):
            return Undescribed(len(self.words))
        tree = "always" in self.described.recursive or bool(self.options & self.described.recursive)
        return Parsed(tuple(self.arguments), frozenset(self.options), tree, self.described.follows)


def _is_dashed_value(kind: str, word: Word) -> bool:
    texts = word.values if word.values is not None else (word.text,)
    return kind not in DASHED_KINDS and any(_LOOKS_LIKE_OPTION.match(text) for text in texts)


def is_dashed(word: Word) -> bool:
    """Whether a word is certainly an option."""
    return word.text.startswith("-") and len(word.text) > 1 and word.text[1] != HOLE


def parse(words: tuple[Word, ...], described: Program) -> Parsed | Undescribed:
    """Read a command, whose first word is the program or subcommand, by its description."""
    if described.prints:
        return Parsed(tuple(("path", word) for word in words if word.globs))
    return _Reader(words, described).read()


def values_of(words: tuple[Word, ...]) -> list[Word]:
    """Every word that could name a file in a command that is not described: the operands and the values of options."""
    found = list[Word]()
    for word in words[1:]:
        if not word.text.startswith("-"):
            found.append(word)
        elif "=" in word.text:
            found.append(replace(word, text=word.text.partition("=")[2], values=None))
        elif word.text[1:2] != "-" and len(word.text) > 2:
            found.append(replace(word, text=word.text[2:], values=None))
    return found
