"""Expands a command with its arguments into text and shell lines.

Only the body of the command decides what is a shell line: neither arguments nor the output of a line nor the name of a
folder can add one. In a shell line, arguments are quoted.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from handrail.agent.extensions.command import Command

__all__ = ["Expansion", "ShellLine", "expansion_of"]

_SHELL: Final = re.compile(r"(?<![!\w`])!`([^`\n]+)`|^```![ \t]*\n(.*?)\n```[ \t]*$", re.DOTALL | re.MULTILINE)
_PLACE: Final = r"(?P<escaped>\\)?\$(?:ARGUMENTS\b(?:\[(?P<item>\d{1,2})\])?|(?P<number>\d{1,2})(?!\w))"
"""Places for arguments: all of them, or one, counted from 0. A backslash before one makes it plain text."""
_FOLDER: Final = "${CLAUDE_SKILL_DIR}"
MOST_LINES: Final = 20


class ShellLine(Struct, frozen=True):
    """A command for the shell; its output replaces it, once there is one."""

    command: str
    output: str | None = None

    @property
    def text(self) -> str:
        """The output, or the command as a quotation."""
        return f"`{self.command}`" if self.output is None else self.output


class Expansion(Struct, frozen=True):
    """The prompt of a command, with the rules and the model of its turn."""

    parts: tuple[str | ShellLine, ...]
    grants: tuple[str, ...] = ()
    model: str = ""

    @property
    def text(self) -> str:
        """The text, with the output of shell lines."""
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)

    @property
    def words(self) -> str:
        """The text without shell lines."""
        return "".join(part for part in self.parts if isinstance(part, str))


def expansion_of(command: Command, arguments: str) -> Expansion:
    """Expand a command. A place without an argument stays as it is; arguments without any place are appended.

    An untrusted command is its text: no shell lines, no grants.
    """
    body = command.body or ""
    parts: list[str | ShellLine] = [f"The files of this skill are in {command.folder}.\n\n"] if command.folder else []
    if not command.trusted:
        from handrail.settings.command_text import plain_prompt

        parts.append(_filled(plain_prompt(body), arguments, command.folder, str))
        return Expansion(tuple(_with_rest(parts, body, arguments)), model=command.model)
    end = 0
    for count, found in enumerate(_SHELL.finditer(body)):
        if count == MOST_LINES:
            break
        parts.append(_filled(body[end : found.start()], arguments, command.folder, str))
        parts.append(ShellLine(_filled(found[1] or found[2], arguments, command.folder, shlex.quote).strip()))
        end = found.end()
    parts.append(_filled(body[end:], arguments, command.folder, str))
    return Expansion(tuple(_with_rest(parts, body, arguments)), command.grants, command.model)


def _filled(text: str, arguments: str, folder: str, quote: Callable[[str], str]) -> str:
    """Fill in arguments, and the folder of a skill."""
    words = _split(arguments)

    def value(found: re.Match[str]) -> str:
        if found["escaped"]:
            return found[0][1:]
        if (index := _index(found)) is None:
            return arguments if quote is str else " ".join(map(quote, words))
        return quote(words[index]) if index < len(words) else found[0]

    around = text.split(_FOLDER) if folder else [text]
    return quote(folder).join(re.sub(_PLACE, value, part) for part in around)


def _index(place: re.Match[str]) -> int | None:
    """The number of the argument at a place; None for all arguments."""
    number = place["item"] or place["number"]
    return int(number) if number is not None else None


def _split(arguments: str) -> list[str]:
    """Split as a shell does; at blanks if the quotes are unbalanced."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()


def _with_rest(parts: list[str | ShellLine], body: str, arguments: str) -> list[str | ShellLine]:
    count = len(_split(arguments))
    places = (_index(place) for place in re.finditer(_PLACE, body) if not place["escaped"])
    if not arguments or any(index is None or index < count for index in places):
        return parts
    return [*parts, f"\n\nARGUMENTS: {arguments}"]
