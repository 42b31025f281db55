"""The messages of a conversation. In: one line and its type. Out: a typed view; what has no row is UnknownMessage.

Assistant and user messages are here; the other modules hold the rest, and MESSAGES is the table of them all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, cached_property
from typing import Any

import msgspec

from handrail.schema import activity_messages as activity
from handrail.schema import system_messages as system
from handrail.schema.content import Block, ToolResultBlock, ToolUseBlock, joined_text, read_blocks
from handrail.schema.message_view import MessageView, Origin, UnknownMessage
from handrail.schema.result_message import ResultMessage
from handrail.schema.stream_events import AssistantDelta, StreamEvent
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
]

_LOCAL_COMMAND = re.compile(r"<local-command-(stdout|stderr)>(.*?)</local-command-\1>", re.DOTALL)


class ApiMessage(Part):
    """A message of the Messages API, as one line carries it: often one block of several."""

    role: str = ""
    id: str = ""
    type: str = ""
    model: str = ""
    content_raw: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="content")
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: Usage | None = None
    container: Any = None
    context_management: Any = None


class _ConversationMessage(MessageView):
    """What assistant and user messages share."""

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
        """All text of it."""
        return joined_text(self.content)


class AssistantMessage(_ConversationMessage):
    """What the model said or wants to do: one line per finished block."""

    type: str = "assistant"
    error: str = ""
    is_api_error_message: bool = False
    api_error_status: int | None = None
    api_error_type: str = ""
    api_error: str = ""
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
        """The model that wrote it; `<synthetic>` where the CLI did."""
        return self.message.model

    @property
    def message_id(self) -> str:
        """Lines with the same id are blocks of one message."""
        return self.message.id

    @property
    def stop_reason(self) -> str | None:
        """Why the model stopped; None on a line that was streamed."""
        return self.message.stop_reason

    @property
    def usage(self) -> Usage | None:
        """Tokens so far, not the final ones: these are in the result."""
        return self.message.usage

    @property
    def tool_uses(self) -> list[ToolUseBlock]:
        """The tools it wants to run."""
        return [block for block in self.content if isinstance(block, ToolUseBlock)]


class LocalCommand(Part):
    """What a slash command printed that ran without the model."""

    stdout: str = ""
    stderr: str = ""


class UserMessage(_ConversationMessage):
    """A prompt, the result of a tool, or what the CLI says in the user's place."""

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
        """The results of tools in it: one today, several from older CLIs."""
        return [block for block in self.content if isinstance(block, ToolResultBlock)]

    @property
    def tool_use_result(self) -> Any:
        """What the tool gave back beside the text for the model; `read_tool_result` makes it a typed view."""
        raw = bytes(self.tool_use_result_raw)
        return read_json(raw) if raw else None

    @property
    def local_command(self) -> LocalCommand | None:
        """The output of a slash command, without the marks around it."""
        found: dict[str, str] = {}
        for stream, text in _LOCAL_COMMAND.findall(self.text):
            found[stream] = found.get(stream, "") + text
        return LocalCommand(**found) if found else None


class ErrorDetail(Part):
    """What was wrong with a line."""

    type: str = ""
    message: str = ""


class ErrorMessage(MessageView):
    """A complaint of an older CLI about a line it could not use."""

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
    "system/init": system.InitMessage,
    "system/status": system.StatusMessage,
    "system/compact_boundary": system.CompactBoundaryMessage,
    "system/api_retry": system.ApiRetryMessage,
    "system/model_fallback": system.ModelFallbackMessage,
    "system/model_refusal_fallback": system.ModelRefusalFallbackMessage,
    "system/model_refusal_no_fallback": system.ModelRefusalNoFallbackMessage,
    "system/permission_denied": system.PermissionDeniedMessage,
    "system/informational": system.InformationalMessage,
    "system/notification": system.NotificationMessage,
    "system/thinking_tokens": system.ThinkingTokensMessage,
    "system/session_state_changed": system.SessionStateChangedMessage,
    "system/session_title_changed": system.SessionTitleChangedMessage,
    "system/session_writes_lost": system.SessionWritesLostMessage,
    "system/control_request_progress": system.ControlRequestProgressMessage,
    "system/ui_invalidate": system.UiInvalidateMessage,
    "system/local_command_output": system.LocalCommandOutputMessage,
    "system/plugin_install": system.PluginInstallMessage,
    "system/worker_shutting_down": system.WorkerShuttingDownMessage,
    "system/commands_changed": system.CommandsChangedMessage,
    "system/files_persisted": system.FilesPersistedMessage,
    "system/memory_recall": system.MemoryRecallMessage,
    "system/elicitation_complete": system.ElicitationCompleteMessage,
    "system/mirror_error": system.MirrorErrorMessage,
    "system/task_started": activity.TaskStartedMessage,
    "system/task_progress": activity.TaskProgressMessage,
    "system/task_updated": activity.TaskUpdatedMessage,
    "system/task_notification": activity.TaskNotificationMessage,
    "system/background_tasks_changed": activity.BackgroundTasksChangedMessage,
    "system/hook_started": activity.HookStartedMessage,
    "system/hook_progress": activity.HookProgressMessage,
    "system/hook_response": activity.HookResponseMessage,
}
"""Every message that has a view of its own, by its type; system messages by `system/` and their subtype."""

_OLDER: Mapping[str, type[MessageView]] = {"assistant": AssistantDelta}
"""How older CLIs spelled what does not fit its row."""


@cache
def _stream_event() -> msgspec.json.Decoder[StreamEvent]:
    return msgspec.json.Decoder(StreamEvent)


def read_message(type: str, subtype: str, raw: bytes) -> MessageView:
    """One message. In: what routing knows of the line, and the line. Out: its view, never an error."""
    if type != "stream_event":
        return _read_row(type, subtype, raw)
    try:  # by far the most frequent, so it goes the shortest way
        view = _stream_event().decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _read_row(type, subtype, raw)
    view.__dict__["_raw"] = raw  # pyright: ignore[reportIndexIssue]  # it takes the class's __dict__ for ours
    return view


def _read_row(type: str, subtype: str, raw: bytes) -> MessageView:
    row = MESSAGES.get(type) if type != "system" else MESSAGES.get(f"system/{subtype}", system.SystemMessage)
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
