"""Reads the one command of a text, for tests of its words."""

from __future__ import annotations

from handrail.permissions.shell.commands import Command, read_script
from handrail.permissions.shell.words import HERE, HOLE, HOME, NUMBER, Word

SHOWN = str.maketrans({HOLE: "□", HOME: "⌂", HERE: "⌖", NUMBER: "№"})


def command_of(text: str) -> Command:
    """The last command of a text that is understood."""
    script = read_script(text)
    assert not script.doubts, script.doubts
    return script.commands[-1]


def words_of(text: str) -> tuple[Word, ...]:
    return command_of(text).words


def shown(text: str) -> str:
    """A text with signs that can be seen instead of those that stand for holes."""
    return text.translate(SHOWN)
