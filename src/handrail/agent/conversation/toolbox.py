"""The tools that the model is offered, by flags, rules, MCP servers and the schema of the host."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from handrail.agent.errors import Refused
from handrail.agent.session import Session
from handrail.agent.slash_commands.skill import Skill
from handrail.agent.tools.base import Tool
from handrail.agent.tools.registry import Tools, default_tools, generation_of
from handrail.agent.variables import is_on

__all__ = ["Toolbox"]

JsonObject = dict[str, Any]
_BARE: Final = ("Bash", "Edit", "Read")
"""The tools of --bare."""
_BACKGROUND: Final = frozenset({"run_in_background"})
"""The field by which the model runs a call in the background."""
MOST_SERVER_TOOLS: Final = 30
"""Tools of MCP servers beyond which their definitions are deferred."""
_SEARCH: Final = "ToolSearch"
_SEARCH_VARIABLE: Final = "ENABLE_TOOL_SEARCH"
_DEFAULT_PERCENT: Final = 10
_SINCE_GENERATION: Final = 4
"""The first generation of models that can load tools."""
_ONLY_WITH_BACKGROUND: Final = frozenset({"Monitor", "SendMessage", "TaskStop"})
"""The tools that need background tasks."""


class Toolbox:
    """The tools of a session.

    `task` hands work to subagents, `skill` loads skills, `from_servers` lists the tools of MCP servers at the moment.
    """

    def __init__(
        self, session: Session, task: Tool[Any], skill: Skill, from_servers: Callable[[], Iterable[Tool[Any]]]
    ) -> None:
        self._session, self._task, self._from_servers = session, task, from_servers
        self.known = Tools(task, skill)
        self._searching = False
        """Whether tools of servers are deferred. It stays so, because the conversation refers to loaded tools."""
        self._search: Tool[Any] | None = None
        self.schema: JsonObject | None = _schema(session.arguments.json_schema)

    def names(self) -> list[str]:
        """The names of the offered tools. Does not load built-in tools."""
        return list(self._chosen())

    def offered(self) -> dict[str, Tool[Any]]:
        """The offered tools by name."""
        tools = {name: self.known[name] if tool is None else tool for name, tool in self._chosen().items()}
        if not self._session.has_background:
            for name in tools.keys() & {"Bash", self._task.name}:
                tools[name].hidden = _BACKGROUND
        if preview_format := self._session.environment.get("CLAUDE_CODE_QUESTION_PREVIEW_FORMAT"):
            from handrail.agent.tools.ask_user_question import AskUserQuestion  # not before it is offered

            if isinstance(asking := tools.get("AskUserQuestion"), AskUserQuestion):
                asking.preview_format = preview_format
        return tools

    def _chosen(self) -> dict[str, Tool[Any] | None]:
        """The offered tools; None stands for a built-in tool."""
        tools: dict[str, Tool[Any] | None] = {name: None for name in self._names() if name in self.known}
        from_servers = {tool.name: tool for tool in self._from_servers()}
        tools |= from_servers
        if self.schema is not None:
            from handrail.agent.tools.structured_output import StructuredOutput

            tools["StructuredOutput"] = StructuredOutput(self.schema)
        denied = self._denied()
        if not self._session.arguments.permission_prompt_tool:
            denied.add("AskUserQuestion")  # no host would answer
        if not self._session.has_background:
            denied |= _ONLY_WITH_BACKGROUND
        if "Bash" in denied or "Bash" not in tools:
            denied.add("Monitor")  # it runs commands too
        offers = self._session.lead.offers
        chosen = {name: tool for name, tool in tools.items() if not _is_named(name, denied) and offers(name)}
        if self._is_searching([tool for name, tool in from_servers.items() if name in chosen], denied):
            chosen[_SEARCH] = self._search_tool()
            for name in from_servers.keys() & chosen.keys():
                from_servers[name].deferred = True
        return chosen

    def _search_tool(self) -> Tool[Any]:
        if self._search is None:
            from handrail.agent.tools.tool_search import ToolSearch  # few sessions need it

            self._search = ToolSearch(self._deferred)
        return self._search

    def _deferred(self) -> dict[str, Tool[Any]]:
        """The tools that can be loaded."""
        return {name: tool for name, tool in self._chosen().items() if tool is not None and tool.deferred}

    def _is_searching(self, from_servers: list[Tool[Any]], denied: set[str]) -> bool:
        """Whether the tools of servers are so many that the model gets only their names and loads what it needs."""
        named = self._session.arguments.tools
        is_offered = named is None or named == ("default",) or _SEARCH in named
        if _SEARCH in denied or not is_offered or generation_of(self._session.model) < _SINCE_GENERATION:
            return False
        self._searching = self._searching or _are_too_many(from_servers, self._session)
        return self._searching

    def _names(self) -> list[str]:
        arguments = self._session.arguments
        if arguments.bare and arguments.tools is None:
            return list(_BARE)
        if arguments.tools is None or arguments.tools == ("default",):
            skills = [] if arguments.disable_slash_commands else [Skill.name]
            return [self._task.name, *default_tools(self._session.model), *skills]
        return [name for name in arguments.tools if name != "default"]

    def _denied(self) -> set[str]:
        """Tools that a rule denies completely are not offered."""
        return {
            rule.rule.tool
            for rule in self._session.circumstances.rules
            if rule.behavior == "deny" and rule.rule.content is None and not rule.broken
        }


def _is_named(name: str, names: set[str]) -> bool:
    """Whether a tool is named, by itself, by its server, or by the beginning of its name and a star."""
    if name in names or not name.startswith("mcp__"):
        return name in names
    stars = tuple(one[:-1] for one in names if one.startswith("mcp__") and one.endswith("*"))
    return name.rpartition("__")[0] in names or name.startswith(stars)


def _are_too_many(tools: list[Tool[Any]], session: Session) -> bool:
    """Whether tools are deferred. The variable says true, false, or `auto:N` for N percent of the context window."""
    if not tools or is_on(session.environment, _SEARCH_VARIABLE):
        return bool(tools)
    word, _, percent = session.environment.get(_SEARCH_VARIABLE, "").partition(":")
    if word != "auto":
        return not word and len(tools) > MOST_SERVER_TOOLS
    from handrail.agent.conversation.context_usage import tool_tokens
    from handrail.agent.known_models import facts_of

    share = int(percent) if percent.isdecimal() and len(percent) < 4 else _DEFAULT_PERCENT
    return sum(map(tool_tokens, tools)) >= facts_of(session.model).context_window * share / 100


def _schema(text: str) -> JsonObject | None:
    if not text:
        return None
    from handrail.agent.tools.schema_check import schema_problem  # few sessions need it

    try:
        schema = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise Refused(f"Error: --json-schema is not valid JSON: {error}") from None
    if problem := schema_problem(schema):
        raise Refused(f"Error: --json-schema is not a valid JSON Schema: {problem}")
    return schema
