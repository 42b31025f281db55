"""Handrail: both ends of the Claude CLI's stream-json and control protocol, and an SDK that drives it.

All public names are here. The module of a name is imported on first use, so that `import handrail` is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import handrail.blocking as blocking
    from handrail.client.callbacks import (
        Allow,
        Deny,
        ElicitationAnswer,
        ElicitationRequest,
        PermissionRequest,
        UserDialogRequest,
    )
    from handrail.client.errors import (
        CallerError,
        CliNotFound,
        ControlError,
        ControlRefused,
        ControlTimeout,
        Disconnected,
        HandrailError,
        HandshakeFailed,
        InboxFull,
        InternalError,
        LocalProtocolError,
        MachineError,
        NotSupported,
        OptionsError,
        PeerError,
        ProtocolError,
        RemoteProtocolError,
        RewindRefused,
        SessionStoreError,
        StartFailed,
        TurnCancelled,
        TurnFailed,
        WarmSessionExpired,
    )
    from handrail.client.find_cli import find_cli
    from handrail.client.hook_callbacks import HookMatcher
    from handrail.client.mcp_results import (
        ToolResult,
        audio_content,
        embedded_resource,
        image_content,
        resource_link,
        text_content,
    )
    from handrail.client.mcp_servers import McpServer, mcp_server
    from handrail.client.mcp_tools import Tool, ToolContext, tool
    from handrail.client.options import Options
    from handrail.client.query import Query, query
    from handrail.client.readers import FrameReader, MessageReader, TurnReader
    from handrail.client.rule_policy import RulePolicy
    from handrail.client.session import Session
    from handrail.client.turn import Turn, TurnResult
    from handrail.client.usage import TurnUsage
    from handrail.client.warm import WarmSession, startup
    from handrail.schema.activity_messages import (
        ActiveGoalMessage,
        AuthStatusMessage,
        BackgroundTasksChangedMessage,
        BashCommandMessage,
        CommandLifecycleMessage,
        ConversationResetMessage,
        HookEventMessage,
        HookProgressMessage,
        HookResponseMessage,
        HookStartedMessage,
        KeepAliveMessage,
        PromptSuggestionMessage,
        RateLimitEvent,
        RateLimitInfo,
        TaskMessage,
        TaskNotificationMessage,
        TaskProgressMessage,
        TaskStartedMessage,
        TaskUpdatedMessage,
        ToolProgressMessage,
        ToolUseSummaryMessage,
        TranscriptMirrorMessage,
        UpdateEnvironmentVariablesMessage,
    )
    from handrail.schema.content import (
        AdvisorToolResultBlock,
        BashCodeExecutionToolResultBlock,
        Block,
        CodeExecutionToolResultBlock,
        CompactionBlock,
        ContainerUploadBlock,
        DocumentBlock,
        ImageBlock,
        McpToolResultBlock,
        McpToolUseBlock,
        RedactedThinkingBlock,
        SearchResultBlock,
        ServerToolResultBlock,
        ServerToolUseBlock,
        TextBlock,
        TextEditorCodeExecutionToolResultBlock,
        ThinkingBlock,
        ToolReferenceBlock,
        ToolResultBlock,
        ToolSearchToolResultBlock,
        ToolUseBlock,
        UnknownBlock,
        WebFetchToolResultBlock,
        WebSearchToolResultBlock,
    )
    from handrail.schema.hooks import HookInput, HookOutput
    from handrail.schema.message_view import MessageView, UnknownMessage
    from handrail.schema.messages import AssistantMessage, ErrorMessage, UserMessage
    from handrail.schema.permission_types import PermissionRuleValue, PermissionUpdate
    from handrail.schema.questions import Question
    from handrail.schema.result_message import ResultMessage
    from handrail.schema.stream_events import StreamEvent
    from handrail.schema.system_messages import (
        ApiRetryMessage,
        CommandsChangedMessage,
        CompactBoundaryMessage,
        ControlRequestProgressMessage,
        ElicitationCompleteMessage,
        FilesPersistedMessage,
        InformationalMessage,
        InitMessage,
        LocalCommandOutputMessage,
        MemoryRecallMessage,
        MirrorErrorMessage,
        ModelFallbackMessage,
        ModelRefusalFallbackMessage,
        ModelRefusalNoFallbackMessage,
        NotificationMessage,
        PermissionDeniedMessage,
        PluginInstallMessage,
        SessionStateChangedMessage,
        SessionTitleChangedMessage,
        SessionWritesLostMessage,
        StatusMessage,
        SystemMessage,
        ThinkingTokensMessage,
        UiInvalidateMessage,
        WorkerShuttingDownMessage,
    )
    from handrail.transcripts import (
        archive_session,
        delete_session,
        fork_session,
        list_sessions,
        read_session,
        rename_session,
        search_sessions,
        tag_session,
        unarchive_session,
    )
    from handrail.transport.base import Ending, Transport

_PLACES = {
    "client.callbacks": "Allow Deny ElicitationAnswer ElicitationRequest PermissionRequest UserDialogRequest",
    "client.errors": "CallerError CliNotFound ControlError ControlRefused ControlTimeout Disconnected HandrailError"
    " HandshakeFailed InboxFull InternalError LocalProtocolError MachineError NotSupported OptionsError PeerError"
    " ProtocolError RemoteProtocolError RewindRefused SessionStoreError StartFailed TurnCancelled TurnFailed"
    " WarmSessionExpired",
    "client.find_cli": "find_cli",
    "client.hook_callbacks": "HookMatcher",
    "client.mcp_results": "ToolResult audio_content embedded_resource image_content resource_link text_content",
    "client.mcp_servers": "McpServer mcp_server",
    "client.mcp_tools": "Tool ToolContext tool",
    "client.options": "Options",
    "client.query": "Query query",
    "client.readers": "FrameReader MessageReader TurnReader",
    "client.rule_policy": "RulePolicy",
    "client.session": "Session",
    "client.turn": "Turn TurnResult",
    "client.usage": "TurnUsage",
    "client.warm": "WarmSession startup",
    "schema.activity_messages": "ActiveGoalMessage AuthStatusMessage BackgroundTasksChangedMessage BashCommandMessage"
    " CommandLifecycleMessage ConversationResetMessage HookEventMessage HookProgressMessage"
    " HookResponseMessage HookStartedMessage KeepAliveMessage PromptSuggestionMessage RateLimitEvent"
    " RateLimitInfo TaskMessage TaskNotificationMessage TaskProgressMessage TaskStartedMessage"
    " TaskUpdatedMessage ToolProgressMessage ToolUseSummaryMessage TranscriptMirrorMessage"
    " UpdateEnvironmentVariablesMessage",
    "schema.content": "AdvisorToolResultBlock BashCodeExecutionToolResultBlock Block CodeExecutionToolResultBlock"
    " CompactionBlock ContainerUploadBlock DocumentBlock ImageBlock McpToolResultBlock McpToolUseBlock"
    " RedactedThinkingBlock SearchResultBlock ServerToolResultBlock ServerToolUseBlock TextBlock"
    " TextEditorCodeExecutionToolResultBlock ThinkingBlock ToolReferenceBlock ToolResultBlock"
    " ToolSearchToolResultBlock ToolUseBlock UnknownBlock WebFetchToolResultBlock WebSearchToolResultBlock",
    "schema.hooks": "HookInput HookOutput",
    "schema.message_view": "MessageView UnknownMessage",
    "schema.messages": "AssistantMessage ErrorMessage UserMessage",
    "schema.permission_types": "PermissionRuleValue PermissionUpdate",
    "schema.questions": "Question",
    "schema.result_message": "ResultMessage",
    "schema.stream_events": "StreamEvent",
    "schema.system_messages": "ApiRetryMessage CommandsChangedMessage CompactBoundaryMessage"
    " ControlRequestProgressMessage ElicitationCompleteMessage FilesPersistedMessage InformationalMessage InitMessage"
    " LocalCommandOutputMessage MemoryRecallMessage MirrorErrorMessage ModelFallbackMessage"
    " ModelRefusalFallbackMessage ModelRefusalNoFallbackMessage NotificationMessage PermissionDeniedMessage"
    " PluginInstallMessage SessionStateChangedMessage SessionTitleChangedMessage SessionWritesLostMessage"
    " StatusMessage SystemMessage ThinkingTokensMessage UiInvalidateMessage WorkerShuttingDownMessage",
    "transcripts": "archive_session delete_session fork_session list_sessions read_session rename_session"
    " search_sessions tag_session unarchive_session",
    "transport.base": "Ending Transport",
}
"""Where each public name lives."""

_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}

__all__ = [
    "ActiveGoalMessage",
    "AdvisorToolResultBlock",
    "Allow",
    "ApiRetryMessage",
    "AssistantMessage",
    "AuthStatusMessage",
    "BackgroundTasksChangedMessage",
    "BashCodeExecutionToolResultBlock",
    "BashCommandMessage",
    "Block",
    "CallerError",
    "CliNotFound",
    "CodeExecutionToolResultBlock",
    "CommandLifecycleMessage",
    "CommandsChangedMessage",
    "CompactBoundaryMessage",
    "CompactionBlock",
    "ContainerUploadBlock",
    "ControlError",
    "ControlRefused",
    "ControlRequestProgressMessage",
    "ControlTimeout",
    "ConversationResetMessage",
    "Deny",
    "Disconnected",
    "DocumentBlock",
    "ElicitationAnswer",
    "ElicitationCompleteMessage",
    "ElicitationRequest",
    "Ending",
    "ErrorMessage",
    "FilesPersistedMessage",
    "FrameReader",
    "HandrailError",
    "HandshakeFailed",
    "HookEventMessage",
    "HookInput",
    "HookMatcher",
    "HookOutput",
    "HookProgressMessage",
    "HookResponseMessage",
    "HookStartedMessage",
    "ImageBlock",
    "InboxFull",
    "InformationalMessage",
    "InitMessage",
    "InternalError",
    "KeepAliveMessage",
    "LocalCommandOutputMessage",
    "LocalProtocolError",
    "MachineError",
    "McpServer",
    "McpToolResultBlock",
    "McpToolUseBlock",
    "MemoryRecallMessage",
    "MessageReader",
    "MessageView",
    "MirrorErrorMessage",
    "ModelFallbackMessage",
    "ModelRefusalFallbackMessage",
    "ModelRefusalNoFallbackMessage",
    "NotSupported",
    "NotificationMessage",
    "Options",
    "OptionsError",
    "PeerError",
    "PermissionDeniedMessage",
    "PermissionRequest",
    "PermissionRuleValue",
    "PermissionUpdate",
    "PluginInstallMessage",
    "PromptSuggestionMessage",
    "ProtocolError",
    "Query",
    "Question",
    "RateLimitEvent",
    "RateLimitInfo",
    "RedactedThinkingBlock",
    "RemoteProtocolError",
    "ResultMessage",
    "RewindRefused",
    "RulePolicy",
    "SearchResultBlock",
    "ServerToolResultBlock",
    "ServerToolUseBlock",
    "Session",
    "SessionStateChangedMessage",
    "SessionStoreError",
    "SessionTitleChangedMessage",
    "SessionWritesLostMessage",
    "StartFailed",
    "StatusMessage",
    "StreamEvent",
    "SystemMessage",
    "TaskMessage",
    "TaskNotificationMessage",
    "TaskProgressMessage",
    "TaskStartedMessage",
    "TaskUpdatedMessage",
    "TextBlock",
    "TextEditorCodeExecutionToolResultBlock",
    "ThinkingBlock",
    "ThinkingTokensMessage",
    "Tool",
    "ToolContext",
    "ToolProgressMessage",
    "ToolReferenceBlock",
    "ToolResult",
    "ToolResultBlock",
    "ToolSearchToolResultBlock",
    "ToolUseBlock",
    "ToolUseSummaryMessage",
    "TranscriptMirrorMessage",
    "Transport",
    "Turn",
    "TurnCancelled",
    "TurnFailed",
    "TurnReader",
    "TurnResult",
    "TurnUsage",
    "UiInvalidateMessage",
    "UnknownBlock",
    "UnknownMessage",
    "UpdateEnvironmentVariablesMessage",
    "UserDialogRequest",
    "UserMessage",
    "WarmSession",
    "WarmSessionExpired",
    "WebFetchToolResultBlock",
    "WebSearchToolResultBlock",
    "WorkerShuttingDownMessage",
    "archive_session",
    "audio_content",
    "blocking",
    "delete_session",
    "embedded_resource",
    "find_cli",
    "fork_session",
    "image_content",
    "list_sessions",
    "mcp_server",
    "query",
    "read_session",
    "rename_session",
    "resource_link",
    "search_sessions",
    "startup",
    "tag_session",
    "text_content",
    "tool",
    "unarchive_session",
]


def __getattr__(name: str) -> Any:
    if name == "blocking":
        return importlib.import_module("handrail.blocking")
    if name not in _MODULES:
        raise AttributeError(f"module 'handrail' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"handrail.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
