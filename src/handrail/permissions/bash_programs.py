"""Small programs in the arguments of sed and awk. In: the words of such a command. Out: whether they could do harm.

Only a part of either language is understood: addresses, printing, deleting and substituting for sed; for awk all
that neither runs a command nor opens a file. Anything else is found to be a hazard.
"""

from __future__ import annotations

import re
from typing import Final

from handrail.permissions.bash_options import Finding, find_hazard, hazards
from handrail.permissions.bash_words import HOLE, Word

__all__ = ["awk_hazard", "awk_programs", "sed_hazard", "sed_scripts", "sed_writes"]

_SED_OPTIONS: Final = hazards("f", "file")
_SED_WITH_VALUE: Final = ("-e", "--expression", "-l", "--line-length")
_IN_PLACE: Final = re.compile(r"-[nrEszub]*i|--i")
_ADDRESS: Final = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/[IM]*)"
_RANGE: Final = rf"(?:{_ADDRESS}(?:\s*,\s*(?:{_ADDRESS}|[+~]\d+))?\s*!?\s*)?"
_UP_TO_SIGN: Final = r"(?:(?!(?P=sign))[^\\\n]|\\[^\n])*(?P=sign)"
_SUBSTITUTE: Final = rf"s(?P<sign>[/|,#:@%!_]){_UP_TO_SIGN}{_UP_TO_SIGN}[gpiImM0-9]*"
_TRANSLATE: Final = r"y/(?:[^/\\\n]|\\[^\n])*/(?:[^/\\\n]|\\[^\n])*/"
_COMMAND: Final = re.compile(rf"\s*{_RANGE}(?:[pdPDhHgGxnNlz=qQ]\s*\d*|{_SUBSTITUTE}|{_TRANSLATE})\s*(?:;|\n|\Z)")
_BLOCK: Final = re.compile(rf"\s*{_RANGE}\{{([^{{}}]*)\}}\s*(?:;|\n|\Z)")

_AWK_OPTIONS: Final = hazards("fEilDopz", "file exec include load debug profile pretty-print source dump-variables")
_AWK_WITH_VALUE: Final = ("-F", "-v", "--field-separator", "--assign")
_AWK_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_AWK_REGEX: Final = re.compile(r"(?:(?<=[(,{;!~&|=}])|^)(\s*)/(?:[^/\\\n]|\\.)+/")
_AWK_RISKY: Final = re.compile(r"\b(?:system|getline|close|fflush|ARGV|ARGC|ENVIRON|PROCINFO|load|include)\b|@")
_AWK_PRINT_TO: Final = re.compile(r"\bprintf?\b[^{};]*>")


def sed_scripts(words: tuple[Word, ...]) -> tuple[list[int], list[int]]:
    """Which words of a sed command are its scripts, and which are files."""
    scripts: list[int] = []
    others: list[int] = []
    at, options = 1, True
    while at < len(words):
        text = words[at].text
        if options and text == "--":
            options = False
        elif options and text in _SED_WITH_VALUE:
            scripts += [at + 1] if text in _SED_WITH_VALUE[:2] and at + 1 < len(words) else []
            at += 1
        elif options and text.startswith("--expression="):
            scripts.append(at)
        elif not (options and text.startswith("-") and len(text) > 1):
            others.append(at)
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
        if HOLE in text or words[at].globs or not _is_plain_sed(text):
            return Finding(at, "sed's script may run a command or write a file")
    if not scripts:
        return Finding(len(words) - 1, "sed has no script that can be read")
    clusters = [word for word in words[1:] if re.fullmatch(r"-[nrEszubi]*e.+", word.text)]
    if clusters:
        return Finding(words.index(clusters[0]), "sed's script is not read here")
    return find_hazard(_SED_OPTIONS, tuple(word for at, word in enumerate(words) if at not in scripts))


def _is_plain_sed(script: str) -> bool:
    at = 0
    while at < len(script):
        block = _BLOCK.match(script, at)
        found = block or _COMMAND.match(script, at)
        if found is None or found.end() == at or (block and not _is_plain_sed(block[1])):
            return not script[at:].strip(" ;\n\t")
        at = found.end()
    return True


def awk_programs(words: tuple[Word, ...]) -> tuple[int, list[int]]:
    """Which word of an awk command is its program (0 for none), and which are files."""
    at = 1
    while at < len(words):
        text = words[at].text
        if text in _AWK_WITH_VALUE:
            at += 2
        elif text == "--":
            at += 1
            break
        elif text.startswith("-") and len(text) > 1:
            at += 1
        else:
            break
    return (at, list(range(at + 1, len(words)))) if at < len(words) else (0, [])


def awk_hazard(words: tuple[Word, ...]) -> Finding | None:
    """A program of awk that may run a command or open a file, or that is not understood."""
    at, _ = awk_programs(words)
    if at == 0:
        return Finding(len(words) - 1, "awk has no program that can be read")
    if found := find_hazard(_AWK_OPTIONS, words[:at]):
        return found
    program = words[at]
    if HOLE in program.text or program.globs or not _is_plain_awk(program.text):
        return Finding(at, "awk's program may run a command or open a file")
    return None


def _is_plain_awk(program: str) -> bool:
    """Nothing that runs or opens. A slash may begin a pattern, and a quote in one would shift all that follows."""
    strings = "".join(_AWK_STRING.findall(program))
    bare = _AWK_REGEX.sub(r"\1 ", _AWK_STRING.sub(" ", program)).replace("||", " ")
    if '"' in bare or "'" in bare or "|" in bare or _AWK_RISKY.search(program) or _AWK_PRINT_TO.search(bare):
        return False
    return "/" not in _AWK_STRING.sub(" ", program) or not re.search(r"[|>;{}/]", strings)
