"""The slash commands of a session: those of the agent, of folders, of plugins, and the prompts of MCP servers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, cast

from msgspec import Struct

from handrail.agent.extensions.command import Command, commands_in, described, skills_in
from handrail.agent.extensions.extensions import Extensions
from handrail.agent.extensions.sources import Source
from handrail.agent.slash_commands import local, prompts

__all__ = ["Call", "Commands", "read_call"]

JsonObject = dict[str, Any]
_CALL: Final = re.compile(r"/([\w][\w:.-]*)(?:\s+(.*))?", re.DOTALL)


class Call(Struct, frozen=True):
    """A slash command as the user typed it."""

    name: str
    arguments: str


def read_call(text: str) -> Call | None:
    """The command that a prompt calls; None if it calls none."""
    found = _CALL.fullmatch(text.strip())
    return Call(found[1], (found[2] or "").strip()) if found else None


class Commands:
    """The commands by name.

    `wanted_skills` returns the skills that the host named, if it named any; `server_prompts` lists the prompts of MCP
    servers.
    """

    def __init__(
        self,
        extensions: Extensions,
        *,
        enabled: bool,
        wanted_skills: Callable[[], Any],
        server_prompts: Callable[[], list[JsonObject]],
    ) -> None:
        self._extensions, self.enabled = extensions, enabled
        self._wanted_skills, self._server_prompts = wanted_skills, server_prompts
        self.known: dict[str, Command] = {}
        # Every turn lists them, so these are chosen once.
        self._skills: list[Command] = []
        self._for_user: list[Command] = []
        self.reload()

    def reload(self) -> None:
        """Read the folders again. The first command with a name keeps it, and untrusted folders come last."""
        self.known = {}
        if self.enabled:
            for command in self._all():
                self.known.setdefault(command.name, command)
        self._skills = [one for one in self.known.values() if one.is_skill]
        self._for_user = [one for one in self.known.values() if not one.hidden and one.for_user]

    def _all(self) -> Iterator[Command]:
        places = self._extensions.places
        yield from _in_places(place for place in places if place.trusted)  # they replace commands of the agent
        yield from local.COMMANDS
        yield from prompts.COMMANDS
        yield from local.TERMINAL_COMMANDS
        yield from _in_places(place for place in places if not place.trusted)
        for plugin in self._extensions.plugins:
            yield from plugin.commands()

    def skills(self) -> list[Command]:
        """The skills, limited to those that the host named, if it named any."""
        return self._wanted(self._skills)

    def for_model(self) -> list[Command]:
        """The skills, and the commands of files, that the model may load by itself."""
        files = [one for one in self.known.values() if one.body is not None and not one.builtin and one.for_model]
        return self._wanted(files)

    def _wanted(self, commands: list[Command]) -> list[Command]:
        wanted = self._wanted_skills()
        if not isinstance(wanted, list):
            return commands
        names = cast("list[Any]", wanted)
        return [one for one in commands if one.name in names]

    def names(self) -> list[str]:
        """For the init line."""
        return [command.name for command in self._listed()]

    def skill_names(self) -> list[str]:
        """For the init line, which as in the CLI leaves out skills without a description."""
        return [skill.name for skill in self.skills() if skill.has_description]

    def listed(self) -> list[JsonObject]:
        """For the answer to initialize."""
        return [described(command) for command in self._listed()]

    def find(self, name: str) -> Command | None:
        """The command of this name."""
        if name.startswith("mcp__"):
            return next((one for one in self._of_servers() if one.name == name), None)
        return self.known.get(name)

    def server_prompt(self, name: str) -> JsonObject:
        """The entry of a server's prompt."""
        return next(one for one in self._server_prompts() if one["name"] == name)

    def _listed(self) -> list[Command]:
        left_out = {one.name for one in self._skills} - {one.name for one in self.skills()}
        return [*(one for one in self._for_user if one.name not in left_out), *self._of_servers()]

    def _of_servers(self) -> list[Command]:
        """The prompts of MCP servers."""
        if not self.enabled:
            return []
        return [Command(one["name"], one["description"], _usage(one), source="mcp") for one in self._server_prompts()]


def _in_places(places: Iterable[Source]) -> Iterator[Command]:
    for place in places:
        yield from commands_in(place)
        yield from skills_in(place)


def _usage(entry: JsonObject) -> str:
    """The arguments of a server's prompt, optional ones in brackets."""
    return " ".join(name if name in entry["required"] else f"[{name}]" for name in entry["arguments"])
