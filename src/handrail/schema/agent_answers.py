"""Answers of the CLI to control requests: one view per subtype."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.schema.control_view import AnswerView
from handrail.schema.system_messages import Plugin
from handrail.schema.usage import Usage
from handrail.schema.view import Number, Part

__all__ = [
    "Account",
    "Agent",
    "BackgroundTasksAnswer",
    "BinaryVersionAnswer",
    "CancelAsyncMessageAnswer",
    "ContextCategory",
    "ContextUsageAnswer",
    "FileSuggestionsAnswer",
    "HooksListingAnswer",
    "InitializeAnswer",
    "InterruptAnswer",
    "McpCallAnswer",
    "McpReadResourceAnswer",
    "McpResource",
    "McpResourcesAnswer",
    "McpServerInfo",
    "McpServerStatus",
    "McpSetServersAnswer",
    "McpStatusAnswer",
    "McpTool",
    "Model",
    "ModelsAnswer",
    "OutputStylesAnswer",
    "PermissionRulesAnswer",
    "ReadFileAnswer",
    "RegisterRepoRootAnswer",
    "ReloadPluginsAnswer",
    "RewindFilesAnswer",
    "SessionCostAnswer",
    "SessionTitleAnswer",
    "SetModelAnswer",
    "SetPermissionModeAnswer",
    "SettingsAnswer",
    "SideQuestionAnswer",
    "SkillsAnswer",
    "SlashCommand",
    "TaskOutputAnswer",
    "UsageAnswer",
]


class SlashCommand(Part):
    """A slash command or a skill."""

    name: str = ""
    description: str = ""
    argument_hint: Any = msgspec.field(default="", name="argumentHint")
    aliases: list[str] = msgspec.field(default_factory=list[str])
    builtin: bool = False


class Agent(Part):
    """An agent that can be started as a subagent."""

    name: str = ""
    description: str = ""
    model: str = ""


class Model(Part, rename="camel"):
    """A model to choose."""

    value: str = ""
    resolved_model: str = ""
    display_name: str = ""
    description: str = ""
    supports_effort: bool = False
    supported_effort_levels: list[str] = msgspec.field(default_factory=list[str])
    supports_adaptive_thinking: bool = False
    supports_fast_mode: bool = False
    supports_auto_mode: bool = False
    supports_thinking_off: bool = False


class Account(Part, rename="camel"):
    """The account, as far as the CLI reports it."""

    email: str = ""
    organization: str = ""
    subscription_type: str = ""
    token_source: str = ""
    api_key_source: str = ""
    api_provider: str = ""


class InitializeAnswer(AnswerView):
    """What the CLI can do."""

    commands: list[SlashCommand] = msgspec.field(default_factory=list[SlashCommand])
    agents: list[Agent] = msgspec.field(default_factory=list[Agent])
    models: list[Model] = msgspec.field(default_factory=list[Model])
    account: Account | None = None
    output_style: str = ""
    available_output_styles: list[str] = msgspec.field(default_factory=list[str])
    user_output_styles_dir: str = ""
    pid: int | None = None
    claude_code_version: str = ""
    current_permission_mode: str = ""
    session_state: str = ""
    capabilities: list[str] = msgspec.field(default_factory=list[str])
    hooks_applied: bool | None = None
    hook_on_failure_supported: bool = False
    plugins_applied: bool | None = None
    sdk_mcp_manifests_parked: dict[str, str] | None = None
    fast_mode_state: str = ""
    fast_mode_disabled_reason: str = ""
    analytics_disabled: bool = False


class InterruptAnswer(AnswerView):
    """The messages still queued after an interrupt, and those cancelled with it."""

    still_queued: list[str] = msgspec.field(default_factory=list[str])
    cancelled: list[str] = msgspec.field(default_factory=list[str])


class SetModelAnswer(AnswerView):
    model: str = ""


class SetPermissionModeAnswer(AnswerView):
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
    servers: list[McpServerStatus] = msgspec.field(default_factory=list[McpServerStatus], name="mcpServers")


class McpSetServersAnswer(AnswerView):
    """The changes; `errors` has a text for each server that could not be set."""

    added: list[str] = msgspec.field(default_factory=list[str])
    removed: list[str] = msgspec.field(default_factory=list[str])
    errors: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


class McpCallAnswer(AnswerView):
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

    resources: list[McpResource] = msgspec.field(default_factory=list[McpResource])
    errors: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    supported: bool = True


class McpReadResourceAnswer(AnswerView):
    contents: list[Any] = msgspec.field(default_factory=list[Any])


class RewindFilesAnswer(AnswerView, rename="camel"):
    """The files that were restored, or would be; `error` says why they cannot."""

    can_rewind: bool = False
    error: str = ""
    files_changed: list[str] = msgspec.field(default_factory=list[str])
    insertions: int = 0
    deletions: int = 0
    skipped_links: int = 0


class ContextCategory(Part):
    """One use of the context window."""

    id: str = ""
    name: str = ""
    tokens: int = 0
    color: str = ""
    kind: str = ""
    is_deferred: bool = msgspec.field(default=False, name="isDeferred")


class ContextUsageAnswer(AnswerView, rename="camel"):
    """The use of the context window by category."""

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
    mcp_tools: list[Any] = msgspec.field(default_factory=list[Any])
    mcp_instructions: list[Any] = msgspec.field(default_factory=list[Any])
    deferred_builtin_tools: list[Any] = msgspec.field(default_factory=list[Any])
    system_tools: list[Any] = msgspec.field(default_factory=list[Any])
    system_prompt_sections: list[Any] = msgspec.field(default_factory=list[Any])
    agents: list[Any] = msgspec.field(default_factory=list[Any])
    slash_commands: dict[str, Any] | None = None
    skills: dict[str, Any] | None = None
    message_breakdown: dict[str, Any] | None = None
    api_usage: Usage | None = None


class SessionCostAnswer(AnswerView):
    text: str = ""


class ModelsAnswer(AnswerView):
    models: list[Model] = msgspec.field(default_factory=list[Model])


class UsageAnswer(AnswerView):
    session: Any = None
    subscription_type: str | None = None
    rate_limits_available: bool = False
    rate_limits: Any = None
    behaviors: Any = None


class BinaryVersionAnswer(AnswerView):
    version: str = ""
    build_time: str = msgspec.field(default="", name="buildTime")


class FileSuggestionsAnswer(AnswerView):
    suggestions: list[Any] = msgspec.field(default_factory=list[Any])
    cwd: str = ""


class CancelAsyncMessageAnswer(AnswerView):
    cancelled: bool = False


class ReadFileAnswer(AnswerView):
    contents: str = ""
    abs_path: str = msgspec.field(default="", name="absPath")
    requested_path: str = ""
    encoding: str = ""
    truncated: bool = False
    lossy: bool = False


class RegisterRepoRootAnswer(AnswerView):
    directory: str = ""


class ReloadPluginsAnswer(AnswerView):
    commands: list[SlashCommand] = msgspec.field(default_factory=list[SlashCommand])
    agents: list[Agent] = msgspec.field(default_factory=list[Agent])
    plugins: list[Plugin] = msgspec.field(default_factory=list[Plugin])
    servers: list[McpServerStatus] = msgspec.field(default_factory=list[McpServerStatus], name="mcpServers")
    error_count: int = 0
    held: bool = False
    cache_impact: Any = None


class SkillsAnswer(AnswerView):
    skills: list[SlashCommand] = msgspec.field(default_factory=list[SlashCommand])


class OutputStylesAnswer(AnswerView):
    available_output_styles: list[str] = msgspec.field(default_factory=list[str])


class BackgroundTasksAnswer(AnswerView):
    backgrounded: Any = None


class TaskOutputAnswer(AnswerView):
    output: str = ""
    total_bytes: int = 0
    truncated: bool = False


class SettingsAnswer(AnswerView):
    """The settings in force, the files they come from, and what the session made of them."""

    effective: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    sources: list[Any] = msgspec.field(default_factory=list[Any])
    applied: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    errors: Any = None
    withheld: Any = None


class HooksListingAnswer(AnswerView, rename="camel"):
    events: Any = None
    hooks: Any = None
    event_catalog: Any = None
    policy: Any = None
    safe_mode: bool = False
    bare_mode: bool = False
    errors: Any = None


class PermissionRulesAnswer(AnswerView):
    state: Any = None


class SideQuestionAnswer(AnswerView):
    response: str | None = None
    synthetic: bool = False


class SessionTitleAnswer(AnswerView):
    title: str | None = None
