"""The text of a command, filled in. In: its body and the words after its name. Out: text, and shell lines to be run.

What is text and what is a shell line is settled by the body alone: neither arguments nor the output of a line can add a
line. In a shell line, arguments are quoted.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from handrail.agent.slash_commands.command import Command

__all__ = ["Expansion", "ShellLine", "expansion_of"]

_SHELL: Final = re.compile(r"(?<![!\w`])!`([^`\n]+)`|^```![ \t]*\n(.*?)\n```[ \t]*$", re.DOTALL | re.MULTILINE)
_PLACE: Final = re.compile(r"\$(?:ARGUMENTS\b(?:\[(\d{1,2})\])?|(\d{1,2})(?!\d))")
MOST_LINES: Final = 20


class ShellLine(Struct, frozen=True):
    """A command for the shell, whose output stands in its place."""

    command: str


class Expansion(Struct, frozen=True):
    """A command that has become a prompt, with what it may do while its turn lasts."""

    parts: tuple[str | ShellLine, ...]
    grants: tuple[str, ...] = ()
    model: str = ""

    @property
    def text(self) -> str:
        """Without what shell lines print."""
        return "".join(part if isinstance(part, str) else f"`{part.command}`" for part in self.parts)

    @property
    def words(self) -> str:
        """Only what somebody wrote."""
        return "".join(part for part in self.parts if isinstance(part, str))


def expansion_of(command: Command, arguments: str) -> Expansion:
    """Fill in the body of a command. Where it has no place for the arguments, they follow it."""
    body = command.body or ""
    if not command.trusted:
        from handrail.settings.command_text import plain_prompt

        return Expansion(tuple(_with_rest([_filled(plain_prompt(body), arguments, str)], body, arguments)))
    parts: list[str | ShellLine] = []
    end = 0
    for count, found in enumerate(_SHELL.finditer(body)):
        if count == MOST_LINES:
            break
        parts.append(_filled(body[end : found.start()], arguments, str))
        parts.append(ShellLine(_filled(found[1] or found[2], arguments, shlex.quote).strip()))
        end = found.end()
    parts.append(_filled(body[end:], arguments, str))
    return Expansion(tuple(_with_rest(parts, body, arguments)), command.grants, command.model)


def _filled(text: str, arguments: str, quote: Callable[[str], str]) -> str:
    words = _split(arguments)

    def value(found: re.Match[str]) -> str:
        if found[1] is None and found[2] is None:
            return arguments if quote is str else " ".join(map(quote, words))
        index = int(found[1]) if found[1] is not None else int(found[2]) - 1
        return quote(words[index]) if 0 <= index < len(words) else ""

    return _PLACE.sub(value, text)


def _split(arguments: str) -> list[str]:
    """Words as a shell would part them; where quotes do not close, by blanks."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()


def _with_rest(parts: list[str | ShellLine], body: str, arguments: str) -> list[str | ShellLine]:
    return parts if not arguments or _PLACE.search(body) else [*parts, f"\n\n{arguments}"]
