"""A turn on the screen.

A tool's line is printed when its outcome is known; until then the status line tells what runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from handrail.cli.terminal import Terminal, one_line
from handrail.cli.tool_lines import SUBAGENT_TOOLS, key_argument, outcome, tool_label
from handrail.schema.activity_messages import BackgroundTasksChangedMessage, RateLimitEvent
from handrail.schema.content import TextBlock, ThinkingBlock, ToolUseBlock
from handrail.schema.message_view import MessageView
from handrail.schema.messages import AssistantMessage, UserMessage
from handrail.schema.stream_events import StreamEvent
from handrail.schema.system_messages import (
    ApiRetryMessage,
    CompactBoundaryMessage,
    InformationalMessage,
    InitMessage,
    LocalCommandOutputMessage,
    ModelFallbackMessage,
    ModelRefusalFallbackMessage,
    StatusMessage,
    ThinkingTokensMessage,
)

__all__ = ["ToolCall", "TurnView"]

INDENT = "  "


class ToolCall(msgspec.Struct):
    """A tool that the model called. `parent`: the call whose subagent made this one."""

    name: str
    input: Mapping[str, Any]
    parent: str | None = None
    done: bool = False


class TurnView:
    """Draws messages. `tools` are the calls so far by id; `agents` the subagents that work in the background."""

    def __init__(self, terminal: Terminal, *, thinking: bool = False) -> None:
        self.tools: dict[str, ToolCall] = {}
        self.agents: list[str] = []
        self.commands: list[str] = []
        self.cwd = ""
        self._terminal = terminal
        self._thinking = thinking
        self._last = ""
        self._streamed: set[str] = set()
        self._block = ""
        self._drawn: Mapping[type[MessageView], Callable[[Any], None]] = {
            InitMessage: self._init,
            StreamEvent: self._stream,
            AssistantMessage: self._assistant,
            UserMessage: self._user,
            BackgroundTasksChangedMessage: self._background,
            ApiRetryMessage: self._retry,
            ModelFallbackMessage: self._fallback,
            ModelRefusalFallbackMessage: self._fallback,
            StatusMessage: self._status,
            ThinkingTokensMessage: self._thought,
            InformationalMessage: self._informational,
            LocalCommandOutputMessage: self._local_output,
            CompactBoundaryMessage: self._compacted,
            RateLimitEvent: self._rate_limit,
        }

    def show(self, message: MessageView) -> None:
        """Draw one message; a kind without a row in the table is passed over."""
        if (draw := self._drawn.get(type(message))) is not None:
            draw(message)

    def note(self, text: str, *styles: str) -> None:
        """A line about the session rather than of the conversation."""
        self._begin("note")
        self._terminal.line(one_line(text, 400), *(styles or ("dim",)))

    def paragraph(self, text: str, *styles: str) -> None:
        """Text of several lines, with an empty line before it."""
        self._begin("text")
        self._terminal.line(text, *styles)

    def end(self) -> None:
        """Nothing more comes: leave the cursor at the start of a line."""
        self._terminal.start_line()

    def _begin(self, kind: str) -> None:
        """The next output is of this kind: text is set apart from what is around it by an empty line."""
        self._terminal.start_line()
        if self._last and (kind != self._last or kind in ("text", "thinking")):
            self._terminal.line()
        self._last = kind

    def _init(self, message: InitMessage) -> None:
        if not self.cwd:
            home, folder = os.path.expanduser("~"), message.cwd
            folder = f"~{folder[len(home) :]}" if folder.startswith(f"{home}/") else folder
            self.note(" · ".join(filter(None, (message.model, message.permission_mode, folder))))
        self.cwd = message.cwd or self.cwd
        for server in message.mcp_servers:
            if server.status == "failed":
                self.note(f"MCP server {server.name}: {server.status}", "yellow")
        self._terminal.status("waiting for the model…")

    # The model
    def _stream(self, message: StreamEvent) -> None:
        event = message.event
        if message.parent_tool_use_id is not None:
            return
        if event.type == "message_start":
            self._streamed.add(str((event.message or {}).get("id", "")))
        elif event.type == "content_block_start":
            self._start_block(event.block)
        elif event.type == "content_block_delta" and self._block == "text":
            self._terminal.write(message.text)
        elif event.type == "content_block_delta" and self._block == "thinking" and self._thinking:
            self._terminal.write(message.thinking, "dim")

    def _start_block(self, block: object) -> None:
        self._block = "text" if isinstance(block, TextBlock) else "thinking" if isinstance(block, ThinkingBlock) else ""
        if self._block == "text" or (self._block and self._thinking):
            self._begin(self._block)
        else:
            self._terminal.start_line()
            doing = f"{tool_label(block.name)} …" if isinstance(block, ToolUseBlock) else "thinking…"
            self._terminal.status(doing)

    def _assistant(self, message: AssistantMessage) -> None:
        shown = message.message_id in self._streamed
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                self._start_tool(block, message.parent_tool_use_id)
            elif message.parent_tool_use_id or shown or message.is_api_error_message:
                continue  # a subagent's own words, what was shown as it came, or what the result will tell
            elif isinstance(block, TextBlock) and block.text:
                self.paragraph(block.text)
            elif isinstance(block, ThinkingBlock) and block.thinking and self._thinking:
                self._begin("thinking")
                self._terminal.line(block.thinking, "dim")

    # Tools
    def _start_tool(self, block: ToolUseBlock, parent: str | None) -> None:
        call = self.tools[block.id] = ToolCall(block.name, block.input, parent)
        if block.name in SUBAGENT_TOOLS:
            self._begin("tool")
            self._terminal.line(f"{self._indent(call)}▸ {self._title(call, self._terminal.width - 8)}")
        self._tell_running()

    def _tell_running(self) -> None:
        running = [self._title(call, 60) for call in self.tools.values() if not call.done]
        self._terminal.start_line()
        if running:
            self._terminal.status(f"{INDENT}… {', '.join(running)}")

    def _indent(self, call: ToolCall) -> str:
        depth, parent = 1, call.parent
        while parent in self.tools and depth < 6:
            depth, parent = depth + 1, self.tools[parent].parent
        return INDENT * depth

    def _title(self, call: ToolCall, width: int) -> str:
        return one_line(f"{tool_label(call.name)} {key_argument(call.name, call.input, self.cwd)}", width)

    def _user(self, message: UserMessage) -> None:
        for block in message.tool_results:
            call = self.tools.get(block.tool_use_id)
            if call is not None:
                call.done = True
                self._end_tool(call, *outcome(call.name, block, bytes(message.tool_use_result_raw)))
        if (command := message.local_command) is not None:
            self.paragraph("\n".join(filter(None, (command.stdout, command.stderr))))
        if message.tool_results:
            self._tell_running()

    def _end_tool(self, call: ToolCall, worked: bool, words: str) -> None:  # noqa: FBT001 - as `outcome` gives it
        self._begin("tool")
        terminal, indent = self._terminal, self._indent(call)
        room = max(terminal.width - len(indent) - 6, 30)
        title = self._title(call, room * 3 // 5)
        terminal.write(f"{indent}{'✓' if worked else '✗'} ", "green" if worked else "red")
        terminal.write(title)
        terminal.write(f" · {one_line(words, room - len(title))}", "dim" if worked else "red", end="\n")

    # The session
    def _background(self, message: BackgroundTasksChangedMessage) -> None:
        self.commands = [task.description for task in message.tasks if task.task_type == "local_bash"]
        self.agents = [task.description for task in message.tasks if task.task_type != "local_bash"]

    def _retry(self, message: ApiRetryMessage) -> None:
        status = f" {message.error_status}" if message.error_status else ""
        attempt = f"{message.attempt} of {message.max_retries}, in {message.retry_delay_ms / 1000:.1f} s"
        void = "; what was shown of this answer does not count" if self._last == "text" else ""
        reason = f"{message.error or 'error'}{status}"
        self.note(f"the model could not be reached ({reason}), trying again ({attempt}){void}", "yellow")

    def _fallback(self, message: ModelFallbackMessage) -> None:
        self.note(f"{message.original_model} → {message.fallback_model} ({message.trigger})", "yellow")

    def _status(self, message: StatusMessage) -> None:
        if message.permission_mode:
            self.note(f"permission mode: {message.permission_mode}")
        elif message.status:
            self._terminal.start_line()
            self._terminal.status("waiting for the model…" if message.status == "requesting" else f"{message.status}…")

    def _thought(self, message: ThinkingTokensMessage) -> None:
        if not self._thinking:
            self._terminal.start_line()
            self._terminal.status(f"thinking… ({message.estimated_tokens:,} tokens)")

    def _informational(self, message: InformationalMessage) -> None:
        if not message.is_meta:
            self.note(message.content, "yellow" if message.level in ("warning", "error") else "dim")

    def _local_output(self, message: LocalCommandOutputMessage) -> None:
        self.paragraph(message.content)

    def _compacted(self, message: CompactBoundaryMessage) -> None:
        self.note("(the conversation so far was summarised to make room)")

    def _rate_limit(self, message: RateLimitEvent) -> None:
        info = message.rate_limit_info
        if info is not None and info.status and info.status != "allowed":
            self.note(f"rate limit {info.rate_limit_type}: {info.status}", "yellow")
