"""Programs in the arguments of awk: whether they can run a command or open a file.

The program is split into tokens as awk does it, with the one hard question decided by the part before: whether a slash
divides or begins a pattern. A program is safe if no part pipes, redirects, or calls a function that does.
"""

from __future__ import annotations

import re
from typing import Final

from handrail.permissions.programs.description import Parsed, Undescribed, parse, program
from handrail.permissions.programs.options import Finding
from handrail.permissions.shell.words import Word

__all__ = ["AWKS", "awk_hazard", "describe_awk"]

AWKS: Final = ("awk", "gawk", "mawk", "nawk")
LONGEST_PROGRAM: Final = 4096
_AWK: Final = program(
    "-F:text -v:awk-setting --field-separator:text --assign:awk-setting --re-interval --posix --traditional --csv",
    "awk-program path*",
    leading=True,
)
_SETTING: Final = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_TOKEN: Final = re.compile(
    r"""
      (?P<space>[ \t\r]+|\\\n|\#[^\n]*)
    | (?P<string>"(?:[^"\\\n]|\\.)*")
    | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<step>\+\+|--)
    | (?P<sign>&&|\|\||[-+*/%^!<>=]=|\*\*=?|>>|[-+*%^!<>=~?:,;{}()\[\]$\n])
    """,
    re.VERBOSE,
)
_PATTERN: Final = re.compile(r"/(?:[^/\\\[\n]|\\[^\n]|\[\^?\]?[^]\\/\n]*\])+/")
"""Without slashes in brackets: awks disagree on whether they end the pattern."""
_FORBIDDEN: Final = frozenset(
    "system getline close fflush ENVIRON PROCINFO ARGV ARGC ARGIND SYMTAB FUNCTAB load include namespace".split()
)
_KEYWORDS: Final = frozenset("print printf return in do else case BEGIN END BEGINFILE ENDFILE".split())
_CONDITIONS: Final = frozenset({"if", "while", "for", "switch"})

_ENDS_STATEMENT: Final = frozenset({"operand", "pattern", ")", "]", "step", "keyword"})
"""A newline after anything else, such as a comma, continues the statement."""


def describe_awk(words: tuple[Word, ...]) -> Parsed | Undescribed:
    """Read an awk command. Operands that assign a variable are left out."""
    found = parse(words, _AWK)
    if isinstance(found, Undescribed):
        return found
    programs = found.of_kind("awk-program")
    # Without a program awk only complains; a rule for it still does not cover a program on the input.
    if not programs or not programs[0].fixed or not is_safe(programs[0].text):
        return Undescribed(_place(words, programs))
    files = [word for word in found.of_kind("path") if not (word.fixed and _SETTING.fullmatch(word.text))]
    return Parsed(tuple(("path", word) for word in files))


def _place(words: tuple[Word, ...], programs: list[Word]) -> int:
    return words.index(programs[0]) if programs else len(words) - 1


def awk_hazard(words: tuple[Word, ...]) -> Finding | None:
    """The program of awk, if it may run a command or open a file, or an option that is not described."""
    found = describe_awk(words)
    if isinstance(found, Undescribed):
        return Finding(found.index, "awk's program may run a command or open a file")
    return None


def is_safe(text: str) -> bool:
    """Whether a program neither runs commands nor opens files."""
    if len(text) > LONGEST_PROGRAM:
        return False
    # `prints` is the number of open brackets around the current print statement, -1 outside of one: only inside of
    # further brackets is `>` a comparison.
    at, before, prints, conditions = 0, "", -1, list[bool]()
    while at < len(text):
        if text[at] == "/" and _may_begin_pattern(before):
            found, before = _PATTERN.match(text, at), "pattern"
            if found is None:
                return False
            at = found.end()
            continue
        if text[at] == "/":
            # After a step some awks read a pattern, so that the rest would be split in another way.
            if before == "step":
                return False
            at, before = at + 1, "/"
            continue
        found = _TOKEN.match(text, at)
        if found is None:
            return False
        part, at = found[0], found.end()
        if found.lastgroup == "space":
            continue
        if part in _FORBIDDEN or (found.lastgroup == "name" and text[at : at + 2] == "::"):
            return False
        if part == "(":
            conditions.append(before == "condition")
        if part in ("print", "printf"):
            prints = len(conditions)
        elif part in (";", "{", "}") or (part == "\n" and before in _ENDS_STATEMENT):
            prints = -1
        elif part == ">>" or (part == ">" and prints >= len(conditions)):
            return False
        before = _class_of(found, part)
        if part == ")":
            if not conditions:
                return False
            # A statement follows the condition of an `if`, and may begin with a pattern.
            before = ";" if conditions.pop() else ")"
    return True


def _class_of(found: re.Match[str], part: str) -> str:
    if part in _CONDITIONS:
        return "condition"
    if found.lastgroup == "name":
        return "keyword" if part in _KEYWORDS else "operand"
    return "operand" if found.lastgroup in ("string", "number") else "step" if found.lastgroup == "step" else part


def _may_begin_pattern(before: str) -> bool:
    """Whether a slash after this part begins a pattern, rather than divides."""
    return before not in ("operand", "pattern", ")", "]", "$", "step")
