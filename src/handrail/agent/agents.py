"""Kinds of subagents. In: built-in ones, flags, the host, agent files. Out: what each is told and may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from handrail.agent.errors import Refused
from handrail.agent.extensions import Extensions
from handrail.agent.markdown import read_folder
from handrail.agent.session import Session
from handrail.agent.slash_commands.folders import texts_of

__all__ = ["AgentKind", "Agents"]

JsonObject = dict[str, Any]


class AgentKind(Struct, frozen=True):
    """One kind of subagent. No `tools` means all; no `model` that of the session."""

    description: str
    prompt: str
    tools: list[str] | None = None
    disallowed_tools: list[str] = []
    model: str = ""
    max_turns: int | None = None
    background: bool | None = None


_GENERAL: Final = AgentKind(
    "For work of several steps: searching, reading and changing files, running commands.",
    "You are a subagent. Do what you are asked completely, and report in a few words what you found and did.",
)
_EXPLORE: Final = AgentKind(
    "For looking around in a folder without changing anything.",
    "You are a subagent that only reads. Find what is asked for and report it with file names and lines.",
    ["Read", "Glob", "Grep", "Bash"],
)
_PLAN: Final = AgentKind(
    "For designing how something could be built, without building it.",
    "You are a subagent that plans. Read what there is, and report the steps, the files and the risks.",
    ["Read", "Glob", "Grep", "Bash"],
)


class Agents:
    """The kinds that there are, by name."""

    def __init__(self, session: Session, extensions: Extensions) -> None:
        self._session, self._extensions = session, extensions
        self._of_host: dict[str, Any] = {}
        self.kinds: dict[str, AgentKind] = {}
        self.reload()

    def reload(self) -> None:
        """Read the folders again. A project's agents count where it is trusted; of one name, the user's own does."""
        self.kinds = {"general-purpose": _GENERAL, "Explore": _EXPLORE, "Plan": _PLAN}
        for place in reversed(self._extensions.places):
            if place.trusted:
                self._add_folder(place.folder("agents"))
        for plugin in self._extensions.plugins:
            for folder in plugin.paths("agents"):
                self._add_folder(folder, f"{plugin.name}:")
        if self._session.arguments.agents:
            self._add_flag(self._session.arguments.agents)
        self._add(self._of_host)

    def _add_folder(self, folder: str, prefix: str = "") -> None:
        for name, head, body in read_folder(folder) if folder else ():
            self.kinds[f"{prefix}{head.get('name') or name}"] = AgentKind(
                str(head.get("description") or ""),
                body,
                list(texts_of(head["tools"])) if head.get("tools") else None,
                list(texts_of(head.get("disallowedTools"))),
                model=str(head.get("model") or ""),
            )

    def _add_flag(self, text: str) -> None:
        try:
            given = msgspec.json.decode(text, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise Refused(f"Error: Invalid --agents configuration:\n{error}") from None
        for name, fields in given.items():
            if not isinstance(fields, dict):
                raise Refused(f"Error: Invalid --agents configuration:\n{name}: expected an object")
        self._add(given)

    def add(self, given: Mapping[str, Any]) -> None:
        """Kinds of the host; what cannot be read is left out."""
        self._of_host |= given
        self._add(given)

    def _add(self, given: Mapping[str, Any]) -> None:
        for name, fields in given.items():
            try:
                self.kinds[name] = msgspec.convert(
                    {_NAMES.get(key, key): value for key, value in fields.items() if value is not None}, AgentKind
                )
            except (msgspec.ValidationError, AttributeError):
                continue

    def names(self) -> list[str]:
        """For the init line."""
        return list(self.kinds)

    def listed(self) -> list[JsonObject]:
        """For the answer to initialize."""
        return [
            {"name": name, "description": kind.description, **({"model": kind.model} if kind.model else {})}
            for name, kind in self.kinds.items()
        ]


_NAMES: Final = {"disallowedTools": "disallowed_tools", "maxTurns": "max_turns"}
