"""Messages of the CLI as updates for an editor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from handrail.acp.editors.tool_calls import output_of, shown_call, written_diff
from handrail.schema.acp import messages as acp
from handrail.schema.activity_messages import ToolProgressMessage
from handrail.schema.content import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from handrail.schema.handshake import SlashCommand
from handrail.schema.message_view import MessageView
from handrail.schema.messages import AssistantMessage, UserMessage
from handrail.schema.result_message import ResultMessage
from handrail.schema.stream_events import StreamEvent
from handrail.schema.system_messages import (
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

__all__ = ["Updates", "shown_commands"]

PARENT: Final = "handrail/parentToolCallId"
"""The key in `_meta` for the call of the subagent that made a tool call."""
_PLAN_STATUS: Final[Mapping[str, acp.PlanEntryStatus]] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
}


class Updates:
    """Translates the messages of one session, in order. `mode` is the permission mode that the editor was told."""

    def __init__(self, cwd: str, mode: str = "default") -> None:
        self.mode = mode
        self._cwd = cwd
        self._streamed = {"text": False, "thinking": False}
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
            case InitMessage() | StatusMessage():
                yield from self.mode_changed(message.permission_mode or self.mode)
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
        yield acp.ToolCall(
            tool_call_id=block.id,
            title=shown.title,
            name=block.name,
            kind=shown.kind,
            status="pending",
            content=shown.content or None,
            locations=shown.locations or None,
            raw_input=block.input,
            meta={PARENT: parent} if parent else None,
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
        if message.parent_tool_use_id:
            return
        if message.text:
            self._streamed["text"] = True
            yield acp.AgentMessageChunk(content=acp.TextContent(text=message.text))
        elif message.thinking:
            self._streamed["thinking"] = True
            yield acp.AgentThoughtChunk(content=acp.TextContent(text=message.thinking))

    def _answer(self, message: AssistantMessage) -> Iterator[acp.SessionUpdate]:
        # A streamed block is repeated when it is complete; errors and local commands are never streamed.
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                yield from self.announce(block, message.parent_tool_use_id)
            elif message.parent_tool_use_id:
                continue
            elif isinstance(block, TextBlock):
                if not self._taken("text"):
                    yield acp.AgentMessageChunk(content=acp.TextContent(text=block.text))
            elif isinstance(block, ThinkingBlock) and not self._taken("thinking") and block.thinking:
                yield acp.AgentThoughtChunk(content=acp.TextContent(text=block.thinking))

    def _taken(self, kind: str) -> bool:
        streamed, self._streamed[kind] = self._streamed[kind], False
        return streamed

    def _progress(self, message: ToolProgressMessage) -> Iterator[acp.SessionUpdate]:
        call = self._calls.get(message.tool_use_id)
        if call is not None and not call[1]:
            yield acp.ToolCallChange(tool_call_id=message.tool_use_id, status="in_progress")

    def _results(self, message: UserMessage) -> Iterator[acp.SessionUpdate]:
        if message.local_command is not None and (text := message.local_command.stdout or message.local_command.stderr):
            yield acp.AgentMessageChunk(content=acp.TextContent(text=text))
        for block in message.tool_results:
            tool, ended = self._calls.get(block.tool_use_id, ("", True))
            if ended:
                continue
            self._calls[block.tool_use_id] = (tool, True)
            result = read_tool_result(tool, bytes(message.tool_use_result_raw))
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


def shown_commands(commands: list[SlashCommand]) -> list[acp.AvailableCommand]:
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
