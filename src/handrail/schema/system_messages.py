"""System messages: what the CLI says about the session. In: `system` lines. Out: one view per subtype.

A subtype without a class here is a plain SystemMessage: its fields are in `data`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.schema.message_view import MessageView
from handrail.schema.view import Number, Part, as_builtins

__all__ = [
    "ApiRetryMessage",
    "CommandsChangedMessage",
    "CompactBoundaryMessage",
    "CompactMetadata",
    "ControlRequestProgressMessage",
    "ElicitationCompleteMessage",
    "FilesPersistedMessage",
    "InformationalMessage",
    "InitMessage",
    "LocalCommandOutputMessage",
    "McpServer",
    "McpServerError",
    "MemoryRecallMessage",
    "MirrorErrorMessage",
    "ModelFallbackMessage",
    "ModelRefusalFallbackMessage",
    "ModelRefusalNoFallbackMessage",
    "NotificationMessage",
    "PermissionDeniedMessage",
    "Plugin",
    "PluginError",
    "PluginInstallMessage",
    "SessionStateChangedMessage",
    "SessionTitleChangedMessage",
    "SessionWritesLostMessage",
    "StatusMessage",
    "SystemMessage",
    "ThinkingTokensMessage",
    "UiInvalidateMessage",
    "WorkerShuttingDownMessage",
]


class SystemMessage(MessageView):
    """Something about the session rather than of the conversation."""

    type: str = "system"
    subtype: str = ""
    parent_tool_use_id: str | None = None
    """Set where the message is about a subagent, by the tool call that started it."""

    @property
    def data(self) -> dict[str, Any]:
        """The whole message as a dict."""
        return as_builtins(self)


class McpServer(Part):
    """An MCP server of the session."""

    name: str = ""
    status: str = ""
    source: str = ""


class McpServerError(Part):
    """An MCP server that was left out, and why."""

    name: str = ""
    type: str = ""
    message: str = ""


class Plugin(Part):
    """A plugin of the session."""

    name: str = ""
    path: str = ""
    source: str = ""
    version: str = ""


class PluginError(Part):
    """A plugin that was left out, and why."""

    plugin: str = ""
    type: str = ""
    message: str = ""
    path: str = ""


class InitMessage(SystemMessage):
    """The session as it is at the start of a turn. It comes with every turn, and never before the first prompt."""

    subtype: str = "init"
    model: str = ""
    cwd: str = ""
    original_cwd: str = ""
    additional_directories: list[str] = msgspec.field(default_factory=list[str])
    tools: list[str] = msgspec.field(default_factory=list[str])
    mcp_servers: list[McpServer] = msgspec.field(default_factory=list[McpServer])
    mcp_server_errors: list[McpServerError] = msgspec.field(default_factory=list[McpServerError])
    permission_mode: str = msgspec.field(default="", name="permissionMode")
    slash_commands: list[str] = msgspec.field(default_factory=list[str])
    terminal_slash_commands: list[str] = msgspec.field(default_factory=list[str])
    agents: list[str] = msgspec.field(default_factory=list[str])
    skills: list[str] = msgspec.field(default_factory=list[str])
    plugins: list[Plugin] = msgspec.field(default_factory=list[Plugin])
    plugin_errors: list[PluginError] = msgspec.field(default_factory=list[PluginError])
    output_style: str = ""
    api_key_source: str = msgspec.field(default="", name="apiKeySource")
    claude_code_version: str = ""
    capabilities: list[str] = msgspec.field(default_factory=list[str])
    betas: list[str] = msgspec.field(default_factory=list[str])
    effort: Any = None
    view_mode: str = ""
    fast_mode_state: str = ""
    fast_mode_disabled_reason: str = ""
    memory_paths: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    messaging_socket_path: str = ""
    analytics_disabled: bool = False
    product_feedback_disabled: bool = False
    per_turn_effort_active: bool = False
    ultrathink_available: bool = False
    ultrathink_typed_raises: bool = False
    user_message_uuids: list[str] = msgspec.field(default_factory=list[str])


class StatusMessage(SystemMessage):
    """What the session is busy with (`status`, None when it is done), or a new permission mode."""

    subtype: str = "status"
    status: str | None = None
    permission_mode: str = msgspec.field(default="", name="permissionMode")
    compact_result: str = ""
    compact_error: str = ""
    compact_output_chars: int | None = None
    user_message_uuids: list[str] = msgspec.field(default_factory=list[str])


class CompactMetadata(Part):
    """How the conversation was made shorter."""

    trigger: str = ""
    pre_tokens: int = 0
    post_tokens: int | None = None
    cumulative_dropped_tokens: int | None = None
    duration_ms: Number | None = None
    preserved_segment: dict[str, Any] | None = None
    preserved_messages: dict[str, Any] | None = None


class CompactBoundaryMessage(SystemMessage):
    """From here on the conversation is the short one."""

    subtype: str = "compact_boundary"
    compact_metadata: CompactMetadata | None = None
    logical_parent_uuid: str = ""


class ApiRetryMessage(SystemMessage):
    """A call of the model failed and will be made again: what was shown of its answer does not count."""

    subtype: str = "api_retry"
    attempt: int = 0
    max_retries: int = 0
    retry_delay_ms: Number = 0
    error_status: int | None = None
    error: str = ""
    no_response: Any = None


class ModelFallbackMessage(SystemMessage):
    """Another model took over."""

    subtype: str = "model_fallback"
    trigger: str = ""
    original_model: str = ""
    fallback_model: str = ""
    content: str = ""


class ModelRefusalFallbackMessage(ModelFallbackMessage):
    """The model refused, and another one took over: the retracted messages do not count."""

    subtype: str = "model_refusal_fallback"
    direction: str = ""
    scope: str = ""
    request_id: str | None = None
    api_refusal_category: str | None = None
    api_refusal_explanation: str | None = None
    retracted_message_uuids: list[str] = msgspec.field(default_factory=list[str])
    refused_user_message_uuid: str | None = None


class ModelRefusalNoFallbackMessage(SystemMessage):
    """The model refused, and there is no other to ask."""

    subtype: str = "model_refusal_no_fallback"
    original_model: str = ""
    request_id: str | None = None
    api_refusal_category: str | None = None
    api_refusal_explanation: str | None = None
    refused_user_message_uuid: str | None = None
    content: str = ""


class PermissionDeniedMessage(SystemMessage):
    """A rule or the mode refused a tool without asking anybody."""

    subtype: str = "permission_denied"
    tool_name: str = ""
    tool_use_id: str = ""
    agent_id: str = ""
    decision_reason_type: str = ""
    decision_reason_code: str = ""
    decision_reason: str = ""
    message: str = ""


class InformationalMessage(SystemMessage):
    """A line for the human."""

    subtype: str = "informational"
    content: str = ""
    level: str = ""
    tag: str = ""
    tool_use_id: str = ""
    prevent_continuation: bool = False
    prompt_submit_outcome: dict[str, Any] | None = None
    is_meta: bool = msgspec.field(default=False, name="isMeta")
    timestamp: str = ""


class NotificationMessage(SystemMessage):
    """A short notice for the human, which may go away by itself."""

    subtype: str = "notification"
    key: str = ""
    text: str = ""
    priority: str = ""
    color: str = ""
    timeout_ms: Number | None = None


class ThinkingTokensMessage(SystemMessage):
    """How much the model has thought so far."""

    subtype: str = "thinking_tokens"
    estimated_tokens: int = 0
    estimated_tokens_delta: int = 0
    user_message_uuid: str = ""


class SessionStateChangedMessage(SystemMessage):
    """The session is idle, running, or waits for an answer; `idle` is the true end of a run."""

    subtype: str = "session_state_changed"
    state: str = ""
    sdk_host_only: bool = False


class SessionTitleChangedMessage(SystemMessage):
    """The session has another name."""

    subtype: str = "session_title_changed"
    title: str | None = None


class ControlRequestProgressMessage(SystemMessage):
    """A control request takes its time."""

    subtype: str = "control_request_progress"
    request_id: str = ""
    status: str = ""
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: Number | None = None
    error_status: int | None = None


class UiInvalidateMessage(SystemMessage):
    """What a page shows of the session is out of date."""

    subtype: str = "ui_invalidate"


class LocalCommandOutputMessage(SystemMessage):
    """What a slash command printed that ran without the model."""

    subtype: str = "local_command_output"
    content: str = ""


class PluginInstallMessage(SystemMessage):
    """How the installation of plugins goes."""

    subtype: str = "plugin_install"
    status: str = ""
    name: str = ""
    error: str = ""


class WorkerShuttingDownMessage(SystemMessage):
    """The process that runs the session ends."""

    subtype: str = "worker_shutting_down"
    reason: str = ""


class CommandsChangedMessage(SystemMessage):
    """The slash commands are these now."""

    subtype: str = "commands_changed"
    commands: list[Any] = msgspec.field(default_factory=list[Any])


class FilesPersistedMessage(SystemMessage):
    """Files were saved, or could not be."""

    subtype: str = "files_persisted"
    files: list[Any] = msgspec.field(default_factory=list[Any])
    failed: list[Any] = msgspec.field(default_factory=list[Any])
    processed_at: str = ""


class MemoryRecallMessage(SystemMessage):
    """What was remembered from earlier sessions."""

    subtype: str = "memory_recall"
    mode: str = ""
    memories: list[Any] = msgspec.field(default_factory=list[Any])


class ElicitationCompleteMessage(SystemMessage):
    """A question of an MCP server was answered."""

    subtype: str = "elicitation_complete"
    mcp_server_name: str = ""
    elicitation_id: str = ""


class MirrorErrorMessage(SystemMessage):
    """A copy of the session could not be written."""

    subtype: str = "mirror_error"
    error: str = ""
    key: Any = None


class SessionWritesLostMessage(SystemMessage):
    """Lines of the session's file were lost."""

    subtype: str = "session_writes_lost"
    error_code: str = ""
    lost: Any = None
    transcript_session_ids: list[str] = msgspec.field(default_factory=list[str])
