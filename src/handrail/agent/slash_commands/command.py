"""What a slash command is. Data only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from handrail.agent.engine import Engine

__all__ = ["Command", "Local", "described"]

JsonObject = dict[str, Any]


class Local(Struct, frozen=True):
    """How a command is answered without the model: by a text, or by lines of its own (`speaks`).

    `outcome`: what hosts are told became of it, where it is not simply done."""

    answer: Callable[[Engine, str], Awaitable[str]]
    speaks: bool = False
    outcome: str = ""


class Command(Struct, frozen=True):
    """One command: `local`, or a prompt for the model (`body`), or a prompt that a server keeps (neither).

    trusted   its `!` lines run, and its head counts
    grants    rules that allow, for the turn it begins
    folder    of a skill: where its files lie
    hidden    it is understood, but not listed
    """

    name: str
    description: str = ""
    hint: str = ""
    local: Local | None = None
    body: str | None = None
    builtin: bool = False
    hidden: bool = False
    trusted: bool = False
    grants: tuple[str, ...] = ()
    model: str = ""
    folder: str = ""
    source: str = ""
    for_model: bool = True
    """Of a skill: the model may load it by itself."""
    for_user: bool = True

    @property
    def is_skill(self) -> bool:
        """Does it come from a SKILL.md?"""
        return bool(self.folder)


def described(command: Command) -> JsonObject:
    """As hosts are told of it."""
    told: JsonObject = {
        "name": command.name,
        "description": command.description,
        "argumentHint": command.hint,
    }
    return {**told, "builtin": True} if command.builtin or command.local else told
