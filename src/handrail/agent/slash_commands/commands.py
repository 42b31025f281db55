"""Prompts that begin with a slash: answered here, or expanded into another prompt.

An unknown command is sent to the model as plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec.structs import replace

from handrail.agent.errors import McpError
from handrail.agent.history import text_block
from handrail.agent.queue import Prompt
from handrail.agent.slash_commands import conversation, figures, prompts, standing
from handrail.agent.slash_commands.answers import say_answer
from handrail.agent.slash_commands.command import Command, described
from handrail.agent.slash_commands.expansion import Expansion, ShellLine, expansion_of
from handrail.agent.slash_commands.folders import commands_in, skills_in
from handrail.agent.sources import Source
from handrail.permissions.rules import read_rules

if TYPE_CHECKING:
    from handrail.agent.engine import Engine

__all__ = ["Commands"]

JsonObject = dict[str, Any]
LONGEST_PROMPT: Final = 200_000
"""Characters that the prompt of a server may have."""
_CALL: Final = re.compile(r"/([\w][\w:.-]*)(?:\s+(.*))?", re.DOTALL)
_LOCAL: Final = (*conversation.COMMANDS, *figures.COMMANDS, *standing.COMMANDS)


class Commands:
    """The commands of a session, and the model and rules that the running command set for its turn."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.known: dict[str, Command] = {}
        self.begun = monotonic()
        self.turn_model = ""
        """The model of the running command."""
        self.reload()

    def reload(self) -> None:
        """Read the folders again. The first command with a name keeps it, and untrusted folders come last."""
        self.known = {}
        if not self._engine.arguments.disable_slash_commands:
            for command in self._all():
                self.known.setdefault(command.name, command)

    def _all(self) -> Iterator[Command]:
        extensions = self._engine.extensions
        yield from _LOCAL
        yield from _in_places(place for place in extensions.places if place.trusted)
        yield from prompts.COMMANDS
        yield from _in_places(place for place in extensions.places if not place.trusted)
        for plugin in extensions.plugins:
            yield from plugin.commands()

    # Telling

    def skills(self) -> list[Command]:
        """The skills, limited to those that the host named, if it named any."""
        wanted = self._engine.initialized.get("skills")
        names = cast("list[Any]", wanted) if isinstance(wanted, list) else None
        return [one for one in self.known.values() if one.is_skill and (names is None or one.name in names)]

    def names(self) -> list[str]:
        """For the init line."""
        return [command.name for command in self._listed()]

    def skill_names(self) -> list[str]:
        """For the init line."""
        return [skill.name for skill in self.skills()]

    def listed(self) -> list[JsonObject]:
        """For the answer to initialize."""
        return [described(command) for command in self._listed()]

    def push(self) -> None:
        """Report the list after prompts of an MCP server were added, changed or removed."""
        engine = self._engine
        if not engine.closing and not engine.arguments.disable_slash_commands:
            engine.later(engine.speaker.system("commands_changed", commands=self.listed()))

    def _listed(self) -> list[Command]:
        left_out = {one.name for one in self.known.values() if one.is_skill} - {one.name for one in self.skills()}
        shown = [one for one in self.known.values() if not one.hidden and one.for_user and one.name not in left_out]
        return [*shown, *self._of_servers()]

    def _of_servers(self) -> list[Command]:
        """The prompts of MCP servers."""
        if self._engine.arguments.disable_slash_commands or not self._engine.has_servers:
            return []
        return [
            Command(one["name"], one["description"], _usage(one), source="mcp") for one in self._engine.hub.prompts()
        ]

    # Running

    async def run(self, prompt: Prompt) -> bool:
        """Run a prompt that is a command. Returns whether the prompt is done or replaced."""
        found = _CALL.fullmatch(prompt.text.strip())
        if found is None or not prompt.is_command or not prompt.asks or prompt.origin is not None:
            return False
        name, arguments = found[1], (found[2] or "").strip()
        command = await self._find(name)
        if command is None or not command.for_user:
            return False
        if command.local is not None:
            await self._answer(prompt, command, arguments)
        elif command.body is not None:
            self._become(prompt, expansion_of(command, arguments))
        else:
            await self._ask_server(prompt, command, arguments)
        return True

    async def _find(self, name: str) -> Command | None:
        if name.startswith("mcp__"):
            await self._engine.ready()
            return next((one for one in self._of_servers() if one.name == name), None)
        return self.known.get(name)

    async def _answer(self, prompt: Prompt, command: Command, arguments: str) -> None:
        engine, local = self._engine, command.local
        assert local is not None
        if prompt.uuid:
            await engine.tell_lifecycle(prompt.uuid, "started")
        if command.name == "mcp":
            await engine.ready()
        text = await local.answer(engine, arguments)
        if not local.speaks:
            await say_answer(engine, command.name, text, arguments=arguments, outcome=local.outcome)
        if prompt.uuid:
            await engine.tell_lifecycle(prompt.uuid, "completed")

    async def _ask_server(self, prompt: Prompt, command: Command, arguments: str) -> None:
        """Run a prompt of an MCP server. Mentions in it are not expanded: the server wrote them, not the user."""
        hub, words = self._engine.hub, arguments.split()
        (entry,) = (one for one in hub.prompts() if one["name"] == command.name)
        missing = [name for name in entry["arguments"][len(words) :] if name in entry["required"]]
        try:
            if missing:
                usage = f"/{command.name} {command.hint}"
                raise McpError(f"Missing required argument: {', '.join(missing)}. Usage: {usage}")
            messages = await hub.prompt(command.name, words)
            if not (blocks := _blocks(messages, command.name)):
                raise McpError(f"{command.name} returned no messages")
        except McpError as error:
            await self._say_failure(prompt, command, str(error))
            return
        self._engine.queue.put_first(replace(prompt, content=blocks, expansion=Expansion(())))

    async def _say_failure(self, prompt: Prompt, command: Command, reason: str) -> None:
        if prompt.uuid:
            await self._engine.tell_lifecycle(prompt.uuid, "started")
        await say_answer(self._engine, command.name, f"Error: {reason}")  # in the result too, as CLI 2.1.325 does
        if prompt.uuid:
            await self._engine.tell_lifecycle(prompt.uuid, "completed")

    def _become(self, prompt: Prompt, expansion: Expansion) -> None:
        """Queue the expansion of a command in place of its prompt; images of the prompt stay."""
        content: str | list[JsonObject] = expansion.text
        if not isinstance(prompt.content, str):
            content = [text_block(expansion.text), *(item for item in prompt.content if item.get("type") != "text")]
        self._engine.queue.put_first(replace(prompt, content=content, expansion=expansion))

    # While its turn lasts

    def begin_turn(self, given: Iterable[Prompt]) -> None:
        """Apply the model and the rules of the command that starts this turn."""
        session = self._engine.session
        for expansion in (prompt.expansion for prompt in given if prompt.expansion):
            self.turn_model = expansion.model
            if session.settings.values.get("allowManagedPermissionRulesOnly") is not True:
                rules = (*session.circumstances.rules, *read_rules(expansion.grants, "allow", "command"))
                session.circumstances = replace(session.circumstances, rules=rules)

    def end_turn(self) -> None:
        """Revoke the model and the rules of the command."""
        self.turn_model = ""
        session = self._engine.session
        if any(rule.scope == "command" for rule in session.circumstances.rules):
            rules = tuple(rule for rule in session.circumstances.rules if rule.scope != "command")
            session.circumstances = replace(session.circumstances, rules=rules)

    async def completed(self, prompt: Prompt) -> Prompt:
        """The prompt with the output of its shell lines, which run like Bash calls: with rules, hooks and questions."""
        expansion = prompt.expansion
        if expansion is None or not any(isinstance(part, ShellLine) for part in expansion.parts):
            return prompt
        texts = [part if isinstance(part, str) else await self._printed(part) for part in expansion.parts]
        rest = [] if isinstance(prompt.content, str) else prompt.content[1:]
        return replace(prompt, content=[text_block("".join(texts)), *rest] if rest else "".join(texts))

    async def _printed(self, line: ShellLine) -> str:
        from handrail.agent.calls import run_quietly

        outcome = await run_quietly(self._engine.thread, "Bash", {"command": line.command})
        content = outcome.content
        text = content if isinstance(content, str) else "\n".join(str(block.get("text") or "") for block in content)
        return f"(`{line.command}` failed: {text})" if outcome.is_error else text


def _in_places(places: Iterable[Source]) -> Iterator[Command]:
    for place in places:
        yield from commands_in(place)
        yield from skills_in(place)


def _usage(entry: JsonObject) -> str:
    """The arguments of a server's prompt, optional ones in brackets."""
    return " ".join(name if name in entry["required"] else f"[{name}]" for name in entry["arguments"])


def _blocks(messages: list[JsonObject], name: str) -> list[JsonObject]:
    """The content of a server's prompt as blocks of the Messages API, within the limits that tool results have."""
    from handrail.agent.mcp.content import shown

    server = name.removeprefix("mcp__").partition("__")[0]
    content = [message.get("content") for message in messages]
    return shown({"content": content}, server=server, limit=LONGEST_PROMPT, keep=lambda suffix, data: "").content
