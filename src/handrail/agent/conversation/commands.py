"""Runs slash commands: answers them in a local turn, or replaces their prompt by what they expand to.

An unknown command is sent to the model as plain text.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from time import monotonic
from typing import Any, Final

from msgspec.structs import replace

from handrail.agent.base import Prompt
from handrail.agent.blocks import reminder, text_block
from handrail.agent.conversation.queue import ExpandedPrompt, PromptQueue, expanded, is_command
from handrail.agent.conversation.turn_lines import TurnLines
from handrail.agent.errors import McpError
from handrail.agent.extensions.command import Command
from handrail.agent.record.usage import Ledger
from handrail.agent.session import Session
from handrail.agent.slash_commands.commands import Commands, read_call
from handrail.agent.slash_commands.expansion import Expansion, ShellLine, expansion_of
from handrail.agent.slash_commands.local import LOCAL, Actions
from handrail.agent.speaker import Speaker, synthetic_message
from handrail.agent.tools.base import Outcome, ToolFailed

__all__ = ["CommandRunner", "LocalTurn"]

JsonObject = dict[str, Any]
Ready = Callable[[], Awaitable[None]]
MOST_NAMED: Final = 20
"""Commands that the model is named when a prompt calls an unknown one."""
LONGEST_PROMPT: Final = 200_000
"""The most characters of a server's prompt."""
_RUN_AS: Final = {"cost": "usage"}


class LocalTurn:
    """The lines of a turn that is answered without the model. `ready` waits for the MCP servers."""

    def __init__(self, lines: TurnLines, speaker: Speaker, ledger: Ledger, ready: Ready) -> None:
        self._lines, self._speaker, self._ledger, self.ready = lines, speaker, ledger, ready

    async def say(self, name: str, text: str, *, arguments: str = "", outcome: str = "") -> None:
        """A whole turn with this text as its answer. Without a text there is only a result."""
        start = monotonic()
        self._ledger.begin_turn()
        await self.ready()
        await self._lines.say_init()
        failed, unavailable = outcome == "failed", outcome == "unavailable_headless"
        tag = "local-command-stderr" if failed else "local-command-stdout"
        fields: JsonObject = {"local_command_source": f"<{tag}>{text}</{tag}>"}
        if not unavailable:
            fields["local_command_run"] = {"command": _RUN_AS.get(name, name), "args": arguments}
        if outcome:
            fields["local_command_outcome"] = {"kind": outcome}
        if text:
            await self._speaker.assistant(synthetic_message(text), **fields)
        await self.say_result("" if unavailable else name, "" if failed else text, start)

    async def say_result(self, name: str, text: str, start: float) -> None:
        """The result of a turn that started at `start`."""
        line: JsonObject = {
            "subtype": "success",
            "is_error": False,
            "duration_ms": round((monotonic() - start) * 1000),
            "num_turns": 0,
            "stop_reason": None,
            "permission_denials": [],
            "result": text,
        }
        await self._lines.say_result({**line, "local_command": name} if name else line)


