"""Scripts in the arguments of sed: whether they can run a command or write a file.

Only addresses, printing, deleting, substituting and moving between buffers are understood. Everything else is a
hazard.
"""

from __future__ import annotations

import re
from typing import Final

from handrail.permissions.programs.options import Finding
from handrail.permissions.shell.words import HOLE, Word, is_option

__all__ = ["sed_hazard", "sed_scripts", "sed_writes"]

LONGEST_PROGRAM: Final = 4096
_SED_FLAGS: Final = re.compile(
    r"-[nrEszub]+|--(?:quiet|silent|regexp-extended|null-data|separate|unbuffered|posix|debug|sandbox|follow-symlinks)"
    r"|(?:-[nrEszub]*i|--in-place(?:=|\Z))[^/*]*|-[nrEszub]*e|--expression(?:=.*)?|-l\d*|--line-length(?:=\d+)?",
    re.DOTALL,
)
"""Options that are understood. A suffix with a slash or a star would put the old file somewhere else."""
_SED_SCRIPT: Final = re.compile(r"-[nrEszub]*e|--expression")
_SED_NUMBER: Final = ("-l", "--line-length")
_IN_PLACE: Final = re.compile(r"-[nrEszub]*[iI]|--i")
# Seds disagree on whether a delimiter in brackets ends the expression, so none may be there.
_NAMED_CLASS: Final = r"\[:\w+:\]"
_ADDRESS: Final = rf"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n\[]|\\.|\[\^?\]?(?:{_NAMED_CLASS}|[^/\]\[\n])*\])*/[IM]*)"
_RANGE: Final = rf"(?:{_ADDRESS}(?:\s*,\s*(?:{_ADDRESS}|[+~]\d+))?\s*!?\s*)?"
_UP_TO_SIGN: Final = r"(?:(?!(?P=sign))[^\\\n]|\\[^\n])*(?P=sign)"
_EXPRESSION: Final = (
    r"(?:(?!(?P=sign))[^\\\n\[]|\\[^\n]"
    rf"|\[\^?\]?(?:{_NAMED_CLASS}|(?!(?P=sign))[^\]\[\n])*\])*(?P=sign)"
)
_SUBSTITUTE: Final = rf"s(?P<sign>[/|,#:@%!_]){_EXPRESSION}{_UP_TO_SIGN}[gpiImM0-9]*"
_TRANSLATE: Final = r"y/(?:[^/\\\n]|\\[^\n])*/(?:[^/\\\n]|\\[^\n])*/"
_COMMAND: Final = re.compile(rf"\s*{_RANGE}(?:[pdPDhHgGxnNlz=qQ]\s*\d*|{_SUBSTITUTE}|{_TRANSLATE})\s*(?:;|\n|\Z)")
_BLOCK: Final = re.compile(rf"\s*{_RANGE}\{{([^{{}}]*)\}}\s*(?:;|\n|\Z)")


def sed_scripts(words: tuple[Word, ...]) -> tuple[list[int], list[int]]:
    """Separate the scripts of a sed command from its files. An empty word may be the value of `-i`."""
    scripts: list[int] = []
    others: list[int] = []
    at, options = 1, True
    while at < len(words):
        text = words[at].text
        if options and text == "--":
            options = False
        elif options and (text in _SED_NUMBER or _SED_SCRIPT.fullmatch(text)):
            scripts += [at + 1] if text not in _SED_NUMBER and at + 1 < len(words) else []
            at += 1
        elif options and text.startswith("--expression="):
            scripts.append(at)
        elif not (options and text.startswith("-") and len(text) > 1):
            others += [at] if text else []
        at += 1
    return (scripts, others) if scripts else (others[:1], others[1:])


def sed_writes(words: tuple[Word, ...]) -> bool:
    """Does it change the files in place?"""
    return any(_IN_PLACE.match(word.text) for word in words[1:])


def sed_hazard(words: tuple[Word, ...]) -> Finding | None:
    """A script of sed that may run a command, read or write a file, or that is not understood."""
    scripts, _ = sed_scripts(words)
    for at in scripts:
        text = words[at].text.removeprefix("--expression=")
        if HOLE in text or words[at].globs or len(text) > LONGEST_PROGRAM or not _is_plain_sed(text):
            return Finding(at, "sed's script may run a command or write a file")
    if not scripts:
        return Finding(len(words) - 1, "the script of sed cannot be read")
    marked = set(scripts)
    for at, word in enumerate(words[1:], 1):
        if word.text == "--":
            break
        # Some seds have no value there, and would take the next word for the script.
        if word.text in _SED_NUMBER and not "".join(each.text for each in words[at + 1 : at + 2]).isdecimal():
            return Finding(min(at + 1, len(words) - 1), "sed's script is not read here")
        if at not in marked and (word.may_be_option or (is_option(word) and not _SED_FLAGS.fullmatch(word.text))):
            takes_next = len(word.text) == 2 and at + 1 < len(words)
            return Finding(at + takes_next, "sed's script is not read here")
    return None


def _is_plain_sed(script: str) -> bool:
    at = 0
    while at < len(script):
        block = _BLOCK.match(script, at)
        found = block or _COMMAND.match(script, at)
        if found is None or found.end() == at or (block and not _is_plain_sed(block[1])):
            return not script[at:].strip(" ;\n\t")
        at = found.end()
    return True
