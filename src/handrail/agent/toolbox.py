"""Which tools there are. In: flags, rules, servers. Out: the tools that the model is offered now, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from handrail.agent.errors import Refused
from handrail.agent.subagents import Task
from handrail.agent.tools.base import Tool
from handrail.agent.tools.registry import Tools, default_tools
from handrail.agent.tools.skill import Skill

if TYPE_CHECKING:
    from handrail.agent.engine import Engine

__all__ = ["Toolbox"]

JsonObject = dict[str, Any]


class Toolbox:
    """The tools of a session. `known` are ours; those of servers come and go."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.known = Tools(Task(engine), Skill(engine.commands))
        self.schema: JsonObject | None = _schema(engine.arguments.json_schema)

    def names(self) -> list[str]:
        """The names of what the model may ask for; none of our own tools is loaded for that."""
        return list(self._chosen())

    def offered(self) -> dict[str, Tool[Any]]:
        """What the model may ask for."""
        return {name: self.known[name] if tool is None else tool for name, tool in self._chosen().items()}

    def _chosen(self) -> dict[str, Tool[Any] | None]:
        """What is offered: None stands for a tool of our own."""
        arguments = self._engine.arguments
        tools: dict[str, Tool[Any] | None] = {name: None for name in self._names() if name in self.known}
        tools |= {tool.name: tool for tool in self._engine.hub.tools()}
        if self.schema is not None:
            from handrail.agent.tools.structured_output import StructuredOutput

            tools["StructuredOutput"] = StructuredOutput(self.schema)
        denied = self._denied()
        if not arguments.permission_prompt_tool:
            denied.add("AskUserQuestion")  # nobody would answer
        return {name: tool for name, tool in tools.items() if not _is_named(name, denied)}

    def _names(self) -> list[str]:
        wanted = self._engine.arguments.tools
        if wanted is None or wanted == ("default",):
            skills = [] if self._engine.arguments.disable_slash_commands else [Skill.name]
            return [Task.name, *default_tools(self._engine.session.model), *skills]
        return [name for name in wanted if name != "default"]

    def _denied(self) -> set[str]:
        """Tools that a rule denies as a whole are not even offered."""
        rules = self._engine.session.circumstances.rules
        return {
            rule.rule.tool
            for rule in rules
            if rule.behavior == "deny" and rule.rule.content is None and not rule.broken
        }


def _is_named(name: str, names: set[str]) -> bool:
    """A server's name means all of its tools."""
    return name in names or (name.startswith("mcp__") and name.rpartition("__")[0] in names)


def _schema(text: str) -> JsonObject | None:
    if not text:
        return None
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise Refused(f"Error: --json-schema is not a JSON object: {error}") from None
