"""`system` lines: one view per subtype. Other subtypes are a plain SystemMessage with their fields in `data`."""

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
    """A message about the session, outside the conversation."""

    type: str = "system"
    subtype: str = ""
    parent_tool_use_id: str | None = None
    """The tool call that started the subagent, if the message is about one."""

    @property
    def data(self) -> dict[str, Any]:
        """The whole message as a dict."""
        return as_builtins(self)


class McpServer(Part):
    """An MCP server of the session."""

    always = frozenset({"name", "status"})
    name: str = ""
    status: str = ""
    source: str = ""


class McpServerError(Part):
    """An MCP server that could not be configured, and the reason."""

    always = frozenset({"name", "type", "message"})
    name: str = ""
    type: str = ""
    message: str = ""


class Plugin(Part):
    """A plugin of the session."""

    always = frozenset({"name", "path"})
    name: str = ""
    path: str = ""
    source: str = ""
    version: str = ""


class PluginError(Part):
    """A plugin that could not be loaded, and the reason."""

    always = frozenset({"plugin", "type", "message"})
    plugin: str = ""
    type: str = ""
    message: str = ""
    path: str = ""


class InitMessage(SystemMessage):
    """The state of the session at the start of a turn. Every turn has one; none is sent before the first prompt."""

    always = frozenset(
        {
            "model",
            "cwd",
            "original_cwd",
            "additional_directories",
            "tools",
            "mcp_servers",
            "permissionMode",
            "slash_commands",
            "terminal_slash_commands",
            "agents",
            "skills",
            "plugins",
            "output_style",
            "apiKeySource",
            "claude_code_version",
            "capabilities",
            "fast_mode_state",
            "memory_paths",
        }
    )
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
    """The work in progress (`status`, None after it ended), or a new permission mode."""

    always = frozenset({"status"})
    subtype: str = "status"
    status: str | None = None
    permission_mode: str = msgspec.field(default="", name="permissionMode")
    compact_result: str = ""
    compact_error: str = ""
    compact_output_chars: int | None = None
    user_message_uuids: list[str] = msgspec.field(default_factory=list[str])


class CompactMetadata(Part):
    """How the conversation was compacted."""

    always = frozenset({"trigger", "pre_tokens"})
    trigger: str = ""
    pre_tokens: int = 0
    post_tokens: int | None = None
    cumulative_dropped_tokens: int | None = None
    duration_ms: Number | None = None
    preserved_segment: dict[str, Any] | None = None
    preserved_messages: dict[str, Any] | None = None


class CompactBoundaryMessage(SystemMessage):
    """The conversation was compacted here."""

    always = frozenset({"compact_metadata"})
    subtype: str = "compact_boundary"
    compact_metadata: CompactMetadata | None = None
    logical_parent_uuid: str = ""


class ApiRetryMessage(SystemMessage):
    """A model request failed and is retried. A client discards what it showed of the answer."""

    always = frozenset({"attempt", "max_retries", "retry_delay_ms", "error_status", "error"})
    subtype: str = "api_retry"
    attempt: int = 0
    max_retries: int = 0
    retry_delay_ms: Number = 0
    error_status: int | None = None
    error: str = ""
    no_response: Any = None


class ModelFallbackMessage(SystemMessage):
    """The session changed to its fallback model."""

    always = frozenset({"trigger", "original_model", "fallback_model", "content"})
    subtype: str = "model_fallback"
    trigger: str = ""
    original_model: str = ""
    fallback_model: str = ""
    content: str = ""


class ModelRefusalFallbackMessage(ModelFallbackMessage):
    """The model refused and another one answers. A client removes the retracted messages."""

    subtype: str = "model_refusal_fallback"
    direction: str = ""
    scope: str = ""
    request_id: str | None = None
    api_refusal_category: str | None = None
    api_refusal_explanation: str | None = None
    retracted_message_uuids: list[str] = msgspec.field(default_factory=list[str])
    refused_user_message_uuid: str | None = None


class ModelRefusalNoFallbackMessage(SystemMessage):
    """The model refused, and the session lacks a fallback model."""

    subtype: str = "model_refusal_no_fallback"
    original_model: str = ""
    request_id: str | None = None
    api_refusal_category: str | None = None
    api_refusal_explanation: str | None = None
    refused_user_message_uuid: str | None = None
    content: str = ""


