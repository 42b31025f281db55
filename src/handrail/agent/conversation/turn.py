"""One turn: from prompts to a result."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, Final

from msgspec import Struct

from handrail.agent.base import Prompt
from handrail.agent.blocks import text_block
from handrail.agent.conversation.calls import Rejected, reject_open_calls
from handrail.agent.conversation.commands import CommandRunner
from handrail.agent.conversation.compaction import Compaction
from handrail.agent.conversation.loop import End, Loop
from handrail.agent.conversation.prompts import PromptTaker
from handrail.agent.conversation.queue import ExpandedPrompt, PromptQueue, is_blank, is_command
from handrail.agent.conversation.thread import Thread
from handrail.agent.conversation.turn_lines import TurnLines
from handrail.agent.errors import Refused
from handrail.agent.extensions.command import Command
from handrail.agent.speaker import INTERRUPTED, INTERRUPTED_TOOLS, synthetic_message
from handrail.agent.tools.base import ToolFailed
from handrail.schema.system_messages import InformationalMessage

__all__ = ["Turn", "TurnParts"]

JsonObject = dict[str, Any]

_SUBTYPES: Final = {
    "aborted_streaming": "error_during_execution",
    "aborted_tools": "error_during_execution",
    "max_turns": "error_max_turns",
    "budget_exhausted": "error_max_budget_usd",
    "structured_output_retry_exhausted": "error_max_structured_output_retries",
    "internal_error": "error_during_execution",
}
"""The ends that are errors, with the subtype of the result."""
BLANK: Final = "The prompt was blank, so nothing was sent to the model."
_NOT_ASKED: Final = frozenset({"blocked", "forked", "noted"})
"""Ends of turns in which the main conversation did not ask the model."""
_FORKED: Final = "/{name} ran in a subagent. Its report, in its words and not the user's:\n\n{text}"
_STOPPED: Final = "/{name} ran in a subagent, which the user interrupted."
_ERRORS: Final = {
    "aborted_streaming": "The turn was interrupted while the model answered",
    "aborted_tools": "The turn was interrupted while tools ran",
    "max_turns": "Reached maximum number of turns ({max_turns})",
    "budget_exhausted": "Reached maximum budget (${max_budget})",
    "structured_output_retry_exhausted": "No answer fitted the schema after 5 attempts",
    "internal_error": "The agent itself failed: {text}",
}


class TurnParts(Struct, frozen=True):
    """The parts that every turn uses.

    `ready` waits for the MCP servers, `schema` is that of structured output. `fork` runs a command with this text in a
    subagent and returns its report.
    """

    thread: Thread
    queue: PromptQueue
    lines: TurnLines
    commands: CommandRunner
    prompts: PromptTaker
    compaction: Compaction
    ready: Callable[[], Awaitable[None]]
    schema: Callable[[], JsonObject | None]
    fork: Callable[[Command, str], Awaitable[str]]


class Turn:
    """Answers some prompts. `interrupt` ends it early; it still has a result."""

    def __init__(self, parts: TurnParts, prompts: list[Prompt]) -> None:
        self._parts, self._prompts = parts, prompts
        self._thread, self._speaker, self._lines = parts.thread, parts.thread.speaker, parts.lines
        self._work: asyncio.Task[Any] | None = None
        self._interrupted = False
        self._dropped = False
        self._begun = False
        self._running = False
        self._superseded = False
        self._start = monotonic()
        self._uuids = [prompt.uuid for prompt in prompts if prompt.uuid]
        self._folded: list[str] = []

    @property
    def shows(self) -> bool:
        """Whether the host sees something of it: its first line, or that its command runs."""
        return self._begun or (self._work is not None and not self._running)

    def interrupt(self) -> None:
        """End the turn now."""
        self._interrupted = True
        if self._work is not None:
            self._work.cancel()

    def supersede(self) -> None:
        """End the turn now because a prompt arrived that does not wait; the result is then no error."""
        if self._running:
            self._superseded = True
            self.interrupt()

    async def give_up(self) -> None:
        """End the running work without a result, because the process ends. Only commands that ran are reported."""
        if self._work is not None:
            self._dropped = True
            self._work.cancel()
            await asyncio.wait([self._work])

    async def run_command(self) -> bool:
        """Run the prompt if it is a slash command. Returns whether the turn is done."""
        if len(self._prompts) != 1 or self._interrupted or not is_command(self._prompts[0]):
            return False  # without a task of its own: the host waits for the first line of the turn
        self._begin()
        work = self._work = asyncio.create_task(self._parts.commands.run(self._prompts[0]), name="handrail command")
        await asyncio.wait([work])
        self._work = None
        if work.cancelled():
            if not self._dropped:
                await self._lines.say_init()
                await self._finish(End("aborted_streaming"))
        elif (error := work.exception()) is not None:
            traceback.print_exception(error)
            await self._finish(await self._break(error))
        else:
            return work.result()
        return True

    async def run(self) -> None:
        """Run the turn, from its first line to its result."""
        self._begin()
        self._running = True
        await self._lifecycle("started", self._uuids)
        self._work = asyncio.create_task(self._answer(), name="handrail turn")
        if self._interrupted:
            self._work.cancel()
        await asyncio.wait([self._work])
        if self._dropped:
            started = self._thread.started_commands
            self._thread.open_calls = {id: call for id, call in self._thread.open_calls.items() if id in started}
            return await reject_open_calls(self._thread)
        try:
            end = self._work.result()
        except asyncio.CancelledError:
            end = await self._abort()
        except Rejected:
            end = await self._abort()
        except Refused:
            raise
        except Exception as error:  # a fault of ours: the turn still needs a result, and the session continues
            traceback.print_exc()
            end = await self._break(error)
        self._thread.history.answer_open_calls("The turn ended before this tool was run.")
        await self._finish(end)

    def _begin(self) -> None:
        self._thread.ledger.begin_turn()
        self._speaker.user_lines = 0
        self._speaker.prompts = list(self._uuids)
        self._thread.begin_turn()

    async def _answer(self) -> End:
        """The part of the turn that may be interrupted."""
        parts = self._parts
        await parts.ready()
        asked = [prompt for prompt in self._prompts if prompt.asks]
        notes: list[str] = []
        blocked = BLANK if is_blank(self._prompts[0]) else await self._submit(asked, notes)
        self._begun = True
        await self._lines.say_init()
        if blocked:
            await self._speaker.send(InformationalMessage(content=blocked, level="warning"))
            return End("blocked", text=blocked)
        for prompt in self._prompts:
            await parts.prompts.take(prompt)
        self._thread.add_notes(notes)
        if not asked:
            return End("noted")
        if isinstance(asked[0], ExpandedPrompt) and asked[0].fork:
            text = await self._run_fork(asked[0].fork, asked[0].expansion.text)
            if not text or not await self._continues(text):
                return End("forked", text=text)
        loop = Loop(self._thread, fold_in=self._fold_in, compaction=parts.compaction, schema=parts.schema())
        return await loop.run()

    async def _run_fork(self, command: Command, prompt: str) -> str:
        """Run a command in a subagent. Returns its report, which is the answer; "" if the turn is interrupted."""
        try:
            text = await self._parts.fork(command, prompt)
        except ToolFailed as error:
            text = str(error)
        except asyncio.CancelledError:
            if self._dropped:
                raise
            self._thread.add_notes([_STOPPED.format(name=command.name)])
            return ""
        self._thread.add_notes([_FORKED.format(name=command.name, text=text)])
        fields = {"local_command_source": f"<local-command-stdout>{text}</local-command-stdout>"}
        await self._speaker.assistant(synthetic_message(text), **fields)
        return text

    async def _continues(self, text: str) -> bool:
        """Run the Stop hooks after a report. Returns whether one of them wants the model to continue."""
        thread = self._thread
        about = {"stop_hook_active": False, "last_assistant_message": text}
        found = await thread.hear("Stop", thread.hook_input("Stop", **about))
        if found.block:
            thread.add_notes([f"Stop hook feedback:\n{found.block}"])
        return bool(found.block)

    async def _submit(self, prompts: list[Prompt], notes: list[str]) -> str:
        """Run the UserPromptSubmit hooks, which add to `notes`. Returns why the prompts are blocked, or ""."""
        thread = self._thread
        for prompt in prompts:
            call = prompt.call if isinstance(prompt, ExpandedPrompt) else {}
            events = [("UserPromptSubmit", {"prompt": call.get("prompt", prompt.text)})]
            if isinstance(prompt, ExpandedPrompt):
                events.insert(0 if prompt.fork else 1, ("UserPromptExpansion", call))
            for event, about in events:
                found = await thread.hear(event, thread.hook_input(event, **about))
                if found.block or not found.continue_:
                    return f"The prompt was blocked by a hook: {found.block or found.stop_reason}"
                notes += found.additional_context
        return ""

    async def _fold_in(self) -> bool:
        """Add the prompts that arrived during this turn. Returns whether there were any."""
        prompts = self._parts.queue.fold()
        for prompt in prompts:
            if prompt.uuid:
                self._folded.append(prompt.uuid)
                await self._lifecycle("started", [prompt.uuid])
            await self._parts.prompts.take(prompt)
        return bool(prompts)

    # Interrupted

    async def _abort(self) -> End:
        """Clean up after an interrupt: keep the text so far, and give each open call a result."""
        thread, speaker = self._thread, self._speaker
        thread.model.interrupted()
        text = ""
        if thread.answer is not None:
            answer, thread.answer = thread.answer, None
            await answer.cut_off(keep=True)
            text = answer.text
            thread.history.add_assistant(
                [block for block in answer.blocks if block.get("type") in ("text", "tool_use")]
            )
            thread.open_calls = {call["id"]: call for call in answer.calls}
            await reject_open_calls(thread)
        if not self._begun:
            await self._lines.say_init()
        if thread.open_calls:
            await reject_open_calls(self._thread)
            end, mark = End("aborted_tools", stop_reason="tool_use"), INTERRUPTED_TOOLS
        else:
            end, mark = End("aborted_streaming", text=text), INTERRUPTED
        if not self._superseded:
            thread.history.add_user(mark)
            await speaker.user([text_block(mark)])
        return end

    async def _break(self, error: BaseException) -> End:
        """Clean up after a fault of ours: close the answer and the open calls."""
        if self._thread.answer is not None:
            answer, self._thread.answer = self._thread.answer, None
            await answer.cut_off(keep=False)
        await reject_open_calls(self._thread)
        return End("internal_error", text=f"{type(error).__name__}: {error}")

    # The end

    async def _finish(self, end: End) -> None:
        if end.failure is not None:
            await self._tell_failure(end)
        await self._lifecycle("completed", self._folded)
        await self._lines.say_result(self.result(end))
        await self._lifecycle("cancelled" if self._gave_way(end) else "completed", self._uuids)

    def _gave_way(self, end: End) -> bool:
        return self._superseded and end.reason in ("aborted_streaming", "aborted_tools")

    async def _tell_failure(self, end: End) -> None:
        failure = end.failure
        assert failure is not None
        await self._speaker.assistant(
            synthetic_message(failure.text),
            error=failure.error,
            is_api_error_message=True,
            **failure.fields(),
        )

    def result(self, end: End) -> JsonObject:
        """The fields of the result line."""
        thread = self._thread
        failure, subtype = end.failure, "success" if self._gave_way(end) else _SUBTYPES.get(end.reason, "success")
        line: JsonObject = {
            "subtype": subtype,
            "is_error": failure is not None or subtype != "success",
            "duration_ms": round((monotonic() - self._start) * 1000),
            "num_turns": 0 if end.reason in _NOT_ASKED or not self._begun else 1 + self._speaker.user_lines,
            "stop_reason": "stop_sequence" if failure else end.stop_reason,
            "permission_denials": thread.denials,
        }
        if end.reason not in _NOT_ASKED:
            line["terminal_reason"] = failure.terminal_reason if failure else end.reason
        uuids = [*self._uuids, *self._folded]
        if subtype == "success":
            line["result"] = failure.text if failure else end.text
            line |= failure.fields() if failure else {}
            line |= thread.timing.fields(named=bool(uuids))
        else:
            limits = thread.session.arguments
            values = {"max_turns": limits.max_turns, "max_budget": limits.max_budget_usd, "text": end.text}
            line["errors"] = [_ERRORS[end.reason].format(**values)]
        if end.reason == "forked":
            line["local_command"] = self._name_of_fork()
        if thread.structured is not None:
            line["structured_output"] = thread.structured
        if thread.deferred is not None:
            line["deferred_tool_use"] = thread.deferred
        if uuids:
            line |= {"user_message_uuid": uuids[-1], "user_message_uuids": uuids}
        if origin := next((found for prompt in self._prompts if (found := prompt.origin or prompt.stamp)), None):
            line["origin"] = origin
        return line

    def _name_of_fork(self) -> str:
        """The name of the command in the result; names of the user's files are left out, as in the CLI."""
        [prompt] = self._prompts
        command = prompt.fork if isinstance(prompt, ExpandedPrompt) else None
        return command.name.replace("-", "_") if command is not None and command.builtin else "custom"

    async def _lifecycle(self, state: str, uuids: list[str]) -> None:
        for uuid in uuids:
            await self._lines.tell_lifecycle(uuid, state)
