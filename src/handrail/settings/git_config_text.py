"""Parses the text of a git configuration as git itself does.

Who reads it otherwise than git can be shown a harmless entry where git sees one that runs: by a comment that seems to
go on in the next line, by two headings on one line, by a mark of byte order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from handrail.settings.json_tree import Lines

__all__ = ["GitEntry", "read_git_config"]


class GitEntry(msgspec.Struct, frozen=True):
    """One entry. `name` as git prints it, such as `core.fsmonitor`."""

    name: str
    value: str
    path: str
    line: int


_BLANK = re.compile(r"(?:\s|[#;][^\n]*)*", re.ASCII)
_HEADING = re.compile(r'\[\s*([A-Za-z0-9.-]*)\s*(?:"((?:[^"\\\n]|\\[^\n])*)")?\s*\]', re.ASCII)
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)")
_REST = re.compile(r"[^\n]*")
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\n": ""}


def read_git_config(text: str, path: str) -> Iterator[GitEntry]:
    """Every entry of a configuration file. Git stops at an invalid line; here the rest is read too."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    lines, section, at = Lines(text), "", 0
    while (at := _end(_BLANK, text, at)) < len(text):
        if heading := _HEADING.match(text, at):
            section, at = heading[1].lower(), heading.end()
            if heading[2] is not None:
                section = f"{section}.{_ESCAPED.sub(lambda sign: sign[1], heading[2])}"
        elif (key := _KEY.match(text, at)) and (key[2] or text[key.end() : key.end() + 1] in ("", "\n")):
            start, at, value = at, key.end(), "true"
            if key[2]:
                value, at = _value(text, at)
            if section:
                yield GitEntry(f"{section}.{key[1].lower()}", value, path, lines.place(start)[0])
        else:
            at = _end(_REST, text, at)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int) -> tuple[str, int]:
    """A value without its quotes, escapes, comment and outer blanks, and where it ends."""
    out: list[str] = []
    quoted, full = False, 0
    while at < len(text) and text[at] != "\n":
        sign, at = text[at], at + 1
        if sign in "#;" and not quoted:
            at = _end(_REST, text, at)
        elif sign == '"':
            quoted = not quoted
        elif sign == "\\":
            escaped, at = text[at : at + 1], at + 1
            out.append(_ESCAPES.get(escaped, escaped))
            full = len(out)
        elif out or quoted or not sign.isspace():
            out.append(sign)
            full = len(out) if quoted or not sign.isspace() else full
    return "".join(out[:full]), at
