"""All messages by type, and the views of assistant and user messages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from typing import Any

import msgspec

from handrail.schema import activity_messages as activity
from handrail.schema.content import Block, ToolResultBlock, ToolUseBlock, joined_text, read_blocks
from handrail.schema.message_view import MessageView, Origin, UnknownMessage
from handrail.schema.result_message import ResultMessage
from handrail.schema.stream_events import AssistantDelta, StreamEvent
from handrail.schema.system_messages import SystemMessage
from handrail.schema.system_table import SYSTEM_MESSAGES
from handrail.schema.usage import Usage
from handrail.schema.view import Number, Part, ViewError, keep_raw, read_json, read_view

__all__ = [
    "MESSAGES",
    "ApiMessage",
    "AssistantMessage",
    "ErrorDetail",
    "ErrorMessage",
    "LocalCommand",
    "UserMessage",
    "read_message",
    "read_partial",
    "read_partials",
]

_LOCAL_COMMAND = re.compile(r"<local-command-(stdout|stderr)>(.*?)</local-command-\1>", re.DOTALL)


class ApiMessage(Part):
    """A message of the Messages API. A line often has only one of its blocks."""

    role: str = ""
    id: str = ""
    type: str = ""
    model: str = ""
    content_raw: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="content")
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: Usage | None = None
    stop_details: Any = None
    container: Any = None
    context_management: Any = None
    diagnostics: Any = None


class _ConversationMessage(MessageView):
    """The fields of assistant and user messages."""

    message: ApiMessage
    parent_tool_use_id: str | None = None
    timestamp: str = ""
    agent_id: str = ""
    subagent_type: str = ""
    task_description: str = ""

    @cached_property
    def content(self) -> list[Block]:
        """The blocks; a plain string is one text block."""
        return read_blocks(bytes(self.message.content_raw))

    @property
    def text(self) -> str:
        """The text of all blocks."""
        return joined_text(self.content)


class AssistantMessage(_ConversationMessage):
    """An answer of the model: one line per finished block."""

    always = frozenset({"message", "parent_tool_use_id"})
    type: str = "assistant"
    error: str = ""
    is_api_error_message: bool = False
    api_error_status: int | None = None
    api_error_type: str = ""
    api_error: str = ""
    api_error_params: Any = None
    request_id: str = ""
    aborted: bool = False
    supersedes: list[str] = msgspec.field(default_factory=list[str])
    user_message_uuid: str = ""
    user_message_uuids: list[str] = msgspec.field(default_factory=list[str])
    resume_reason: str = ""
    resumed_from_incomplete_thinking: bool = False
    tool_use_meta: list[dict[str, Any]] = msgspec.field(default_factory=list[dict[str, Any]])
    local_command_source: str = ""
    local_command_run: dict[str, Any] | None = None
    local_command_outcome: dict[str, Any] | None = None
    context_usage: dict[str, Any] | None = None
    usage_report: Any = None
    thinking_duration_ms: Number | None = None
    thinking_display: str = ""

    @property
    def model(self) -> str:
        """The model that wrote it; `<synthetic>` if it was the CLI."""
        return self.message.model

    @property
    def message_id(self) -> str:
        """Lines with the same id are blocks of one message."""
        return self.message.id

    @property
    def stop_reason(self) -> str | None:
        """The stop reason; None on a streamed line."""
        return self.message.stop_reason

    @property
    def usage(self) -> Usage | None:
        """Tokens so far. The result has the final numbers."""
        return self.message.usage

    @property
    def tool_uses(self) -> list[ToolUseBlock]:
        """The tool calls in it."""
        return [block for block in self.content if isinstance(block, ToolUseBlock)]


class LocalCommand(Part):
    """The output of a slash command that ran without the model."""

    stdout: str = ""
    stderr: str = ""


class UserMessage(_ConversationMessage):
    """A prompt, the result of a tool, or a message of the CLI in the user's place."""

    always = frozenset({"message", "parent_tool_use_id"})
    type: str = "user"
    tool_use_result_raw: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="tool_use_result")
    tool_result_meta: list[dict[str, Any]] = msgspec.field(default_factory=list[dict[str, Any]])
    is_synthetic: bool = msgspec.field(default=False, name="isSynthetic")
    is_replay: bool = msgspec.field(default=False, name="isReplay")
    should_query: bool = msgspec.field(default=True, name="shouldQuery")
    priority: str = ""
    origin: Origin | None = None
    client_composed: bool = False
    pasted_content: Any = None
    inline_pastes: Any = None
    file_attachments: Any = None
    refused_message_id: str = ""

    @property
    def tool_results(self) -> list[ToolResultBlock]:
        """The tool results in it: one, or several from older CLIs."""
        return [block for block in self.content if isinstance(block, ToolResultBlock)]

    @property
    def tool_use_result(self) -> Any:
        """The structured result of the tool; `read_tool_result` makes it a typed view."""
        raw = bytes(self.tool_use_result_raw)
        return read_json(raw) if raw else None

    @property
    def local_command(self) -> LocalCommand | None:
        """The output of a slash command without its tags."""
        found: dict[str, str] = {}
        for stream, text in _LOCAL_COMMAND.findall(self.text):
            found[stream] = found.get(stream, "") + text
        return LocalCommand(**found) if found else None


