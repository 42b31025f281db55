"""Messages of the CLI as updates for an editor."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from handrail.acp.editors.tool_calls import output_of, shown_call, written_diff
from handrail.schema.acp import messages as acp
from handrail.schema.activity_messages import ToolProgressMessage
from handrail.schema.content import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from handrail.schema.handshake import SlashCommand
from handrail.schema.message_view import MessageView
from handrail.schema.messages import AssistantMessage, UserMessage
from handrail.schema.result_message import ResultMessage
from handrail.schema.stream_events import Event, StreamEvent
from handrail.schema.system_messages import (
    ApiRetryMessage,
    CommandsChangedMessage,
    InitMessage,
    LocalCommandOutputMessage,
    SessionTitleChangedMessage,
    StatusMessage,
)
from handrail.schema.tool_results import (
    TaskListResult,
    TaskResult,
    TaskUpdateResult,
    TodoWriteResult,
    read_tool_result,
)

__all__ = ["Shows", "Updates", "shown_commands"]

PARENT: Final = "handrail/parentToolCallId"
"""The key in `_meta` for the call of the subagent that made a tool call."""
_CHUNKS: Final = {"text": acp.AgentMessageChunk, "thinking": acp.AgentThoughtChunk}
_EXIT_CODE: Final = re.compile(r"Exit code (\d{1,3})\n?")
_PLAN_STATUS: Final[Mapping[str, acp.PlanEntryStatus]] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
}


class Shows(Struct, frozen=True):
    """What an editor shows beyond the core of the protocol.

    terminals   the output of a command in a terminal, by `_meta` of the tool call, as Zed does
    compaction  the compaction of the conversation
    notices     short notes that are not part of the conversation
    """

    terminals: bool = False
    compaction: bool = False
    notices: bool = False

    @classmethod
    def of(cls, client: acp.ClientCapabilities) -> Shows:
        """What the capabilities of a client say."""
        session = client.session or acp.ClientSessionCapabilities()
        return cls(
            terminals=(client.meta or {}).get("terminal_output") is True,
            compaction=session.compaction is not None,
            notices=session.notices is not None,
        )


class Updates:
    """Translates the messages of one session, in order. `mode` is the permission mode that the editor knows."""

    def __init__(self, cwd: str, mode: str = "default", shows: Shows = Shows()) -> None:  # noqa: B008 - immutable
        self.mode = mode
        self._shows = shows
        self._compacting = ""
        self._cwd = cwd
        self._streamed = _StreamedAnswer()
        self._calls: dict[str, tuple[str, bool]] = {}
        """The tool of each call, and whether it has ended."""
        self._tasks: dict[str, tuple[str, str]] = {}

    def of(self, message: MessageView) -> Iterator[acp.SessionUpdate]:
        """The updates for a message of a running session."""
        match message:
            case StreamEvent():
                yield from self._streamed_part(message)
            case AssistantMessage():
                yield from self._answer(message)
            case UserMessage():
                yield from self._results(message)
            case InitMessage():
                yield from self.mode_changed(message.permission_mode or self.mode)
            case StatusMessage():
                yield from self.mode_changed(message.permission_mode or self.mode)
                yield from self._compaction(message)
            case ApiRetryMessage() if self._shows.notices:
                attempt = f"Attempt {message.attempt} of {message.max_retries}"
                yield acp.Notice(severity="warning", title="The model request is retried", description=attempt)
            case ToolProgressMessage():
                yield from self._progress(message)
            case CommandsChangedMessage():
                yield acp.AvailableCommandsUpdate(available_commands=shown_commands(message.commands))
            case SessionTitleChangedMessage():
                yield acp.SessionInfoUpdate(title=message.title)
            case LocalCommandOutputMessage():
                yield acp.AgentMessageChunk(content=acp.TextContent(text=message.content))
            case ResultMessage():
                yield from self._usage(message)
            case _:
                return

    def of_history(self, message: MessageView) -> Iterator[acp.SessionUpdate]:
        """The updates for a message of a stored conversation, with the prompts of the user."""
        if isinstance(message, UserMessage) and not message.tool_results and not message.is_synthetic:
            for block in message.content:
                if isinstance(block, TextBlock):
                    yield acp.UserMessageChunk(
                        content=acp.TextContent(text=block.text), message_id=message.uuid or None
                    )
            return
        yield from self.of(message)

    def announce(self, block: ToolUseBlock, parent: str | None = None) -> Iterator[acp.SessionUpdate]:
        """The first update about a tool call; nothing if the editor knows it."""
        if block.id in self._calls:
            return
        self._calls[block.id] = (block.name, False)
        shown = shown_call(block.name, block.input, self._cwd)
        about = {PARENT: parent} if parent else {}
        content: list[acp.ToolCallContent] = shown.content
        if self._has_terminal(block.name):
            about |= {"terminal_info": {"terminal_id": block.id, "cwd": self._cwd}}
            content = [acp.Terminal(terminal_id=block.id)]
        yield acp.ToolCall(
            tool_call_id=block.id,
            title=shown.title,
            name=block.name,
            kind=shown.kind,
            status="pending",
            content=content or None,
            locations=shown.locations or None,
            raw_input=block.input,
            meta=about or None,
        )

    def unfinished(self) -> Iterator[acp.SessionUpdate]:
        """Updates that end the calls without a result, for the end of a turn that was interrupted."""
        for call, (tool, ended) in self._calls.items():
            if not ended:
                self._calls[call] = (tool, True)
                yield acp.ToolCallChange(tool_call_id=call, status="failed", content=output_of("Interrupted"))

    def mode_changed(self, mode: str) -> Iterator[acp.SessionUpdate]:
        """The update about another permission mode; nothing if the editor knows it."""
        if mode != self.mode:
            self.mode = mode
            yield acp.CurrentModeUpdate(current_mode_id=mode)

    def _streamed_part(self, message: StreamEvent) -> Iterator[acp.SessionUpdate]:
        if not message.parent_tool_use_id and (text := self._streamed.take(message.event)):
            yield _CHUNKS["text" if message.text else "thinking"](content=acp.TextContent(text=text))

    def _answer(self, message: AssistantMessage) -> Iterator[acp.SessionUpdate]:
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                yield from self.announce(block, message.parent_tool_use_id)
            elif not message.parent_tool_use_id and isinstance(block, TextBlock | ThinkingBlock):
                kind, text = ("text", block.text) if isinstance(block, TextBlock) else ("thinking", block.thinking)
                if rest := self._streamed.rest_of(message.message.id, kind, text):
                    yield _CHUNKS[kind](content=acp.TextContent(text=rest))

    def _progress(self, message: ToolProgressMessage) -> Iterator[acp.SessionUpdate]:
        call = self._calls.get(message.tool_use_id)
        if call is not None and not call[1]:
            output = [] if self._has_terminal(call[0]) else output_of(message.output)
            yield acp.ToolCallChange(tool_call_id=message.tool_use_id, status="in_progress", content=output or None)

    def _has_terminal(self, tool: str) -> bool:
        return self._shows.terminals and tool == "Bash"

    def _compaction(self, message: StatusMessage) -> Iterator[acp.SessionUpdate]:
        """The beginning or the end of a compaction."""
        if not self._shows.compaction:
            return
        if message.status == "compacting" and not self._compacting:
            self._compacting = message.uuid or "compaction"
            yield acp.CompactionUpdate(compaction_id=self._compacting, status="in_progress")
        elif message.status != "compacting" and self._compacting:
            compacted, self._compacting = self._compacting, ""
            failed = bool(message.compact_error)
            yield acp.CompactionUpdate(
                compaction_id=compacted,
                status="failed" if failed else "completed",
                error=message.compact_error or None,
            )

    def _results(self, message: UserMessage) -> Iterator[acp.SessionUpdate]:
        if message.local_command is not None and (text := message.local_command.stdout or message.local_command.stderr):
            yield acp.AgentMessageChunk(content=acp.TextContent(text=text))
        for block in message.tool_results:
            tool, ended = self._calls.get(block.tool_use_id, ("", True))
            if ended:
                continue
            self._calls[block.tool_use_id] = (tool, True)
            result = read_tool_result(tool, bytes(message.tool_use_result_raw))
            if self._has_terminal(tool):
                yield from _in_terminal(block)
            else:
                yield self._ended(block, result)
            yield from self._plan(result)

    def _ended(self, block: ToolResultBlock, result: Any) -> acp.ToolCallChange:
        if block.is_error:
            return acp.ToolCallChange(
                tool_call_id=block.tool_use_id, status="failed", content=output_of(block.error_text)
            )
        content = written_diff(result) or output_of(block.text)
        return acp.ToolCallChange(tool_call_id=block.tool_use_id, status="completed", content=content or None)

    def _plan(self, result: object) -> Iterator[acp.SessionUpdate]:
        """The plan, where a tool changed it."""
        match result:
            case TodoWriteResult():
                self._tasks = {str(at): (todo.content, todo.status) for at, todo in enumerate(result.new_todos)}
            case TaskListResult():
                self._tasks = {task.id: (task.subject, task.status) for task in result.tasks}
            case TaskResult(task=task) if task is not None:
                self._tasks[task.id] = (task.subject, task.status or "pending")
            case TaskUpdateResult(status_change=change) if change is not None:
                if change.to == "deleted":
                    self._tasks.pop(result.task_id, None)
                elif result.task_id in self._tasks:
                    self._tasks[result.task_id] = (self._tasks[result.task_id][0], change.to)
            case _:
                return
        yield acp.Plan(
            entries=[
                acp.PlanEntry(content=subject, priority="medium", status=_PLAN_STATUS.get(status, "pending"))
                for subject, status in self._tasks.values()
            ]
        )

    def _usage(self, message: ResultMessage) -> Iterator[acp.SessionUpdate]:
        used = message.usage
        size = max((usage.context_window for usage in message.model_usage.values()), default=0)
        if used is None or not size:
            return
        cached = (used.cache_read_input_tokens or 0) + (used.cache_creation_input_tokens or 0)
        cost = acp.Cost(amount=float(message.total_cost_usd), currency="USD")
        yield acp.UsageUpdate(used=used.input_tokens + cached + used.output_tokens, size=size, cost=cost)


def _in_terminal(block: ToolResultBlock) -> Iterator[acp.SessionUpdate]:
    """The output of a command and its end, for the terminal that shows the call."""
    text = block.error_text if block.is_error else block.text
    told = _EXIT_CODE.match(text) if block.is_error else None
    output = {"terminal_id": block.tool_use_id, "data": text[told.end() :] if told else text}
    exit = {
        "terminal_id": block.tool_use_id,
        "exit_code": int(told[1]) if told else int(block.is_error),
        "signal": None,
    }
    yield acp.ToolCallChange(tool_call_id=block.tool_use_id, meta={"terminal_output": output})
    status: acp.ToolCallStatus = "failed" if block.is_error else "completed"
    yield acp.ToolCallChange(tool_call_id=block.tool_use_id, status=status, meta={"terminal_exit": exit})


class _Block(Struct):
    """A streamed block. `sent` and `seen`: characters that the editor got, and that this run of deltas had."""

    kind: str
    sent: int = 0
    seen: int = 0
    complete: bool = False


class _StreamedAnswer:
    """The part of the streamed answer that the editor has, so that each character is sent once.

    A streamed block is repeated when it is complete. After a reconnection the deltas of an unfinished block begin
    again, and a block may be complete of which only a part was streamed. Errors and local commands are not streamed.
    """

    def __init__(self) -> None:
        self._message: str = ""
        self._ended = False
        self._blocks: dict[int, _Block] = {}

    def take(self, event: Event) -> str:
        """Enter an event. Returns the text that is new to the editor."""
        if event.type == "message_start":
            fields: dict[str, Any] = event.message or {}
            started = str(fields.get("id", ""))
            if self._ended or started != self._message:
                self._message, self._ended, self._blocks = started, False, {}
        elif event.type == "message_stop":
            self._ended = True
        elif event.type == "content_block_start" and event.index in self._blocks:
            self._blocks[event.index].seen = 0
        if event.delta is None or not (text := event.delta.text or event.delta.thinking):
            return ""
        block = self._blocks.setdefault(event.index, _Block("text" if event.delta.text else "thinking"))
        block.seen += len(text)
        new, block.sent = block.seen - block.sent, max(block.seen, block.sent)
        return text[-new:] if new > 0 else ""

    def rest_of(self, message: str, kind: str, text: str) -> str:
        """What the editor lacks of a complete block."""
        streamed = self._blocks.values() if not self._message or self._message == message else ()
        block = next((one for one in streamed if one.kind == kind and not one.complete), None)
        if block is None:
            return text
        block.complete = True
        return text[block.sent :]


def shown_commands(commands: Iterable[SlashCommand]) -> list[acp.AvailableCommand]:
    """The slash commands as an editor lists them."""
    return [
        acp.AvailableCommand(
            name=command.name,
            description=command.description or command.name,
            input={"hint": command.argument_hint}
            if isinstance(command.argument_hint, str) and command.argument_hint
            else None,
        )
        for command in commands
    ]
