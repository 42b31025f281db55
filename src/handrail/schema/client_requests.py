"""Control requests of the client: one view per subtype."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.schema.control_view import RequestView
from handrail.schema.view import Number

__all__ = [
    "ApplyFlagSettingsRequest",
    "BackgroundTasksRequest",
    "CancelAsyncMessageRequest",
    "EndSessionRequest",
    "FileSuggestionsRequest",
    "GenerateSessionTitleRequest",
    "GetBinaryVersionRequest",
    "GetContextUsageRequest",
    "GetHooksListingRequest",
    "GetSessionCostRequest",
    "GetSettingsRequest",
    "GetTaskOutputRequest",
    "GetUsageRequest",
    "InterruptRequest",
    "ListModelsRequest",
    "ListPermissionRulesRequest",
    "McpAuthenticateRequest",
    "McpCallRequest",
    "McpClearAuthRequest",
    "McpListResourcesRequest",
    "McpOAuthCallbackUrlRequest",
    "McpReadResourceRequest",
    "McpReconnectRequest",
    "McpSetServersRequest",
    "McpStatusRequest",
    "McpToggleRequest",
    "ReadFileRequest",
    "RegisterRepoRootRequest",
    "ReloadOutputStylesRequest",
    "ReloadPluginsRequest",
    "ReloadSkillsRequest",
    "RenameSessionRequest",
    "RewindFilesRequest",
    "SeedReadStateRequest",
    "SetColorRequest",
    "SetHasSubscribersRequest",
    "SetMaxThinkingTokensRequest",
    "SetModelRequest",
    "SetPermissionModeRequest",
    "SideQuestionRequest",
    "StopTaskRequest",
    "UpdateSettingsRequest",
]


class InterruptRequest(RequestView):
    """Stop the running turn."""

    subtype: str = "interrupt"
    cancel_queued: bool = False


class SetPermissionModeRequest(RequestView):
    subtype: str = "set_permission_mode"
    mode: str = ""


class SetModelRequest(RequestView):
    """Change the model from the next API call on; None selects the default."""

    subtype: str = "set_model"
    model: str | None = None


class SetMaxThinkingTokensRequest(RequestView):
    subtype: str = "set_max_thinking_tokens"
    max_thinking_tokens: int | None = None
    thinking_display: str | None = None


class RenameSessionRequest(RequestView):
    subtype: str = "rename_session"
    title: str = ""
    source: str = ""
    session_id: str = ""


class SetColorRequest(RequestView):
    subtype: str = "set_color"
    color: str | None = None


class McpStatusRequest(RequestView):
    subtype: str = "mcp_status"
    live_reply: bool = msgspec.field(default=False, name="liveReply")


class McpSetServersRequest(RequestView):
    """Replace the MCP servers that were added at run time."""

    subtype: str = "mcp_set_servers"
    servers: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict[str, dict[str, Any]])


class McpReconnectRequest(RequestView):
    subtype: str = "mcp_reconnect"
    server_name: str = msgspec.field(default="", name="serverName")


class McpToggleRequest(RequestView):
    subtype: str = "mcp_toggle"
    server_name: str = msgspec.field(default="", name="serverName")
    enabled: bool = False


class McpAuthenticateRequest(RequestView, rename="camel"):
    """Begin to sign in to an MCP server.

    `redirect_uri` is an address of the host to which the browser is redirected. The CLI may redirect it elsewhere if
    the authorization server refuses that address, unless `redirect_uri_only` is set.
    """

    subtype: str = "mcp_authenticate"
    server_name: str = ""
    redirect_uri: str | None = None
    redirect_uri_only: bool = False


class McpOAuthCallbackUrlRequest(RequestView, rename="camel"):
    """Finish a sign-in with the address to which the browser was redirected. It contains a credential."""

    subtype: str = "mcp_oauth_callback_url"
    server_name: str = ""
    callback_url: str = ""


class McpClearAuthRequest(RequestView):
    """Delete the tokens of an MCP server."""

    subtype: str = "mcp_clear_auth"
    server_name: str = msgspec.field(default="", name="serverName")


class McpListResourcesRequest(RequestView):
    """List the resources of one server, or of all connected ones. Only handrail-agent answers this."""

    subtype: str = "mcp_list_resources"
    server_name: str = msgspec.field(default="", name="serverName")


class McpReadResourceRequest(RequestView):
    subtype: str = "mcp_read_resource"
    server_name: str = msgspec.field(default="", name="serverName")
    uri: str = ""


class McpCallRequest(RequestView):
    """Call a tool of an MCP server without the model."""

    subtype: str = "mcp_call"
    tool: str = ""
    arguments: dict[str, Any] | None = None
    expires_at: Any = None
    timeout_ms: Number | None = None
    result_not_for_model: bool = False
    check_permissions: bool = False
    input_files: Any = None
    output_files: Any = None


class GetContextUsageRequest(RequestView):
    subtype: str = "get_context_usage"
    detail: Any = None


class GetSessionCostRequest(RequestView):
    subtype: str = "get_session_cost"


class GetUsageRequest(RequestView):
    subtype: str = "get_usage"
    skip_behaviors: bool = False


class GetBinaryVersionRequest(RequestView):
    subtype: str = "get_binary_version"


class GetSettingsRequest(RequestView):
    subtype: str = "get_settings"


class GetHooksListingRequest(RequestView):
    subtype: str = "get_hooks_listing"


class GetTaskOutputRequest(RequestView):
    subtype: str = "get_task_output"
    task_id: str = ""


class ListModelsRequest(RequestView):
    subtype: str = "list_models"


class ListPermissionRulesRequest(RequestView):
    subtype: str = "list_permission_rules"


class FileSuggestionsRequest(RequestView):
    subtype: str = "file_suggestions"
    query: str = ""


class RewindFilesRequest(RequestView):
    """Restore the files to their state before this prompt."""

    subtype: str = "rewind_files"
    user_message_id: str = ""
    dry_run: bool = False


class CancelAsyncMessageRequest(RequestView):
    subtype: str = "cancel_async_message"
    message_uuid: str = ""


class ReadFileRequest(RequestView):
    subtype: str = "read_file"
    path: str = ""
    max_bytes: int | None = None
    encoding: str = ""


class SeedReadStateRequest(RequestView):
    subtype: str = "seed_read_state"
    path: str = ""
    mtime: Number = 0


class RegisterRepoRootRequest(RequestView):
    subtype: str = "register_repo_root"
    directory: str = ""
    reload_claude_md: bool = False
    reload_plugins: bool = False
    reload_skills: bool = False


class ReloadPluginsRequest(RequestView):
    subtype: str = "reload_plugins"
    hold_on_cache_impact: bool = False
    add_plugins: Any = None
    refuse_if_busy: bool = False


class ReloadSkillsRequest(RequestView):
    subtype: str = "reload_skills"


class ReloadOutputStylesRequest(RequestView):
    subtype: str = "reload_output_styles"


class SetHasSubscribersRequest(RequestView):
    subtype: str = "set_has_subscribers"
    has_subscribers: bool = False


class StopTaskRequest(RequestView):
    subtype: str = "stop_task"
    task_id: str = ""


class BackgroundTasksRequest(RequestView):
    """Move running foreground work to the background: one tool call, or all of it."""

    subtype: str = "background_tasks"
    tool_use_id: str | None = None


class ApplyFlagSettingsRequest(RequestView):
    subtype: str = "apply_flag_settings"
    settings: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


class UpdateSettingsRequest(RequestView):
    subtype: str = "update_settings"
    source: str = ""
    settings: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


class SideQuestionRequest(RequestView):
    """Ask the model outside the conversation."""

    subtype: str = "side_question"
    question: str = ""


class GenerateSessionTitleRequest(RequestView):
    """Have the model write a title. `persist` makes it that of the session, unless the session has one."""

    subtype: str = "generate_session_title"
    description: str = ""
    persist: bool = False


class EndSessionRequest(RequestView):
    """End the CLI after the answer."""

    subtype: str = "end_session"
