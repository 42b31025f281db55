"""The messages of the Agent Client Protocol, version 1. Written by `make acp-types`.

A union of objects without a field that tells them apart, and a field without a type, is decoded as it came.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

__all__ = [
    "NOTIFICATIONS",
    "REQUESTS",
    "AgentAuthCapabilities",
    "AgentCapabilities",
    "AgentMessageChunk",
    "AgentThoughtChunk",
    "Annotations",
    "ArchiveSessionRequest",
    "ArchiveSessionResponse",
    "AudioContent",
    "AuthAccount",
    "AuthCapabilities",
    "AuthMethodAgent",
    "AuthMethodTerminal",
    "AuthStatusCapabilities",
    "AuthStatusRequest",
    "AuthStatusResponse",
    "AuthStatusUpdateNotification",
    "AuthenticateRequest",
    "AuthenticateResponse",
    "AvailableCommand",
    "AvailableCommandsUpdate",
    "BlobResourceContents",
    "BooleanConfigOptionCapabilities",
    "BooleanPropertySchema",
    "CancelNotification",
    "CancelRequestNotification",
    "Cancelled",
    "ClientCapabilities",
    "ClientSessionCapabilities",
    "CloseSessionRequest",
    "CloseSessionResponse",
    "CompactionCapabilities",
    "CompactionSummaryChunk",
    "CompactionUpdate",
    "CompleteElicitationNotification",
    "ConfigOptionUpdate",
    "Content",
    "ContentBlock",
    "ContentChunk",
    "Cost",
    "CreateElicitationRequest",
    "CreateElicitationResponse",
    "CreateTerminalRequest",
    "CreateTerminalResponse",
    "CurrentModeUpdate",
    "DeleteSessionRequest",
    "DeleteSessionResponse",
    "Diff",
    "DisableProviderRequest",
    "DisableProviderResponse",
    "ElicitationAcceptAction",
    "ElicitationCapabilities",
    "ElicitationFormCapabilities",
    "ElicitationFormMode",
    "ElicitationRequestScope",
    "ElicitationSchema",
    "ElicitationSchemaType",
    "ElicitationSessionScope",
    "ElicitationUrlCapabilities",
    "ElicitationUrlMode",
    "EmbeddedResource",
    "EnumOption",
    "EnvVariable",
    "Error",
    "ErrorStopReason",
    "FileSystemCapabilities",
    "ForkSessionRequest",
    "ForkSessionResponse",
    "HttpHeader",
    "IdleStateUpdate",
    "ImageContent",
    "Implementation",
    "InitializeRequest",
    "InitializeResponse",
    "IntegerPropertySchema",
    "KillTerminalRequest",
    "KillTerminalResponse",
    "ListProvidersRequest",
    "ListProvidersResponse",
    "ListSessionsRequest",
    "ListSessionsResponse",
    "LoadSessionRequest",
    "LoadSessionResponse",
    "LogoutCapabilities",
    "LogoutRequest",
    "LogoutResponse",
    "McpCapabilities",
    "McpError",
    "McpServerAcp",
    "McpServerHttp",
    "McpServerSse",
    "McpServerStdio",
    "MessageMcpNotification",
    "MessageMcpRequest",
    "MultiSelectPropertySchema",
    "NewSessionRequest",
    "NewSessionResponse",
    "Notice",
    "NoticeCapabilities",
    "NumberPropertySchema",
    "PermissionOption",
    "PermissionOptionKind",
    "Plan",
    "PlanCapabilities",
    "PlanEntry",
    "PlanEntryPriority",
    "PlanEntryStatus",
    "PlanFile",
    "PlanItems",
    "PlanMarkdown",
    "PlanRemoved",
    "PlanUpdate",
    "PlanUpdateContent",
    "PromptCapabilities",
    "PromptRequest",
    "PromptResponse",
    "ProviderCurrentConfig",
    "ProviderInfo",
    "ProvidersCapabilities",
    "ProxySuccessorNotification",
    "ProxySuccessorRequest",
    "ReadTextFileRequest",
    "ReadTextFileResponse",
    "ReleaseTerminalRequest",
    "ReleaseTerminalResponse",
    "RequestPermissionOutcome",
    "RequestPermissionRequest",
    "RequestPermissionResponse",
    "RequiresActionStateUpdate",
    "ResourceLink",
    "ResumeSessionRequest",
    "ResumeSessionResponse",
    "Role",
    "RunningStateUpdate",
    "SelectedPermissionOutcome",
    "SessionAdditionalDirectoriesCapabilities",
    "SessionArchiveCapabilities",
    "SessionCancelCapabilities",
    "SessionCapabilities",
    "SessionCloseCapabilities",
    "SessionConfigBoolean",
    "SessionConfigOption",
    "SessionConfigOptionsCapabilities",
    "SessionConfigSelect",
    "SessionConfigSelectGroup",
    "SessionConfigSelectOption",
    "SessionDeleteCapabilities",
    "SessionForkCapabilities",
    "SessionInfo",
    "SessionInfoUpdate",
    "SessionListCapabilities",
    "SessionMessage",
    "SessionMessageChunk",
    "SessionMode",
    "SessionModeState",
    "SessionNotification",
    "SessionResumeCapabilities",
    "SessionStatusCapabilities",
    "SessionStatusRequest",
    "SessionStatusResponse",
    "SessionSystemPromptCapabilities",
    "SessionSystemPromptModeCapabilities",
    "SessionSystemPromptOverrideCapabilities",
    "SessionTitleCapabilities",
    "SessionUpdate",
    "SetProviderRequest",
    "SetProviderResponse",
    "SetSessionConfigOptionRequest",
    "SetSessionConfigOptionResponse",
    "SetSessionModeRequest",
    "SetSessionModeResponse",
    "SetSessionTitleRequest",
    "SetSessionTitleResponse",
    "StopReason",
    "StringFormat",
    "StringMultiSelectItems",
    "StringPropertySchema",
    "SubagentCapabilities",
    "SubagentSessionCapabilities",
    "SubagentUpdate",
    "SystemPrompt",
    "Terminal",
    "TerminalExitStatus",
    "TerminalOutputRequest",
    "TerminalOutputResponse",
    "TextContent",
    "TextResourceContents",
    "TitledMultiSelectItems",
    "ToolCall",
    "ToolCallChange",
    "ToolCallContent",
    "ToolCallLocation",
    "ToolCallStatus",
    "ToolCallUpdate",
    "ToolKind",
    "UnarchiveSessionRequest",
    "UnarchiveSessionResponse",
    "UnknownStateUpdate",
    "UnstructuredCommandInput",
    "Usage",
    "UsageUpdate",
    "UserMessageChunk",
    "WaitForTerminalExitRequest",
    "WaitForTerminalExitResponse",
    "WriteTextFileRequest",
    "WriteTextFileResponse",
]

ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]

ToolCallStatus = Literal["pending", "in_progress", "completed", "failed"]

Role = Literal["assistant", "user"]

PermissionOptionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]

ElicitationSchemaType = Literal["object"]

StringFormat = Literal["email", "uri", "date", "date-time"]

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]

PlanEntryPriority = Literal["high", "medium", "low"]

PlanEntryStatus = Literal["pending", "in_progress", "completed"]


class WriteTextFileRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    path: str
    content: str
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ReadTextFileRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    path: str
    line: int | None = None
    limit: int | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class RequestPermissionRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    tool_call: ToolCallUpdate = field(name="toolCall")
    options: list[PermissionOption]
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ToolCallUpdate(Struct, omit_defaults=True, kw_only=True):
    tool_call_id: str = field(name="toolCallId")
    kind: ToolKind | None = None
    status: ToolCallStatus | None = None
    title: str | None = None
    name: str | None = None
    content: list[ToolCallContent] | None = None
    locations: list[ToolCallLocation] | None = None
    raw_input: Any = field(default=None, name="rawInput")
    raw_output: Any = field(default=None, name="rawOutput")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class Annotations(Struct, omit_defaults=True, kw_only=True):
    audience: list[Role] | None = None
    last_modified: str | None = field(default=None, name="lastModified")
    priority: float | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class TextContent(Struct, omit_defaults=True, kw_only=True, tag="text", tag_field="type"):
    text: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ImageContent(Struct, omit_defaults=True, kw_only=True, tag="image", tag_field="type"):
    data: str
    mime_type: str = field(name="mimeType")
    annotations: Annotations | None = None
    uri: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class AudioContent(Struct, omit_defaults=True, kw_only=True, tag="audio", tag_field="type"):
    data: str
    mime_type: str = field(name="mimeType")
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ResourceLink(Struct, omit_defaults=True, kw_only=True, tag="resource_link", tag_field="type"):
    name: str
    uri: str
    annotations: Annotations | None = None
    description: str | None = None
    mime_type: str | None = field(default=None, name="mimeType")
    size: int | None = None
    title: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class TextResourceContents(Struct, omit_defaults=True, kw_only=True):
    text: str
    uri: str
    mime_type: str | None = field(default=None, name="mimeType")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class BlobResourceContents(Struct, omit_defaults=True, kw_only=True):
    blob: str
    uri: str
    mime_type: str | None = field(default=None, name="mimeType")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class EmbeddedResource(Struct, omit_defaults=True, kw_only=True, tag="resource", tag_field="type"):
    resource: Any
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class Content(Struct, omit_defaults=True, kw_only=True, tag="content", tag_field="type"):
    content: ContentBlock
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class Diff(Struct, omit_defaults=True, kw_only=True, tag="diff", tag_field="type"):
    path: str
    new_text: str = field(name="newText")
    old_text: str | None = field(default=None, name="oldText")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class Terminal(Struct, omit_defaults=True, kw_only=True, tag="terminal", tag_field="type"):
    terminal_id: str = field(name="terminalId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ToolCallLocation(Struct, omit_defaults=True, kw_only=True):
    path: str
    line: int | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class PermissionOption(Struct, omit_defaults=True, kw_only=True):
    option_id: str = field(name="optionId")
    name: str
    kind: PermissionOptionKind
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class CreateTerminalRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    command: str
    args: list[str] | None = None
    env: list[EnvVariable] | None = None
    cwd: str | None = None
    output_byte_limit: int | None = field(default=None, name="outputByteLimit")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class EnvVariable(Struct, omit_defaults=True, kw_only=True):
    name: str
    value: str
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class TerminalOutputRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    terminal_id: str = field(name="terminalId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ReleaseTerminalRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    terminal_id: str = field(name="terminalId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class WaitForTerminalExitRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    terminal_id: str = field(name="terminalId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class KillTerminalRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    terminal_id: str = field(name="terminalId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class CreateElicitationRequest(Struct, omit_defaults=True, kw_only=True):
    message: str
    meta: dict[str, Any] | None = field(default=None, name="_meta")
    mode: str | None = None
    requested_schema: ElicitationSchema | None = field(default=None, name="requestedSchema")
    elicitation_id: str | None = field(default=None, name="elicitationId")
    url: str | None = None


class ElicitationSessionScope(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    tool_call_id: str | None = field(default=None, name="toolCallId")


class ElicitationRequestScope(Struct, omit_defaults=True, kw_only=True):
    request_id: Any = field(name="requestId")


class ElicitationSchema(Struct, omit_defaults=True, kw_only=True):
    type: ElicitationSchemaType | None = None
    title: str | None = None
    properties: dict[str, Any] | None = None
    required: list[str] | None = None
    description: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class EnumOption(Struct, omit_defaults=True, kw_only=True):
    const: str
    title: str
    description: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class StringPropertySchema(Struct, omit_defaults=True, kw_only=True):
    title: str | None = None
    description: str | None = None
    min_length: int | None = field(default=None, name="minLength")
    max_length: int | None = field(default=None, name="maxLength")
    pattern: str | None = None
    format: StringFormat | None = None
    default: str | None = None
    enum: list[str] | None = None
    one_of: list[EnumOption] | None = field(default=None, name="oneOf")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class NumberPropertySchema(Struct, omit_defaults=True, kw_only=True):
    title: str | None = None
    description: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    default: float | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class IntegerPropertySchema(Struct, omit_defaults=True, kw_only=True):
    title: str | None = None
    description: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    default: int | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class BooleanPropertySchema(Struct, omit_defaults=True, kw_only=True):
    title: str | None = None
    description: str | None = None
    default: bool | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class StringMultiSelectItems(Struct, omit_defaults=True, kw_only=True):
    enum: list[str]
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class TitledMultiSelectItems(Struct, omit_defaults=True, kw_only=True):
    any_of: list[EnumOption] = field(name="anyOf")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class MultiSelectPropertySchema(Struct, omit_defaults=True, kw_only=True):
    items: Any
    title: str | None = None
    description: str | None = None
    min_items: int | None = field(default=None, name="minItems")
    max_items: int | None = field(default=None, name="maxItems")
    default: list[str] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ElicitationFormMode(Struct, omit_defaults=True, kw_only=True):
    requested_schema: ElicitationSchema = field(name="requestedSchema")
    session_id: str | None = field(default=None, name="sessionId")
    tool_call_id: str | None = field(default=None, name="toolCallId")
    request_id: Any = field(default=None, name="requestId")


class ElicitationUrlMode(Struct, omit_defaults=True, kw_only=True):
    elicitation_id: str = field(name="elicitationId")
    url: str
    session_id: str | None = field(default=None, name="sessionId")
    tool_call_id: str | None = field(default=None, name="toolCallId")
    request_id: Any = field(default=None, name="requestId")


class MessageMcpRequest(Struct, omit_defaults=True, kw_only=True):
    server_id: str = field(name="serverId")
    request_id: str = field(name="requestId")
    method: str
    params: dict[str, Any] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class InitializeResponse(Struct, omit_defaults=True, kw_only=True):
    protocol_version: int = field(name="protocolVersion")
    agent_capabilities: AgentCapabilities | None = field(default=None, name="agentCapabilities")
    auth_methods: list[Any] | None = field(default=None, name="authMethods")
    agent_info: Implementation | None = field(default=None, name="agentInfo")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class AgentCapabilities(Struct, omit_defaults=True, kw_only=True):
    load_session: bool | None = field(default=None, name="loadSession")
    prompt_capabilities: PromptCapabilities | None = field(default=None, name="promptCapabilities")
    mcp_capabilities: McpCapabilities | None = field(default=None, name="mcpCapabilities")
    session_capabilities: SessionCapabilities | None = field(default=None, name="sessionCapabilities")
    auth: AgentAuthCapabilities | None = None
    providers: ProvidersCapabilities | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class PromptCapabilities(Struct, omit_defaults=True, kw_only=True):
    image: bool | None = None
    audio: bool | None = None
    embedded_context: bool | None = field(default=None, name="embeddedContext")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class McpCapabilities(Struct, omit_defaults=True, kw_only=True):
    http: bool | None = None
    sse: bool | None = None
    acp: bool | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionCapabilities(Struct, omit_defaults=True, kw_only=True):
    list: SessionListCapabilities | None = None
    delete: SessionDeleteCapabilities | None = None
    additional_directories: SessionAdditionalDirectoriesCapabilities | None = field(
        default=None, name="additionalDirectories"
    )
    system_prompt: SessionSystemPromptCapabilities | None = field(default=None, name="systemPrompt")
    fork: SessionForkCapabilities | None = None
    archive: SessionArchiveCapabilities | None = None
    status: SessionStatusCapabilities | None = None
    title: SessionTitleCapabilities | None = None
    resume: SessionResumeCapabilities | None = None
    close: SessionCloseCapabilities | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionListCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionDeleteCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionAdditionalDirectoriesCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionSystemPromptCapabilities(Struct, omit_defaults=True, kw_only=True):
    mode: SessionSystemPromptModeCapabilities | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionSystemPromptModeCapabilities(Struct, omit_defaults=True, kw_only=True):
    override: SessionSystemPromptOverrideCapabilities | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionSystemPromptOverrideCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionForkCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionArchiveCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionStatusCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionTitleCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionResumeCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionCloseCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class AgentAuthCapabilities(Struct, omit_defaults=True, kw_only=True):
    status: AuthStatusCapabilities | None = None
    logout: LogoutCapabilities | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class AuthStatusCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class LogoutCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ProvidersCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class AuthMethodTerminal(Struct, omit_defaults=True, kw_only=True):
    id: str
    name: str
    description: str | None = None
    args: list[str] | None = None
    env: dict[str, Any] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class AuthMethodAgent(Struct, omit_defaults=True, kw_only=True):
    id: str
    name: str
    description: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class Implementation(Struct, omit_defaults=True, kw_only=True):
    name: str
    version: str
    title: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class AuthenticateResponse(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ListProvidersResponse(Struct, omit_defaults=True, kw_only=True):
    providers: list[ProviderInfo]
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ProviderInfo(Struct, omit_defaults=True, kw_only=True):
    provider_id: str = field(name="providerId")
    supported: list[str]
    required: bool
    current: ProviderCurrentConfig | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ProviderCurrentConfig(Struct, omit_defaults=True, kw_only=True):
    api_type: str = field(name="apiType")
    base_url: str = field(name="baseUrl")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SetProviderResponse(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class DisableProviderResponse(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class LogoutResponse(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class AuthStatusResponse(Struct, omit_defaults=True, kw_only=True):
    state: str
    accounts: list[AuthAccount] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class AuthAccount(Struct, omit_defaults=True, kw_only=True):
    label: str
    active: bool | None = None
    name: str | None = None
    email: str | None = None
    organization: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class NewSessionResponse(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    modes: SessionModeState | None = None
    config_options: list[SessionConfigOption] | None = field(default=None, name="configOptions")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionModeState(Struct, omit_defaults=True, kw_only=True):
    current_mode_id: str = field(name="currentModeId")
    available_modes: list[SessionMode] = field(name="availableModes")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionMode(Struct, omit_defaults=True, kw_only=True):
    id: str
    name: str
    description: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionConfigOption(Struct, omit_defaults=True, kw_only=True):
    id: str
    name: str
    description: str | None = None
    category: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")
    type: str | None = None
    current_value: str | bool | None = field(default=None, name="currentValue")
    options: Any = None


class SessionConfigSelectOption(Struct, omit_defaults=True, kw_only=True):
    value: str
    name: str
    description: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionConfigSelectGroup(Struct, omit_defaults=True, kw_only=True):
    group: str
    name: str
    options: list[SessionConfigSelectOption]
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionConfigSelect(Struct, omit_defaults=True, kw_only=True):
    current_value: str = field(name="currentValue")
    options: Any


class SessionConfigBoolean(Struct, omit_defaults=True, kw_only=True):
    current_value: bool = field(name="currentValue")


class LoadSessionResponse(Struct, omit_defaults=True, kw_only=True):
    modes: SessionModeState | None = None
    config_options: list[SessionConfigOption] | None = field(default=None, name="configOptions")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ListSessionsResponse(Struct, omit_defaults=True, kw_only=True):
    sessions: list[SessionInfo]
    next_cursor: str | None = field(default=None, name="nextCursor")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionInfo(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    cwd: str
    additional_directories: list[str] | None = field(default=None, name="additionalDirectories")
    title: str | None = None
    updated_at: str | None = field(default=None, name="updatedAt")
    archived: bool | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class DeleteSessionResponse(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ForkSessionResponse(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    modes: SessionModeState | None = None
    config_options: list[SessionConfigOption] | None = field(default=None, name="configOptions")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ArchiveSessionResponse(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class UnarchiveSessionResponse(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionStatusResponse(Struct, omit_defaults=True, kw_only=True):
    status: str
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SetSessionTitleResponse(Struct, omit_defaults=True, kw_only=True):
    title: str
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ResumeSessionResponse(Struct, omit_defaults=True, kw_only=True):
    modes: SessionModeState | None = None
    config_options: list[SessionConfigOption] | None = field(default=None, name="configOptions")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class CloseSessionResponse(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SetSessionModeResponse(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SetSessionConfigOptionResponse(Struct, omit_defaults=True, kw_only=True):
    config_options: list[SessionConfigOption] = field(name="configOptions")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class PromptResponse(Struct, omit_defaults=True, kw_only=True):
    stop_reason: StopReason = field(name="stopReason")
    usage: Usage | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class Usage(Struct, omit_defaults=True, kw_only=True):
    total_tokens: int = field(name="totalTokens")
    input_tokens: int = field(name="inputTokens")
    output_tokens: int = field(name="outputTokens")
    thought_tokens: int | None = field(default=None, name="thoughtTokens")
    cached_read_tokens: int | None = field(default=None, name="cachedReadTokens")
    cached_write_tokens: int | None = field(default=None, name="cachedWriteTokens")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class Error(Struct, omit_defaults=True, kw_only=True):
    code: int
    message: str
    data: Any = None


class SessionNotification(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    update: SessionUpdate
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ContentChunk(Struct, omit_defaults=True, kw_only=True):
    content: ContentBlock
    message_id: str | None = field(default=None, name="messageId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ToolCall(Struct, omit_defaults=True, kw_only=True, tag="tool_call", tag_field="sessionUpdate"):
    tool_call_id: str = field(name="toolCallId")
    title: str
    name: str | None = None
    kind: ToolKind | None = None
    status: ToolCallStatus | None = None
    content: list[ToolCallContent] | None = None
    locations: list[ToolCallLocation] | None = None
    raw_input: Any = field(default=None, name="rawInput")
    raw_output: Any = field(default=None, name="rawOutput")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class PlanEntry(Struct, omit_defaults=True, kw_only=True):
    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class Plan(Struct, omit_defaults=True, kw_only=True, tag="plan", tag_field="sessionUpdate"):
    entries: list[PlanEntry]
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class PlanItems(Struct, omit_defaults=True, kw_only=True, tag="items", tag_field="type"):
    plan_id: str = field(name="planId")
    entries: list[PlanEntry]
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class PlanFile(Struct, omit_defaults=True, kw_only=True, tag="file", tag_field="type"):
    plan_id: str = field(name="planId")
    uri: str
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class PlanMarkdown(Struct, omit_defaults=True, kw_only=True, tag="markdown", tag_field="type"):
    plan_id: str = field(name="planId")
    content: str
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class PlanUpdate(Struct, omit_defaults=True, kw_only=True, tag="plan_update", tag_field="sessionUpdate"):
    plan: PlanUpdateContent
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class PlanRemoved(Struct, omit_defaults=True, kw_only=True, tag="plan_removed", tag_field="sessionUpdate"):
    plan_id: str = field(name="planId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class AvailableCommand(Struct, omit_defaults=True, kw_only=True):
    name: str
    description: str
    input: Any = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class UnstructuredCommandInput(Struct, omit_defaults=True, kw_only=True):
    hint: str
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class AvailableCommandsUpdate(
    Struct, omit_defaults=True, kw_only=True, tag="available_commands_update", tag_field="sessionUpdate"
):
    available_commands: list[AvailableCommand] = field(name="availableCommands")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class CurrentModeUpdate(Struct, omit_defaults=True, kw_only=True, tag="current_mode_update", tag_field="sessionUpdate"):
    current_mode_id: str = field(name="currentModeId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ConfigOptionUpdate(
    Struct, omit_defaults=True, kw_only=True, tag="config_option_update", tag_field="sessionUpdate"
):
    config_options: list[SessionConfigOption] = field(name="configOptions")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionInfoUpdate(Struct, omit_defaults=True, kw_only=True, tag="session_info_update", tag_field="sessionUpdate"):
    title: str | None = None
    updated_at: str | None = field(default=None, name="updatedAt")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class Cost(Struct, omit_defaults=True, kw_only=True):
    amount: float
    currency: str
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class UsageUpdate(Struct, omit_defaults=True, kw_only=True, tag="usage_update", tag_field="sessionUpdate"):
    used: int
    size: int
    cost: Cost | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class Notice(Struct, omit_defaults=True, kw_only=True, tag="notice", tag_field="sessionUpdate"):
    severity: str
    title: str
    description: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class CompactionUpdate(Struct, omit_defaults=True, kw_only=True, tag="compaction_update", tag_field="sessionUpdate"):
    compaction_id: str = field(name="compactionId")
    status: str
    summary: list[ContentBlock] | None = None
    error: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class CompactionSummaryChunk(
    Struct, omit_defaults=True, kw_only=True, tag="compaction_summary_chunk", tag_field="sessionUpdate"
):
    compaction_id: str = field(name="compactionId")
    content: ContentBlock
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SubagentSessionCapabilities(Struct, omit_defaults=True, kw_only=True):
    cancel: SessionCancelCapabilities | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionCancelCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class RunningStateUpdate(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ErrorStopReason(Struct, omit_defaults=True, kw_only=True):
    error: Error | None = None


class IdleStateUpdate(Struct, omit_defaults=True, kw_only=True):
    usage: Usage | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")
    stop_reason: str | None = field(default=None, name="stopReason")
    error: Error | None = None


class RequiresActionStateUpdate(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class UnknownStateUpdate(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SubagentUpdate(Struct, omit_defaults=True, kw_only=True, tag="subagent_update", tag_field="sessionUpdate"):
    session_id: str = field(name="sessionId")
    title: str | None = None
    description: str | None = None
    capabilities: SubagentSessionCapabilities | None = None
    state: Any = None
    cwd: str | None = None
    additional_directories: list[str] | None = field(default=None, name="additionalDirectories")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionMessage(Struct, omit_defaults=True, kw_only=True, tag="session_message", tag_field="sessionUpdate"):
    message_id: str = field(name="messageId")
    sender_session_id: str | None = field(default=None, name="senderSessionId")
    recipient_session_id: str | None = field(default=None, name="recipientSessionId")
    sender_message_id: str | None = field(default=None, name="senderMessageId")
    recipient_message_id: str | None = field(default=None, name="recipientMessageId")
    content: list[ContentBlock] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionMessageChunk(
    Struct, omit_defaults=True, kw_only=True, tag="session_message_chunk", tag_field="sessionUpdate"
):
    message_id: str = field(name="messageId")
    content: ContentBlock
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class CompleteElicitationNotification(Struct, omit_defaults=True, kw_only=True):
    elicitation_id: str = field(name="elicitationId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class AuthStatusUpdateNotification(Struct, omit_defaults=True, kw_only=True):
    state: str
    accounts: list[AuthAccount] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class InitializeRequest(Struct, omit_defaults=True, kw_only=True):
    protocol_version: int = field(name="protocolVersion")
    client_capabilities: ClientCapabilities | None = field(default=None, name="clientCapabilities")
    client_info: Implementation | None = field(default=None, name="clientInfo")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ClientCapabilities(Struct, omit_defaults=True, kw_only=True):
    fs: FileSystemCapabilities | None = None
    terminal: bool | None = None
    session: ClientSessionCapabilities | None = None
    subagents: SubagentCapabilities | None = None
    plan: PlanCapabilities | None = None
    auth: AuthCapabilities | None = None
    elicitation: ElicitationCapabilities | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class FileSystemCapabilities(Struct, omit_defaults=True, kw_only=True):
    read_text_file: bool | None = field(default=None, name="readTextFile")
    write_text_file: bool | None = field(default=None, name="writeTextFile")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ClientSessionCapabilities(Struct, omit_defaults=True, kw_only=True):
    compaction: CompactionCapabilities | None = None
    config_options: SessionConfigOptionsCapabilities | None = field(default=None, name="configOptions")
    notices: NoticeCapabilities | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class CompactionCapabilities(Struct, omit_defaults=True, kw_only=True):
    pass


class SessionConfigOptionsCapabilities(Struct, omit_defaults=True, kw_only=True):
    boolean: BooleanConfigOptionCapabilities | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class BooleanConfigOptionCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class NoticeCapabilities(Struct, omit_defaults=True, kw_only=True):
    pass


class SubagentCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class PlanCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class AuthCapabilities(Struct, omit_defaults=True, kw_only=True):
    terminal: bool | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ElicitationCapabilities(Struct, omit_defaults=True, kw_only=True):
    form: ElicitationFormCapabilities | None = None
    url: ElicitationUrlCapabilities | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ElicitationFormCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ElicitationUrlCapabilities(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class AuthenticateRequest(Struct, omit_defaults=True, kw_only=True):
    method_id: str = field(name="methodId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ListProvidersRequest(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SetProviderRequest(Struct, omit_defaults=True, kw_only=True):
    provider_id: str = field(name="providerId")
    api_type: str = field(name="apiType")
    base_url: str = field(name="baseUrl")
    headers: dict[str, Any] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class DisableProviderRequest(Struct, omit_defaults=True, kw_only=True):
    provider_id: str = field(name="providerId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class LogoutRequest(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class AuthStatusRequest(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class NewSessionRequest(Struct, omit_defaults=True, kw_only=True):
    cwd: str
    mcp_servers: list[Any] = field(name="mcpServers")
    additional_directories: list[str] | None = field(default=None, name="additionalDirectories")
    system_prompt: SystemPrompt | None = field(default=None, name="systemPrompt")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class HttpHeader(Struct, omit_defaults=True, kw_only=True):
    name: str
    value: str
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class McpServerHttp(Struct, omit_defaults=True, kw_only=True):
    name: str
    url: str
    headers: list[HttpHeader]
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class McpServerSse(Struct, omit_defaults=True, kw_only=True):
    name: str
    url: str
    headers: list[HttpHeader]
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class McpServerAcp(Struct, omit_defaults=True, kw_only=True):
    name: str
    server_id: str = field(name="serverId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class McpServerStdio(Struct, omit_defaults=True, kw_only=True):
    name: str
    command: str
    args: list[str]
    env: list[EnvVariable]
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SystemPrompt(Struct, omit_defaults=True, kw_only=True):
    mode: str
    content: list[ContentBlock]
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class LoadSessionRequest(Struct, omit_defaults=True, kw_only=True):
    mcp_servers: list[Any] = field(name="mcpServers")
    cwd: str
    session_id: str = field(name="sessionId")
    additional_directories: list[str] | None = field(default=None, name="additionalDirectories")
    system_prompt: SystemPrompt | None = field(default=None, name="systemPrompt")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ListSessionsRequest(Struct, omit_defaults=True, kw_only=True):
    cwd: str | None = None
    cursor: str | None = None
    archived: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class DeleteSessionRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ForkSessionRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    cwd: str
    additional_directories: list[str] | None = field(default=None, name="additionalDirectories")
    mcp_servers: list[Any] | None = field(default=None, name="mcpServers")
    system_prompt: SystemPrompt | None = field(default=None, name="systemPrompt")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ArchiveSessionRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class UnarchiveSessionRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SessionStatusRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SetSessionTitleRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    title: str
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ResumeSessionRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    cwd: str
    additional_directories: list[str] | None = field(default=None, name="additionalDirectories")
    mcp_servers: list[Any] | None = field(default=None, name="mcpServers")
    system_prompt: SystemPrompt | None = field(default=None, name="systemPrompt")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class CloseSessionRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SetSessionModeRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    mode_id: str = field(name="modeId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SetSessionConfigOptionRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    config_id: str = field(name="configId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")
    type: str | None = None
    value: bool | str | None = None


class PromptRequest(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    prompt: list[ContentBlock]
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class WriteTextFileResponse(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ReadTextFileResponse(Struct, omit_defaults=True, kw_only=True):
    content: str
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class RequestPermissionResponse(Struct, omit_defaults=True, kw_only=True):
    outcome: RequestPermissionOutcome
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class SelectedPermissionOutcome(Struct, omit_defaults=True, kw_only=True, tag="selected", tag_field="outcome"):
    option_id: str = field(name="optionId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class CreateTerminalResponse(Struct, omit_defaults=True, kw_only=True):
    terminal_id: str = field(name="terminalId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class TerminalOutputResponse(Struct, omit_defaults=True, kw_only=True):
    output: str
    truncated: bool
    exit_status: TerminalExitStatus | None = field(default=None, name="exitStatus")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class TerminalExitStatus(Struct, omit_defaults=True, kw_only=True):
    exit_code: int | None = field(default=None, name="exitCode")
    signal: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ReleaseTerminalResponse(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class WaitForTerminalExitResponse(Struct, omit_defaults=True, kw_only=True):
    exit_code: int | None = field(default=None, name="exitCode")
    signal: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class KillTerminalResponse(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class CreateElicitationResponse(Struct, omit_defaults=True, kw_only=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")
    action: str | None = None
    content: dict[str, Any] | None = None


class ElicitationAcceptAction(Struct, omit_defaults=True, kw_only=True):
    content: dict[str, Any] | None = None


class McpError(Struct, omit_defaults=True, kw_only=True):
    code: int
    message: str
    data: Any = None


class CancelNotification(Struct, omit_defaults=True, kw_only=True):
    session_id: str = field(name="sessionId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class MessageMcpNotification(Struct, omit_defaults=True, kw_only=True):
    server_id: str = field(name="serverId")
    request_id: str = field(name="requestId")
    method: str
    params: dict[str, Any] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class CancelRequestNotification(Struct, omit_defaults=True, kw_only=True):
    request_id: Any = field(name="requestId")
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ProxySuccessorRequest(Struct, omit_defaults=True, kw_only=True):
    method: str
    params: Any = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ProxySuccessorNotification(Struct, omit_defaults=True, kw_only=True):
    method: str
    params: Any = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class UserMessageChunk(
    ContentChunk, omit_defaults=True, kw_only=True, tag="user_message_chunk", tag_field="sessionUpdate"
):
    pass


class AgentMessageChunk(
    ContentChunk, omit_defaults=True, kw_only=True, tag="agent_message_chunk", tag_field="sessionUpdate"
):
    pass


class AgentThoughtChunk(
    ContentChunk, omit_defaults=True, kw_only=True, tag="agent_thought_chunk", tag_field="sessionUpdate"
):
    pass


class ToolCallChange(
    ToolCallUpdate, omit_defaults=True, kw_only=True, tag="tool_call_update", tag_field="sessionUpdate"
):
    pass


class Cancelled(Struct, omit_defaults=True, kw_only=True, tag="cancelled", tag_field="outcome"):
    pass


ToolCallContent = Content | Diff | Terminal

ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource

SessionUpdate = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCall
    | ToolCallChange
    | Plan
    | PlanUpdate
    | PlanRemoved
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | Notice
    | CompactionUpdate
    | CompactionSummaryChunk
    | SubagentUpdate
    | SessionMessage
    | SessionMessageChunk
)

PlanUpdateContent = PlanItems | PlanFile | PlanMarkdown

RequestPermissionOutcome = Cancelled | SelectedPermissionOutcome

REQUESTS: dict[str, tuple[type[Struct], type[Struct]]] = {
    "auth/status": (AuthStatusRequest, AuthStatusResponse),
    "authenticate": (AuthenticateRequest, AuthenticateResponse),
    "elicitation/create": (CreateElicitationRequest, CreateElicitationResponse),
    "fs/read_text_file": (ReadTextFileRequest, ReadTextFileResponse),
    "fs/write_text_file": (WriteTextFileRequest, WriteTextFileResponse),
    "initialize": (InitializeRequest, InitializeResponse),
    "logout": (LogoutRequest, LogoutResponse),
    "providers/disable": (DisableProviderRequest, DisableProviderResponse),
    "providers/list": (ListProvidersRequest, ListProvidersResponse),
    "providers/set": (SetProviderRequest, SetProviderResponse),
    "session/archive": (ArchiveSessionRequest, ArchiveSessionResponse),
    "session/close": (CloseSessionRequest, CloseSessionResponse),
    "session/delete": (DeleteSessionRequest, DeleteSessionResponse),
    "session/fork": (ForkSessionRequest, ForkSessionResponse),
    "session/list": (ListSessionsRequest, ListSessionsResponse),
    "session/load": (LoadSessionRequest, LoadSessionResponse),
    "session/new": (NewSessionRequest, NewSessionResponse),
    "session/prompt": (PromptRequest, PromptResponse),
    "session/request_permission": (RequestPermissionRequest, RequestPermissionResponse),
    "session/resume": (ResumeSessionRequest, ResumeSessionResponse),
    "session/set_config_option": (SetSessionConfigOptionRequest, SetSessionConfigOptionResponse),
    "session/set_mode": (SetSessionModeRequest, SetSessionModeResponse),
    "session/set_title": (SetSessionTitleRequest, SetSessionTitleResponse),
    "session/status": (SessionStatusRequest, SessionStatusResponse),
    "session/unarchive": (UnarchiveSessionRequest, UnarchiveSessionResponse),
    "terminal/create": (CreateTerminalRequest, CreateTerminalResponse),
    "terminal/kill": (KillTerminalRequest, KillTerminalResponse),
    "terminal/output": (TerminalOutputRequest, TerminalOutputResponse),
    "terminal/release": (ReleaseTerminalRequest, ReleaseTerminalResponse),
    "terminal/wait_for_exit": (WaitForTerminalExitRequest, WaitForTerminalExitResponse),
}

NOTIFICATIONS: dict[str, type[Struct]] = {
    "$/cancel_request": CancelRequestNotification,
    "auth/status_update": AuthStatusUpdateNotification,
    "elicitation/complete": CompleteElicitationNotification,
    "mcp/message": MessageMcpNotification,
    "proxy/successor": ProxySuccessorNotification,
    "session/cancel": CancelNotification,
    "session/update": SessionNotification,
}
