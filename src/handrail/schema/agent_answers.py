"""Answers of the CLI to control requests: one view per subtype."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.schema.control_view import AnswerView
from handrail.schema.handshake import Agent, Model, SlashCommand
from handrail.schema.system_messages import Plugin
from handrail.schema.usage import ModelUsage, Usage
from handrail.schema.view import Number, Part

__all__ = [
    "BackgroundTasksAnswer",
    "BinaryVersionAnswer",
    "CancelAsyncMessageAnswer",
    "ContextCategory",
    "ContextUsageAnswer",
    "FileSuggestionsAnswer",
    "HookEvent",
    "HookPolicy",
    "HooksListingAnswer",
    "InterruptAnswer",
    "ListedHook",
    "McpAuthenticateAnswer",
    "McpCallAnswer",
    "McpReadResourceAnswer",
    "McpResource",
    "McpResourcesAnswer",
    "McpServerInfo",
    "McpServerStatus",
    "McpSetServersAnswer",
    "McpStatusAnswer",
    "McpTool",
    "ModelsAnswer",
    "OutputStylesAnswer",
    "PermissionRuleEntry",
    "PermissionRulesAnswer",
    "PermissionRulesState",
    "ReadFileAnswer",
    "RegisterRepoRootAnswer",
    "ReloadPluginsAnswer",
    "RewindFilesAnswer",
    "SessionCostAnswer",
    "SessionTitleAnswer",
    "SessionUsage",
    "SetModelAnswer",
    "SetPermissionModeAnswer",
    "SettingsAnswer",
    "SettingsError",
    "SideQuestionAnswer",
    "SkillsAnswer",
    "TaskOutputAnswer",
    "ToolTokens",
    "UsageAnswer",
    "WorkspaceDirectory",
]


class InterruptAnswer(AnswerView):
    """The messages still queued after an interrupt, and those cancelled with it."""

    always = frozenset({"still_queued"})
    still_queued: list[str] = msgspec.field(default_factory=list[str])
    cancelled: list[str] = msgspec.field(default_factory=list[str])


class SetModelAnswer(AnswerView):
    always = frozenset({"model"})
    model: str = ""


class SetPermissionModeAnswer(AnswerView):
    always = frozenset({"mode"})
    mode: str = ""


class McpServerInfo(Part):
    """The name and version that an MCP server reports."""

    name: str = ""
    version: str = ""


class McpTool(Part):
    """A tool of an MCP server."""

    name: str = ""
    description: str = ""
    annotations: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    meta: Any = msgspec.field(default=None, name="_meta")


class McpServerStatus(Part):
    """An MCP server of the session: connected, failed, needs-auth, pending or disabled.

    `sign_in` says whether `mcp_authenticate` can sign in to it; None where the CLI does not say, as the official one.
    """

    name: str = ""
    status: str = ""
    server_info: McpServerInfo | None = msgspec.field(default=None, name="serverInfo")
    error: str = ""
    config: dict[str, Any] | None = None
    transport: str = ""
    scope: str = ""
    source: str = ""
    sign_in: bool | None = msgspec.field(default=None, name="signIn")
    tools: list[McpTool] = msgspec.field(default_factory=list[McpTool])


class McpStatusAnswer(AnswerView):
    always = frozenset({"mcpServers"})
    servers: list[McpServerStatus] = msgspec.field(default_factory=list[McpServerStatus], name="mcpServers")


class McpAuthenticateAnswer(AnswerView, rename="camel"):
    """A sign-in that has begun.

    `auth_url` is the address that the user opens; it is empty if no sign-in is required. `callback_expected` says that
    the CLI takes the address of the browser's redirect with `mcp_oauth_callback_url`. `redirect_scheme` is "localhost"
    if the CLI also listens for it, on `callback_port`, and "custom" for a redirect address of the host.
    """

    always = frozenset({"requiresUserAction"})
    requires_user_action: bool = False
    auth_url: str = ""
    callback_expected: bool = False
    redirect_scheme: str = ""
    state: str = ""
    callback_port: int | None = None


class McpSetServersAnswer(AnswerView):
    """The changes; `errors` has a text for each server that could not be set."""

    always = frozenset({"added", "removed", "errors"})
    added: list[str] = msgspec.field(default_factory=list[str])
    removed: list[str] = msgspec.field(default_factory=list[str])
    errors: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


class McpCallAnswer(AnswerView):
    always = frozenset({"content"})
    content: Any = None
    structured_content: Any = msgspec.field(default=None, name="structuredContent")
    meta: Any = msgspec.field(default=None, name="_meta")
    staging: Any = None


class McpResource(Part):
    """A resource of an MCP server. A prompt includes it by the mention `@server:uri`."""

    server: str = ""
    uri: str = ""
    name: str = ""
    title: str = ""
    description: str = ""
    mime_type: str = msgspec.field(default="", name="mimeType")


class McpResourcesAnswer(AnswerView):
    """The resources of MCP servers; `errors` has a text for each server that could not list its own.

    `supported` is False if the CLI does not know the request; such a CLI ignores mentions of resources too.
    """

    always = frozenset({"resources", "errors"})
    resources: list[McpResource] = msgspec.field(default_factory=list[McpResource])
    errors: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    supported: bool = True


class McpReadResourceAnswer(AnswerView):
    always = frozenset({"contents"})
    contents: list[Any] = msgspec.field(default_factory=list[Any])


class RewindFilesAnswer(AnswerView, rename="camel"):
    """The files that were restored, or would be; `error` says why they cannot."""

    always = frozenset({"canRewind", "filesChanged", "insertions", "deletions", "skippedLinks"})
    can_rewind: bool = False
    error: str = ""
    files_changed: list[str] = msgspec.field(default_factory=list[str])
    insertions: int = 0
    deletions: int = 0
    skipped_links: int = 0


class ContextCategory(Part):
    """One use of the context window."""

    always = frozenset({"name", "tokens", "color", "kind"})
    id: str = ""
    name: str = ""
    tokens: int = 0
    color: str = ""
    kind: str = ""
    is_deferred: bool = msgspec.field(default=False, name="isDeferred")


class ToolTokens(Part, rename="camel"):
    """A tool in the context window; `server_name` if it belongs to an MCP server."""

    always = frozenset({"name", "tokens"})
    name: str = ""
    server_name: str = ""
    tokens: int = 0
    is_loaded: bool | None = None


class ContextUsageAnswer(AnswerView, rename="camel"):
    """The use of the context window by category."""

    always = frozenset(
        {
            "categories",
            "totalTokens",
            "maxTokens",
            "rawMaxTokens",
            "percentage",
            "gridRows",
            "model",
            "memoryFiles",
            "mcpTools",
            "agents",
            "isAutoCompactEnabled",
            "apiUsage",
        }
    )
    categories: list[ContextCategory] = msgspec.field(default_factory=list[ContextCategory])
    total_tokens: int = 0
    max_tokens: int = 0
    raw_max_tokens: int = 0
    percentage: Number = 0
    model: str = ""
    is_auto_compact_enabled: bool = False
    auto_compact_threshold: int | None = None
    autocompact_source: str = ""
    grid_rows: list[Any] = msgspec.field(default_factory=list[Any])
    memory_files: list[Any] = msgspec.field(default_factory=list[Any])
    mcp_tools: list[ToolTokens] = msgspec.field(default_factory=list[ToolTokens])
    mcp_instructions: list[Any] = msgspec.field(default_factory=list[Any])
    deferred_builtin_tools: list[Any] = msgspec.field(default_factory=list[Any])
    system_tools: list[ToolTokens] = msgspec.field(default_factory=list[ToolTokens])
    system_prompt_sections: list[Any] = msgspec.field(default_factory=list[Any])
    agents: list[Any] = msgspec.field(default_factory=list[Any])
    slash_commands: dict[str, Any] | None = None
    skills: dict[str, Any] | None = None
    message_breakdown: dict[str, Any] | None = None
    api_usage: Usage | None = None


class SessionCostAnswer(AnswerView):
    always = frozenset({"text"})
    text: str = ""


class ModelsAnswer(AnswerView):
    always = frozenset({"models"})
    models: list[Model] = msgspec.field(default_factory=list[Model])


class SessionUsage(Part):
    """Cost and usage of the session so far."""

    always = frozenset(
        {
            "total_cost_usd",
            "total_api_duration_ms",
            "total_duration_ms",
            "total_lines_added",
            "total_lines_removed",
            "model_usage",
        }
    )
    total_cost_usd: Number = 0
    total_api_duration_ms: Number = 0
    total_duration_ms: Number = 0
    total_lines_added: int = 0
    total_lines_removed: int = 0
    model_usage: dict[str, ModelUsage] = msgspec.field(default_factory=dict[str, ModelUsage])


class UsageAnswer(AnswerView):
    always = frozenset({"session", "subscription_type", "rate_limits_available", "rate_limits", "behaviors"})
    session: SessionUsage | None = None
    subscription_type: str | None = None
    rate_limits_available: bool = False
    rate_limits: Any = None
    behaviors: Any = None


class BinaryVersionAnswer(AnswerView):
    always = frozenset({"version", "buildTime"})
    version: str = ""
    build_time: str = msgspec.field(default="", name="buildTime")


class FileSuggestionsAnswer(AnswerView):
    always = frozenset({"suggestions", "cwd"})
    suggestions: list[Any] = msgspec.field(default_factory=list[Any])
    cwd: str = ""


class CancelAsyncMessageAnswer(AnswerView):
    always = frozenset({"cancelled"})
    cancelled: bool = False


class ReadFileAnswer(AnswerView):
    always = frozenset({"contents", "absPath", "lossy"})
    contents: str = ""
    abs_path: str = msgspec.field(default="", name="absPath")
    requested_path: str = ""
    encoding: str = ""
    truncated: bool = False
    lossy: bool = False


class RegisterRepoRootAnswer(AnswerView):
    directory: str = ""


class ReloadPluginsAnswer(AnswerView):
    always = frozenset({"commands", "agents", "plugins", "mcpServers", "error_count"})
    commands: list[SlashCommand] = msgspec.field(default_factory=list[SlashCommand])
    agents: list[Agent] = msgspec.field(default_factory=list[Agent])
    plugins: list[Plugin] = msgspec.field(default_factory=list[Plugin])
    servers: list[McpServerStatus] = msgspec.field(default_factory=list[McpServerStatus], name="mcpServers")
    error_count: int = 0
    held: bool = False
    cache_impact: Any = None


class SkillsAnswer(AnswerView):
    always = frozenset({"skills"})
    skills: list[SlashCommand] = msgspec.field(default_factory=list[SlashCommand])


class OutputStylesAnswer(AnswerView):
    always = frozenset({"available_output_styles"})
    available_output_styles: list[str] = msgspec.field(default_factory=list[str])


class BackgroundTasksAnswer(AnswerView):
    """`backgrounded` is False only if a call was named that does not run in the foreground."""

    backgrounded: bool | None = None


class TaskOutputAnswer(AnswerView):
    always = frozenset({"output", "total_bytes", "truncated"})
    output: str = ""
    total_bytes: int = 0
    truncated: bool = False


class SettingsError(Part):
    """A settings file, or a value in it, that is not used."""

    always = frozenset({"path", "message"})
    file: str = ""
    path: str = ""
    message: str = ""


class SettingsAnswer(AnswerView):
    """The settings in force, the files they come from, and what the session made of them."""

    always = frozenset({"effective", "sources", "applied"})
    effective: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    sources: list[Any] = msgspec.field(default_factory=list[Any])
    applied: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    errors: list[SettingsError] = msgspec.field(default_factory=list[SettingsError])
    withheld: Any = None


class HookEvent(Part, rename="camel"):
    """A hook event; `hook_count` is the number of its listed hooks."""

    always = frozenset({"name", "summary", "supportsMatcher"})
    name: str = ""
    summary: str = ""
    supports_matcher: bool = False
    hook_count: int | None = None


class ListedHook(Part, rename="camel"):
    """One hook. `source` is the settings file, `sessionHook` or `pluginHook`."""

    always = frozenset(
        {"event", "matcher", "source", "sourceLabel", "type", "displayText", "commandText", "contentLabel"}
    )
    event: str = ""
    matcher: str = ""
    source: str = ""
    source_label: str = ""
    plugin_name: str = ""
    type: str = ""
    display_text: str = ""
    command_text: str = ""
    content_label: str = ""
    condition: str = ""
    timeout: Number | None = None
    status_message: str = ""
    runs_once: bool = False
    runs_in_background: bool = False
    disabled: bool = False
    editable: dict[str, Any] | None = None


class HookPolicy(Part, rename="camel"):
    """The settings that keep hooks from running."""

    always = frozenset({"disabledByPolicy", "managedOnly", "pluginOnly", "allDisabled", "policyHookCount"})
    disabled_by_policy: bool = False
    managed_only: bool = False
    plugin_only: bool = False
    all_disabled: bool = False
    policy_hook_count: int = 0
    policy_unreadable: bool = False


class HooksListingAnswer(AnswerView, rename="camel"):
    """The hooks in force by event, and all events in `event_catalog`."""

    always = frozenset({"events", "hooks", "eventCatalog", "policy"})
    events: list[HookEvent] = msgspec.field(default_factory=list[HookEvent])
    hooks: list[ListedHook] = msgspec.field(default_factory=list[ListedHook])
    event_catalog: list[HookEvent] = msgspec.field(default_factory=list[HookEvent])
    policy: HookPolicy | None = None
    safe_mode: Any = None
    bare_mode: Any = None
    errors: list[SettingsError] = msgspec.field(default_factory=list[SettingsError])


class PermissionRuleEntry(Part, rename="camel"):
    """One rule. `editability`: `persistent` in a settings file, `session`, or `readonly`."""

    always = frozenset({"behavior", "source", "rule", "editability"})
    behavior: str = ""
    source: str = ""
    rule: str = ""
    description: Any = None
    editability: str = ""
    not_in_effect: bool = False


class WorkspaceDirectory(Part):
    """An additional working directory, and the source that granted it."""

    always = frozenset({"path", "source"})
    path: str = ""
    source: str = ""


class PermissionRulesState(Part, rename="camel"):
    """The rules and working directories of the session."""

    always = frozenset({"rules", "workspaceDirectories", "originalCwd", "managedOnly"})
    rules: list[PermissionRuleEntry] = msgspec.field(default_factory=list[PermissionRuleEntry])
    workspace_directories: list[WorkspaceDirectory] = msgspec.field(default_factory=list[WorkspaceDirectory])
    original_cwd: str = ""
    managed_only: bool = False
    errors: list[SettingsError] = msgspec.field(default_factory=list[SettingsError])
    withheld: bool = False


class PermissionRulesAnswer(AnswerView):
    always = frozenset({"state"})
    state: PermissionRulesState | None = None


class SideQuestionAnswer(AnswerView):
    always = frozenset({"response", "synthetic"})
    response: str | None = None
    synthetic: bool = False


class SessionTitleAnswer(AnswerView):
    always = frozenset({"title"})
    title: str | None = None
