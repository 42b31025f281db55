"""Reads quotes and expansions within one word.

Every form that is not understood raises Unclear: then the whole command is one that a person must look at.
"""

from __future__ import annotations

import re
from typing import Final

from handrail.permissions.shell.words import HERE, HOLE, HOME, NUMBER

__all__ = ["Draft", "Unclear", "ansi_c", "arithmetic_end", "parameter", "variable_sign"]

_NOT_IN_SUM: Final = re.compile(r"(?!\$[A-Za-z_#?]|(?<=\$)\#)[^\w\s+\-*/%<>=!&|^~?:,]")
_IN_PARAMETER: Final = r"(?:[^'\"`\\{}()$\n]+|\$(?=[A-Za-z_]))*+"
_PARAMETER: Final = re.compile(
    rf"""\$\{{ (?: \# (?P<length>[A-Za-z_]\w*|[@*#?0-9]) \}}
      | (?P<name>[A-Za-z_]\w*|[0-9]+|[@*#?$!-])
        (?P<rest> (?: (?: :?[-+?] | %%? | \#\#? | //? | \^\^? | ,,? )
                      {_IN_PARAMETER} )? ) \}} )""",
    re.VERBOSE,
)
_ANSI_C: Final = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ANSI_C_ESCAPE: Final = re.compile(
    r"\\(?:x(?P<hex>[0-9A-Fa-f]{1,2})|u(?P<short>[0-9A-Fa-f]{1,4})|U(?P<long>[0-9A-Fa-f]{1,8})"
    r"|(?P<octal>[0-7]{1,3})|(?P<letter>[abeEfnrtv\\'\"?])|(?P<other>.))",
    re.DOTALL,
)
_LETTERS: Final = dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True))
_SIGNS: Final = {"HOME": HOME, "PWD": HERE, "#": NUMBER, "?": NUMBER, "$": NUMBER}


class Unclear(Exception):
    """What is written cannot be read with certainty; the text says why."""


class Draft:
    """A word in the making."""

    __slots__ = ("braces", "globs", "names", "pieces", "quoted", "splits")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.names: list[str] = []
        self.quoted = self.globs = self.splits = self.braces = False

    def hole(self, name: str = "", *, quoted: bool, sign: str = HOLE) -> None:
        """Leave a place open for a value that only the shell knows."""
        self.pieces.append(sign)
        if sign == HOLE:
            self.names.append(name)
            self.splits = self.splits or not quoted


def variable_sign(name: str) -> str:
    """What stands for a variable's value."""
    return _SIGNS.get(name, HOLE)


def ansi_c(text: str, at: int) -> tuple[str, int]:
    """Read `$'…'` at this place; returns its value and its end."""
    found = _ANSI_C.match(text, at)
    if found is None:
        raise Unclear("a quote is not closed")
    return _ANSI_C_ESCAPE.sub(_unescaped, found[1]), found.end()


def _unescaped(found: re.Match[str]) -> str:
    digits = found["hex"] or found["short"] or found["long"] or ""
    code = int(digits, 16) if digits else int(found["octal"] or "-1", 8)
    if code >= 0:
        raw = not (found["short"] or found["long"])
        if (code < 32 and code not in (9, 10)) or (code > 127 and raw) or code > 0xD7FF:
            raise Unclear("a quoted escape makes an invalid character")
        return chr(code)
    if found["other"]:
        raise Unclear("a quoted escape is not known")
    return _LETTERS.get(found["letter"], found["letter"])


def parameter(text: str, at: int) -> tuple[str, int]:
    """Read `${…}`; returns the variable's name, `#` for a length or nothing for a changed value, and its end."""
    found = _PARAMETER.match(text, at)
    if found is None:
        raise Unclear("an expansion in ${ } does more than name a variable")
    return ("#" if found["length"] else "" if found["rest"] else found["name"]), found.end()


def arithmetic_end(text: str, at: int) -> int:
    """Where the arithmetic ends that begins here, after its `((`; it must be plain sums of names and numbers."""
    depth = 0
    for found in _NOT_IN_SUM.finditer(text, at):
        if depth == 0 and text.startswith("))", found.start()):
            return found.start()
        depth = depth + 1 if found[0] == "(" else depth - 1 if found[0] == ")" else -1
        if depth < 0:
            break
    raise Unclear("an arithmetic expression is more than a plain sum")
