"""The modes, models and commands that an ACP agent offers for a session.

Agents offer modes in `modes`, models in `models` (older ones) and both as configuration options; all
three are read. Invalid parts of its messages are left out.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec
from msgspec import Struct, field

from handrail.schema.acp import messages as acp
from handrail.schema.handshake import Model, SlashCommand

__all__ = ["Choices"]

JsonObject = dict[str, Any]


class _Choice(Struct):
    """Values to choose from by their ids, and the request that chooses one."""

    current: str = ""
    names: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Name and description by id."""
    method: str = ""
    key: str = ""
    """The field of the request that has the id."""
    config_id: str = ""

    def request(self, session_id: str, value: str) -> JsonObject:
        """The parameters that choose a value."""
        config = {"configId": self.config_id} if self.config_id else {}
        return {"sessionId": session_id, **config, self.key: value}


class Choices:
    """What can be chosen in a session, and what is chosen."""

    def __init__(self) -> None:
        self.modes, self.models = _Choice(), _Choice()
        self.commands: list[SlashCommand] = []

    def take(self, found: Any) -> None:
        """Take the answer to a request that opens a session."""
        given = cast("JsonObject", found) if isinstance(found, dict) else {}
        self.take_config(given.get("configOptions"))
        if modes := _listed(given.get("modes"), "availableModes", "id"):
            current = _text(cast("JsonObject", given["modes"]).get("currentModeId"))
            self.modes = _Choice(current, modes, "session/set_mode", "modeId")
        if not self.models.names and (models := _listed(given.get("models"), "availableModels", "modelId")):
            current = _text(cast("JsonObject", given["models"]).get("currentModelId"))
            self.models = _Choice(current, models, "session/set_model", "modelId")

    def take_config(self, options: Any) -> None:
        """Take a list of configuration options."""
        for item in cast("list[Any]", options) if isinstance(options, list) else []:
            option = cast("JsonObject", item) if isinstance(item, dict) else {}
            category = option.get("category") or option.get("id")
            names = _values(option.get("options"))
            if category in ("model", "mode") and names and isinstance(option.get("id"), str):
                current = _text(option.get("currentValue"))
                choice = _Choice(current, names, "session/set_config_option", "value", option["id"])
                if category == "model":
                    self.models = choice
                elif self.modes.method != "session/set_mode":
                    self.modes = choice

    def take_commands(self, update: acp.AvailableCommandsUpdate) -> None:
        """Take the commands at the moment."""
        self.commands = [
            SlashCommand(
                name=command.name.removeprefix("/"), description=command.description, argument_hint=_hint(command.input)
            )
            for command in update.available_commands
        ]

    def listed_models(self) -> list[Model]:
        """The models as hosts list them."""
        return [
            Model(value=id, resolved_model=id, display_name=name, description=about)
            for id, (name, about) in self.models.names.items()
        ]


def _listed(state: Any, key: str, id: str) -> dict[str, tuple[str, str]]:
    items: Any = cast("JsonObject", state).get(key) if isinstance(state, dict) else None
    return _named(items, id)


def _values(options: Any) -> dict[str, tuple[str, str]]:
    """The values of an option, with those of its groups."""
    found = _named(options, "value")
    for item in cast("list[Any]", options) if isinstance(options, list) else []:
        if isinstance(item, dict):
            found |= _named(cast("JsonObject", item).get("options"), "value")
    return found


def _named(items: Any, id: str) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for item in cast("list[Any]", items) if isinstance(items, list) else []:
        fields = cast("JsonObject", item) if isinstance(item, dict) else {}
        if isinstance(value := fields.get(id), str):
            found[value] = (_text(fields.get("name")) or value, _text(fields.get("description")))
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _hint(given: Any) -> str:
    try:
        return msgspec.convert(given, acp.UnstructuredCommandInput).hint
    except msgspec.ValidationError:
        return ""