class CommandRunner:
    """Runs the commands that prompts call.

    `fetch` gets a prompt from an MCP server by its name and arguments. `add_note` adds to the conversation.
    `run_line` runs a shell line.
    """

    def __init__(
        self,
        session: Session,
        commands: Commands,
        queue: PromptQueue,
        lines: TurnLines,
        local: LocalTurn,
        actions: Actions,
        *,
        ready: Ready,
        fetch: Callable[[str, list[str]], Awaitable[list[JsonObject]]],
        add_note: Callable[[str], None],
        run_line: Callable[[str], Awaitable[Outcome]],
    ) -> None:
        self._session, self._commands, self._queue, self._lines = session, commands, queue, lines
        self._local, self._actions, self._ready, self._fetch = local, actions, ready, fetch
        self._add_note, self._run_line = add_note, run_line

    async def run(self, prompt: Prompt) -> bool:
        """Run a prompt that is a command. Returns whether the prompt is done or replaced."""
        call = read_call(prompt.text)
        if call is None or not is_command(prompt) or not prompt.asks or prompt.origin is not None:
            return False
        if call.name.startswith("mcp__"):
            await self._ready()
        command = self._commands.find(call.name)
        if command is None:
            self._note_unknown(call.name)
            return False
        if not command.for_user:
            only = f'Only the model can load the skill "{command.name}". Ask it to do so.'
            await self._say_failure(prompt, command, only)
        elif command.local:
            await self._answer(prompt, command, call.arguments)
        elif command.body is not None:
            await self._expand(prompt, command, call.arguments)
        else:
            await self._ask_server(prompt, command, call.arguments)
        return True

    async def _answer(self, prompt: Prompt, command: Command, arguments: str) -> None:
        local = LOCAL[command.name]
        if prompt.uuid:
            await self._lines.tell_lifecycle(prompt.uuid, "started")
        if command.name == "mcp":
            await self._ready()
        text = await local.answer(self._actions, arguments)
        if not local.speaks:
            await self._local.say(command.name, text, arguments=arguments, outcome=local.outcome)
            self._note_output(command.name, text, arguments)
        if prompt.uuid:
            await self._lines.tell_lifecycle(prompt.uuid, "completed")

    def _note_unknown(self, name: str) -> None:
        """Let the model know that nothing ran: it would take the prompt for the output of a command, or pretend."""
        if names := ", ".join(f"/{known}" for known in self._commands.names()[:MOST_NAMED]):
            about = (
                f"The next message begins with /{name[:80]}, which is not a command of this session, so no command ran."
                f" Answer it as an ordinary message; if it needs the command, say that it is missing. Commands: {names}"
            )
            self._add_note(reminder(about))

    def _note_output(self, name: str, text: str, arguments: str) -> None:
        """Let the model know what the user has seen: the next prompt may be about it."""
        if text:
            call = f"/{name} {arguments}".strip()
            about = f"The user ran {call}, which the program that runs you answers itself. They saw:\n{text}"
            self._add_note(reminder(about))

    async def _ask_server(self, prompt: Prompt, command: Command, arguments: str) -> None:
        """Run a prompt of an MCP server. Mentions in it are not expanded: the server wrote them, not the user."""
        words, entry = arguments.split(), self._commands.server_prompt(command.name)
        missing = [name for name in entry["arguments"][len(words) :] if name in entry["required"]]
        try:
            if missing:
                usage = f"/{command.name} {command.hint}"
                raise McpError(f"Missing required argument: {', '.join(missing)}. Usage: {usage}")
            if not (blocks := _blocks(await self._fetch(command.name, words), command.name)):
                raise McpError(f"{command.name} returned no messages")
        except McpError as error:
            await self._say_failure(prompt, command, f"Error: {error}")  # in the result too, as CLI 2.1.325 does
            return
        self._queue.put_first(expanded(prompt, blocks, Expansion(()), _call_fields(prompt, command, arguments)))

    async def _say_failure(self, prompt: Prompt, command: Command, reason: str) -> None:
        if prompt.uuid:
            await self._lines.tell_lifecycle(prompt.uuid, "started")
        await self._local.say(command.name, reason)
        if prompt.uuid:
            await self._lines.tell_lifecycle(prompt.uuid, "completed")

    async def _expand(self, prompt: Prompt, command: Command, arguments: str) -> None:
        """Queue the expansion of a command in place of its prompt; images of the prompt stay.

        A shell line that fails, or that would need permission, ends the command.
        """
        call, expansion = _call_fields(prompt, command, arguments), expansion_of(command, arguments)
        self.begin_turn([expanded(prompt, "", expansion, call)])
        try:
            parts = [part if isinstance(part, str) else await self._with_output(part) for part in expansion.parts]
        except ToolFailed as error:
            await self._say_failure(prompt, command, str(error))
            return
        finally:
            self.end_turn()
        expansion = replace(expansion, parts=tuple(parts))
        content: str | list[JsonObject] = expansion.text
        if not isinstance(prompt.content, str):
            content = [text_block(expansion.text), *(item for item in prompt.content if item.get("type") != "text")]
        self._queue.put_first(expanded(prompt, content, expansion, call, command if command.forks else None))

    async def _with_output(self, line: ShellLine) -> ShellLine:
        outcome = await self._run_line(line.command)
        content = outcome.content
        text = content if isinstance(content, str) else "\n".join(str(block.get("text") or "") for block in content)
        if outcome.is_error:
            raise ToolFailed(f"Shell command failed for `{line.command}`: {text}")
        return replace(line, output=text)

    # While the turn of a command runs

    def begin_turn(self, prompts: Iterable[Prompt]) -> None:
        """Apply the model and the rules of the command that starts this turn."""
        session = self._session
        for prompt in prompts:
            if isinstance(prompt, ExpandedPrompt):
                session.turn_model = prompt.expansion.model
                rules = (*session.circumstances.rules, *session.command_rules(prompt.expansion.grants))
                session.circumstances = replace(session.circumstances, rules=rules)

    def end_turn(self) -> None:
        """Revoke the model and the rules of the command."""
        session = self._session
        session.turn_model = ""
        if any(rule.scope == "command" for rule in session.circumstances.rules):
            rules = tuple(rule for rule in session.circumstances.rules if rule.scope != "command")
            session.circumstances = replace(session.circumstances, rules=rules)


def _call_fields(prompt: Prompt, command: Command, arguments: str) -> JsonObject:
    """The input of UserPromptExpansion hooks."""
    sources = {"user": "userSettings", "project": "projectSettings"}
    return {
        "expansion_type": "slash_command" if command.body is not None else "mcp_prompt",
        "command_name": command.name,
        "command_args": arguments,
        "command_source": sources.get(command.source, command.source),
        "prompt": prompt.text,
    }


def _blocks(messages: list[JsonObject], name: str) -> list[JsonObject]:
    """The content of a server's prompt as blocks of the Messages API, within the limits that tool results have."""
    from handrail.agent.mcp.content import shown

    server = name.removeprefix("mcp__").partition("__")[0]
    content = [message.get("content") for message in messages]
    return shown({"content": content}, server=server, limit=LONGEST_PROMPT, keep=lambda suffix, data: "").content