class ErrorDetail(Part):
    """The type and text of an error."""

    type: str = ""
    message: str = ""


class ErrorMessage(MessageView):
    """An error of an older CLI about a line that it could not use."""

    type: str = "error"
    error: ErrorDetail


MESSAGES: Mapping[str, type[MessageView]] = {
    "assistant": AssistantMessage,
    "user": UserMessage,
    "result": ResultMessage,
    "stream_event": StreamEvent,
    "error": ErrorMessage,
    "rate_limit_event": activity.RateLimitEvent,
    "tool_progress": activity.ToolProgressMessage,
    "tool_use_summary": activity.ToolUseSummaryMessage,
    "command_lifecycle": activity.CommandLifecycleMessage,
    "conversation_reset": activity.ConversationResetMessage,
    "auth_status": activity.AuthStatusMessage,
    "prompt_suggestion": activity.PromptSuggestionMessage,
    "active_goal": activity.ActiveGoalMessage,
    "transcript_mirror": activity.TranscriptMirrorMessage,
    "keep_alive": activity.KeepAliveMessage,
    "update_environment_variables": activity.UpdateEnvironmentVariablesMessage,
    "bash_command": activity.BashCommandMessage,
    **{f"system/{subtype}": view for subtype, view in SYSTEM_MESSAGES.items()},
}
"""The view of each message by its type; for system messages, by `system/` and the subtype."""

_OLDER: Mapping[str, type[MessageView]] = {"assistant": AssistantDelta}
"""Views of older shapes, tried if a line does not fit its row."""


@cache
def _stream_event() -> msgspec.json.Decoder[StreamEvent]:
    return msgspec.json.Decoder(StreamEvent)


def read_message(type: str, subtype: str, raw: bytes) -> MessageView:
    """Read a line whose type and subtype are known. Never raises."""
    return read_partial(raw) if type == "stream_event" else _read_row(type, subtype, raw)


def read_partial(raw: bytes) -> MessageView:
    """Read a stream event. By far the most frequent type, so it takes the shortest path. Never raises."""
    try:
        view = _stream_event().decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _read_row("stream_event", "", raw)
    view._raw = raw  # pyright: ignore[reportPrivateUsage]  # `keep_raw` without the call
    return view


def read_partials(lines: Sequence[Any], *, below: int) -> list[StreamEvent] | None:
    """Read lines that are all stream events below this size; None if one is not, or is malformed."""
    decode, views = _stream_event().decode, list[StreamEvent]()
    try:
        for line in lines:
            view = decode(line)
            if view.type != "stream_event" or len(line) >= below or not (line.isascii() or line.decode()):
                return None
            view._raw = line  # pyright: ignore[reportPrivateUsage]
            views.append(view)
    except (ValueError, TypeError, RecursionError):  # TypeError: not bytes
        return None
    return views


def _read_row(type: str, subtype: str, raw: bytes) -> MessageView:
    row = MESSAGES.get(type) if type != "system" else MESSAGES.get(f"system/{subtype}", SystemMessage)
    if row is None:
        return keep_raw(UnknownMessage(type=type, subtype=subtype), raw)
    try:
        return read_view(row, raw)
    except ViewError as error:
        return _read_older(type, subtype, raw, str(error))


def _read_older(type: str, subtype: str, raw: bytes, problem: str) -> MessageView:
    older = _OLDER.get(type)
    with suppress(ViewError):
        if older is not None:
            return read_view(older, raw)
    return keep_raw(UnknownMessage(type=type, subtype=subtype, problem=problem), raw)
