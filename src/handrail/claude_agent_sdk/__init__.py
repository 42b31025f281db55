"""The interface of the official `claude_agent_sdk`, on Handrail.

    from handrail.claude_agent_sdk import ClaudeAgentOptions, query

Names, signatures, fields and behaviour are those of the version in `__version__`; the differences are listed in
docs/guides/coming-from-claude-agent-sdk.md. The module of a name is imported when the name is first used.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from handrail.claude_agent_sdk.version import __version__

if TYPE_CHECKING:
    from types import FrameType

    from handrail.claude_agent_sdk.blocks import (
        ContentBlock,
        ServerToolName,
        ServerToolResultBlock,
        ServerToolUseBlock,
        TextBlock,
        ThinkingBlock,
        ToolResultBlock,
        ToolUseBlock,
    )
    from handrail.claude_agent_sdk.client import (
        ClaudeSDKClient,
    )
    from handrail.claude_agent_sdk.context_usage import (
        ContextUsageCategory,
        ContextUsageResponse,
    )
    from handrail.claude_agent_sdk.errors import (
        ClaudeSDKError,
        CLIConnectionError,
        CLIJSONDecodeError,
        CLINotFoundError,
        ProcessError,
        ResultError,
    )
    from handrail.claude_agent_sdk.hooks import (
        BackgroundTaskSummary,
        BaseHookInput,
        CwdChangedHookSpecificOutput,
        ElicitationHookSpecificOutput,
        ElicitationResultHookSpecificOutput,
        FileChangedHookSpecificOutput,
        HookCallback,
        HookContext,
        HookEffort,
        HookInput,
        HookJSONOutput,
        HookMatcher,
        MessageDisplayHookSpecificOutput,
        NotificationHookInput,
        NotificationHookSpecificOutput,
        PermissionDeniedHookSpecificOutput,
        PermissionRequestHookInput,
        PermissionRequestHookSpecificOutput,
        PostModelSwitchHookSpecificOutput,
        PostToolBatchHookSpecificOutput,
        PostToolUseFailureHookInput,
        PostToolUseFailureHookSpecificOutput,
        PostToolUseHookInput,
        PostToolUseHookSpecificOutput,
        PreCompactHookInput,
        PreModelSwitchHookSpecificOutput,
        PreToolUseHookInput,
        PreToolUseHookSpecificOutput,
        SessionCronSummary,
        SessionStartHookSpecificOutput,
        StopHookInput,
        StopHookSpecificOutput,
        SubagentStartHookInput,
        SubagentStartHookSpecificOutput,
        SubagentStopHookInput,
        SubagentStopHookSpecificOutput,
        UserPromptExpansionHookSpecificOutput,
        UserPromptSubmitHookInput,
        UserPromptSubmitHookSpecificOutput,
        WorktreeCreateHookSpecificOutput,
    )
    from handrail.claude_agent_sdk.mcp_configs import (
        McpSdkServerConfig,
        McpServerConfig,
        McpServerConnectionStatus,
        McpServerInfo,
        McpServerStatus,
        McpServerStatusConfig,
        McpStatusResponse,
        McpToolAnnotations,
        McpToolInfo,
    )
    from handrail.claude_agent_sdk.messages import (
        TERMINAL_TASK_STATUSES,
        AssistantMessage,
        ConversationResetMessage,
        DeferredToolUse,
        HookEventMessage,
        Message,
        MessageOrigin,
        MessageOriginKind,
        MirrorErrorMessage,
        ModelUsage,
        RateLimitEvent,
        RateLimitInfo,
        RateLimitStatus,
        RateLimitType,
        ResultMessage,
        StreamEvent,
        SystemMessage,
        TaskNotificationMessage,
        TaskNotificationOriginSubkind,
        TaskNotificationStatus,
        TaskProgressMessage,
        TaskStartedMessage,
        TaskUpdatedMessage,
        TaskUpdatedStatus,
        TaskUsage,
        UserMessage,
    )
    from handrail.claude_agent_sdk.options import (
        AgentDefinition,
        ClaudeAgentOptions,
        EffortLevel,
        SandboxIgnoreViolations,
        SandboxNetworkConfig,
        SandboxSettings,
        SdkBeta,
        SdkPluginConfig,
        SettingSource,
        TaskBudget,
        ThinkingConfig,
        ThinkingConfigAdaptive,
        ThinkingConfigDisabled,
        ThinkingConfigEnabled,
    )
    from handrail.claude_agent_sdk.permissions import (
        CanUseTool,
        CanUseToolShadowedWarning,
        PermissionMode,
        PermissionResult,
        PermissionResultAllow,
        PermissionResultDeny,
        PermissionUpdate,
        ToolPermissionContext,
    )
    from handrail.claude_agent_sdk.queries import (
        query,
    )
    from handrail.claude_agent_sdk.session_store import (
        InMemorySessionStore,
        SessionKey,
        SessionListSubkeysKey,
        SessionStore,
        SessionStoreEntry,
        SessionStoreFlushMode,
        SessionStoreListEntry,
        SessionSummaryEntry,
        delete_session_via_store,
        fold_session_summary,
        fork_session_via_store,
        get_session_info_from_store,
        get_session_messages_from_store,
        get_subagent_messages_from_store,
        import_session_to_store,
        list_sessions_from_store,
        list_subagents_from_store,
        project_key_for_directory,
        rename_session_via_store,
        tag_session_via_store,
    )
    from handrail.claude_agent_sdk.session_types import (
        ForkSessionResult,
        SDKSessionInfo,
        SessionMessage,
    )
    from handrail.claude_agent_sdk.sessions import (
        delete_session,
        fork_session,
        get_session_info,
        get_session_messages,
        get_subagent_messages,
        list_sessions,
        list_subagents,
        rename_session,
        tag_session,
    )
    from handrail.claude_agent_sdk.system_init import (
        FastModeDisabledReason,
        FastModeState,
        SystemInitData,
        SystemInitMcpServer,
        SystemInitPlugin,
        SystemInitPluginError,
    )
    from handrail.claude_agent_sdk.tools import (
        SdkMcpTool,
        ToolAnnotations,
        create_sdk_mcp_server,
        tool,
    )
    from handrail.claude_agent_sdk.transport import (
        Transport,
    )

_PLACES = {
    "blocks": "ContentBlock ServerToolName ServerToolResultBlock ServerToolUseBlock TextBlock ThinkingBlock"
    " ToolResultBlock ToolUseBlock",
    "client": "ClaudeSDKClient",
    "context_usage": "ContextUsageCategory ContextUsageResponse",
    "errors": "CLIConnectionError CLIJSONDecodeError CLINotFoundError ClaudeSDKError ProcessError ResultError",
    "hooks": "BackgroundTaskSummary BaseHookInput CwdChangedHookSpecificOutput ElicitationHookSpecificOutput"
    " ElicitationResultHookSpecificOutput FileChangedHookSpecificOutput HookCallback HookContext"
    " HookEffort HookInput HookJSONOutput HookMatcher MessageDisplayHookSpecificOutput NotificationHookInput"
    " NotificationHookSpecificOutput PermissionDeniedHookSpecificOutput PermissionRequestHookInput"
    " PermissionRequestHookSpecificOutput PostModelSwitchHookSpecificOutput"
    " PostToolBatchHookSpecificOutput PostToolUseFailureHookInput PostToolUseFailureHookSpecificOutput"
    " PostToolUseHookInput PostToolUseHookSpecificOutput PreCompactHookInput"
    " PreModelSwitchHookSpecificOutput PreToolUseHookInput PreToolUseHookSpecificOutput SessionCronSummary"
    " SessionStartHookSpecificOutput StopHookInput StopHookSpecificOutput SubagentStartHookInput"
    " SubagentStartHookSpecificOutput SubagentStopHookInput SubagentStopHookSpecificOutput"
    " UserPromptExpansionHookSpecificOutput UserPromptSubmitHookInput UserPromptSubmitHookSpecificOutput"
    " WorktreeCreateHookSpecificOutput",
    "mcp_configs": "McpSdkServerConfig McpServerConfig McpServerConnectionStatus McpServerInfo McpServerStatus"
    " McpServerStatusConfig McpStatusResponse McpToolAnnotations McpToolInfo",
    "messages": "AssistantMessage ConversationResetMessage DeferredToolUse HookEventMessage Message MessageOrigin"
    " MessageOriginKind MirrorErrorMessage ModelUsage RateLimitEvent RateLimitInfo RateLimitStatus"
    " RateLimitType ResultMessage StreamEvent SystemMessage TERMINAL_TASK_STATUSES TaskNotificationMessage"
    " TaskNotificationOriginSubkind TaskNotificationStatus TaskProgressMessage TaskStartedMessage"
    " TaskUpdatedMessage TaskUpdatedStatus TaskUsage UserMessage",
    "options": "AgentDefinition ClaudeAgentOptions EffortLevel SandboxIgnoreViolations SandboxNetworkConfig"
    " SandboxSettings SdkBeta SdkPluginConfig SettingSource TaskBudget ThinkingConfig"
    " ThinkingConfigAdaptive ThinkingConfigDisabled ThinkingConfigEnabled",
    "permissions": "CanUseTool CanUseToolShadowedWarning PermissionMode PermissionResult PermissionResultAllow"
    " PermissionResultDeny PermissionUpdate ToolPermissionContext",
    "queries": "query",
    "session_store": "InMemorySessionStore SessionKey SessionListSubkeysKey SessionStore SessionStoreEntry"
    " SessionStoreFlushMode SessionStoreListEntry SessionSummaryEntry delete_session_via_store"
    " fold_session_summary fork_session_via_store get_session_info_from_store"
    " get_session_messages_from_store get_subagent_messages_from_store import_session_to_store"
    " list_sessions_from_store list_subagents_from_store project_key_for_directory"
    " rename_session_via_store tag_session_via_store",
    "session_types": "ForkSessionResult SDKSessionInfo SessionMessage",
    "sessions": "delete_session fork_session get_session_info get_session_messages get_subagent_messages"
    " list_sessions list_subagents rename_session tag_session",
    "system_init": "FastModeDisabledReason FastModeState SystemInitData SystemInitMcpServer SystemInitPlugin"
    " SystemInitPluginError",
    "tools": "SdkMcpTool ToolAnnotations create_sdk_mcp_server tool",
    "transport": "Transport",
}
"""The names of each module."""

_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}

__all__ = [
    "TERMINAL_TASK_STATUSES",
    "AgentDefinition",
    "AssistantMessage",
    "BackgroundTaskSummary",
    "BaseHookInput",
    "CLIConnectionError",
    "CLIJSONDecodeError",
    "CLINotFoundError",
    "CanUseTool",
    "CanUseToolShadowedWarning",
    "ClaudeAgentOptions",
    "ClaudeSDKClient",
    "ClaudeSDKError",
    "ContentBlock",
    "ContextUsageCategory",
    "ContextUsageResponse",
    "ConversationResetMessage",
    "CwdChangedHookSpecificOutput",
    "DeferredToolUse",
    "EffortLevel",
    "ElicitationHookSpecificOutput",
    "ElicitationResultHookSpecificOutput",
    "FastModeDisabledReason",
    "FastModeState",
    "FileChangedHookSpecificOutput",
    "ForkSessionResult",
    "HookCallback",
    "HookContext",
    "HookEffort",
    "HookEventMessage",
    "HookInput",
    "HookJSONOutput",
    "HookMatcher",
    "InMemorySessionStore",
    "McpSdkServerConfig",
    "McpServerConfig",
    "McpServerConnectionStatus",
    "McpServerInfo",
    "McpServerStatus",
    "McpServerStatusConfig",
    "McpStatusResponse",
    "McpToolAnnotations",
    "McpToolInfo",
    "Message",
    "MessageDisplayHookSpecificOutput",
    "MessageOrigin",
    "MessageOriginKind",
    "MirrorErrorMessage",
    "ModelUsage",
    "NotificationHookInput",
    "NotificationHookSpecificOutput",
    "PermissionDeniedHookSpecificOutput",
    "PermissionMode",
    "PermissionRequestHookInput",
    "PermissionRequestHookSpecificOutput",
    "PermissionResult",
    "PermissionResultAllow",
    "PermissionResultDeny",
    "PermissionUpdate",
    "PostModelSwitchHookSpecificOutput",
    "PostToolBatchHookSpecificOutput",
    "PostToolUseFailureHookInput",
    "PostToolUseFailureHookSpecificOutput",
    "PostToolUseHookInput",
    "PostToolUseHookSpecificOutput",
    "PreCompactHookInput",
    "PreModelSwitchHookSpecificOutput",
    "PreToolUseHookInput",
    "PreToolUseHookSpecificOutput",
    "ProcessError",
    "RateLimitEvent",
    "RateLimitInfo",
    "RateLimitStatus",
    "RateLimitType",
    "ResultError",
    "ResultMessage",
    "SDKSessionInfo",
    "SandboxIgnoreViolations",
    "SandboxNetworkConfig",
    "SandboxSettings",
    "SdkBeta",
    "SdkMcpTool",
    "SdkPluginConfig",
    "ServerToolName",
    "ServerToolResultBlock",
    "ServerToolUseBlock",
    "SessionCronSummary",
    "SessionKey",
    "SessionListSubkeysKey",
    "SessionMessage",
    "SessionStartHookSpecificOutput",
    "SessionStore",
    "SessionStoreEntry",
    "SessionStoreFlushMode",
    "SessionStoreListEntry",
    "SessionSummaryEntry",
    "SettingSource",
    "StopHookInput",
    "StopHookSpecificOutput",
    "StreamEvent",
    "SubagentStartHookInput",
    "SubagentStartHookSpecificOutput",
    "SubagentStopHookInput",
    "SubagentStopHookSpecificOutput",
    "SystemInitData",
    "SystemInitMcpServer",
    "SystemInitPlugin",
    "SystemInitPluginError",
    "SystemMessage",
    "TaskBudget",
    "TaskNotificationMessage",
    "TaskNotificationOriginSubkind",
    "TaskNotificationStatus",
    "TaskProgressMessage",
    "TaskStartedMessage",
    "TaskUpdatedMessage",
    "TaskUpdatedStatus",
    "TaskUsage",
    "TextBlock",
    "ThinkingBlock",
    "ThinkingConfig",
    "ThinkingConfigAdaptive",
    "ThinkingConfigDisabled",
    "ThinkingConfigEnabled",
    "ToolAnnotations",
    "ToolPermissionContext",
    "ToolResultBlock",
    "ToolUseBlock",
    "Transport",
    "UserMessage",
    "UserPromptExpansionHookSpecificOutput",
    "UserPromptSubmitHookInput",
    "UserPromptSubmitHookSpecificOutput",
    "WorktreeCreateHookSpecificOutput",
    "__version__",
    "create_sdk_mcp_server",
    "delete_session",
    "delete_session_via_store",
    "fold_session_summary",
    "fork_session",
    "fork_session_via_store",
    "get_session_info",
    "get_session_info_from_store",
    "get_session_messages",
    "get_session_messages_from_store",
    "get_subagent_messages",
    "get_subagent_messages_from_store",
    "import_session_to_store",
    "list_sessions",
    "list_sessions_from_store",
    "list_subagents",
    "list_subagents_from_store",
    "project_key_for_directory",
    "query",
    "rename_session",
    "rename_session_via_store",
    "tag_session",
    "tag_session_via_store",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name == "types":
        return importlib.import_module(f"{__name__}.types")
    if name not in _MODULES:
        _refuse(name, sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def _refuse(name: str, caller: FrameType) -> NoReturn:
    problem = (
        f"module {__name__!r} has no attribute {name!r}: it matches claude_agent_sdk {__version__}. If a newer version "
        "has the name, update Handrail"
    )
    # `from … import` would replace the text of an AttributeError. Before that it asks for dunder names.
    import dis

    if not name.startswith("__") and dis.opname[caller.f_code.co_code[caller.f_lasti]] == "IMPORT_FROM":
        raise ImportError(problem, name=__name__)
    raise AttributeError(problem, name=name)


def __dir__() -> list[str]:
    return sorted(__all__)