class PermissionDeniedMessage(SystemMessage):
    """A tool call was denied by a rule or by the mode, without a question."""

    always = frozenset({"tool_name", "tool_use_id", "message"})
    subtype: str = "permission_denied"
    tool_name: str = ""
    tool_use_id: str = ""
    agent_id: str = ""
    decision_reason_type: str = ""
    decision_reason_code: str = ""
    decision_reason: str = ""
    message: str = ""


class InformationalMessage(SystemMessage):
    """A line for the user."""

    always = frozenset({"content", "level"})
    subtype: str = "informational"
    content: str = ""
    level: str = ""
    tag: str = ""
    tool_use_id: str = ""
    prevent_continuation: bool = False
    prompt_submit_outcome: dict[str, Any] | None = None
    hook_no_verdict: dict[str, Any] | None = None
    """The hook that was ended at its time limit."""
    is_meta: bool = msgspec.field(default=False, name="isMeta")
    timestamp: str = ""


class NotificationMessage(SystemMessage):
    """A short notice for the user; it may disappear after `timeout_ms`."""

    always = frozenset({"key", "text", "priority"})
    subtype: str = "notification"
    key: str = ""
    text: str = ""
    priority: str = ""
    color: str = ""
    timeout_ms: Number | None = None


class ThinkingTokensMessage(SystemMessage):
    """An estimate of the thinking tokens so far."""

    always = frozenset({"estimated_tokens", "estimated_tokens_delta"})
    subtype: str = "thinking_tokens"
    estimated_tokens: int = 0
    estimated_tokens_delta: int = 0
    user_message_uuid: str = ""


class SessionStateChangedMessage(SystemMessage):
    """The session is `idle`, `running` or `requires_action`. `idle` is the reliable end of a run."""

    always = frozenset({"state"})
    subtype: str = "session_state_changed"
    state: str = ""
    sdk_host_only: bool = False


class SessionTitleChangedMessage(SystemMessage):
    """The session was renamed."""

    always = frozenset({"title"})
    subtype: str = "session_title_changed"
    title: str | None = None
    source: str = ""


class ControlRequestProgressMessage(SystemMessage):
    """Progress of a slow control request."""

    always = frozenset({"request_id", "status"})
    subtype: str = "control_request_progress"
    request_id: str = ""
    status: str = ""
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: Number | None = None
    error_status: int | None = None


class UiInvalidateMessage(SystemMessage):
    """Data that a client displays is out of date; `event` says which."""

    subtype: str = "ui_invalidate"
    event: str = ""


class LocalCommandOutputMessage(SystemMessage):
    """The output of a slash command that ran without the model."""

    subtype: str = "local_command_output"
    content: str = ""


class PluginInstallMessage(SystemMessage):
    """Progress of a plugin installation."""

    subtype: str = "plugin_install"
    status: str = ""
    name: str = ""
    error: str = ""


class WorkerShuttingDownMessage(SystemMessage):
    """The process of the session is about to exit."""

    subtype: str = "worker_shutting_down"
    reason: str = ""


class CommandsChangedMessage(SystemMessage):
    """The new list of slash commands."""

    always = frozenset({"commands"})
    subtype: str = "commands_changed"
    commands: list[Any] = msgspec.field(default_factory=list[Any])


class FilesPersistedMessage(SystemMessage):
    """Files that were saved, and those that could not be."""

    subtype: str = "files_persisted"
    files: list[Any] = msgspec.field(default_factory=list[Any])
    failed: list[Any] = msgspec.field(default_factory=list[Any])
    processed_at: str = ""


class MemoryRecallMessage(SystemMessage):
    """Memories from earlier sessions."""

    subtype: str = "memory_recall"
    mode: str = ""
    memories: list[Any] = msgspec.field(default_factory=list[Any])


class ElicitationCompleteMessage(SystemMessage):
    """A question of an MCP server was answered."""

    subtype: str = "elicitation_complete"
    mcp_server_name: str = ""
    elicitation_id: str = ""


class MirrorErrorMessage(SystemMessage):
    """The transcript mirror could not be written."""

    subtype: str = "mirror_error"
    error: str = ""
    key: Any = None


class SessionWritesLostMessage(SystemMessage):
    """Lines of the transcript were lost."""

    subtype: str = "session_writes_lost"
    error_code: str = ""
    lost: Any = None
    transcript_session_ids: list[str] = msgspec.field(default_factory=list[str])
