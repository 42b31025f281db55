"""Typed views of control requests and their answers, in both directions.

A new control request is one row in REQUESTS and one in ANSWERS. A subtype without a row is UnknownRequest or
UnknownAnswer, which keep the bytes.
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail.schema import agent_answers, agent_requests, client_answers, client_requests
from handrail.schema.control_view import AnswerView, RequestView, UnknownAnswer, UnknownRequest
from handrail.schema.handshake import InitializeAnswer, InitializeRequest
from handrail.schema.view import OpenUnion, ViewError, keep_raw, read_view

__all__ = ["ANSWERS", "REQUESTS", "read_answer", "read_request"]

REQUESTS: OpenUnion[RequestView] = OpenUnion(
    "subtype",
    {
        "can_use_tool": agent_requests.PermissionRequest,
        "hook_callback": agent_requests.HookCallbackRequest,
        "mcp_message": agent_requests.McpMessageRequest,
        "elicitation": agent_requests.ElicitationRequest,
        "request_user_dialog": agent_requests.UserDialogRequest,
        "initialize": InitializeRequest,
        "interrupt": client_requests.InterruptRequest,
        "set_permission_mode": client_requests.SetPermissionModeRequest,
        "set_model": client_requests.SetModelRequest,
        "set_max_thinking_tokens": client_requests.SetMaxThinkingTokensRequest,
        "rename_session": client_requests.RenameSessionRequest,
        "set_color": client_requests.SetColorRequest,
        "mcp_status": client_requests.McpStatusRequest,
        "mcp_set_servers": client_requests.McpSetServersRequest,
        "mcp_reconnect": client_requests.McpReconnectRequest,
        "mcp_toggle": client_requests.McpToggleRequest,
        "mcp_authenticate": client_requests.McpAuthenticateRequest,
        "mcp_oauth_callback_url": client_requests.McpOAuthCallbackUrlRequest,
        "mcp_clear_auth": client_requests.McpClearAuthRequest,
        "mcp_list_resources": client_requests.McpListResourcesRequest,
        "mcp_read_resource": client_requests.McpReadResourceRequest,
        "mcp_call": client_requests.McpCallRequest,
        "get_context_usage": client_requests.GetContextUsageRequest,
        "get_session_cost": client_requests.GetSessionCostRequest,
        "get_usage": client_requests.GetUsageRequest,
        "get_binary_version": client_requests.GetBinaryVersionRequest,
        "get_settings": client_requests.GetSettingsRequest,
        "get_hooks_listing": client_requests.GetHooksListingRequest,
        "get_task_output": client_requests.GetTaskOutputRequest,
        "list_models": client_requests.ListModelsRequest,
        "list_permission_rules": client_requests.ListPermissionRulesRequest,
        "file_suggestions": client_requests.FileSuggestionsRequest,
        "rewind_files": client_requests.RewindFilesRequest,
        "cancel_async_message": client_requests.CancelAsyncMessageRequest,
        "read_file": client_requests.ReadFileRequest,
        "seed_read_state": client_requests.SeedReadStateRequest,
        "register_repo_root": client_requests.RegisterRepoRootRequest,
        "reload_plugins": client_requests.ReloadPluginsRequest,
        "reload_skills": client_requests.ReloadSkillsRequest,
        "reload_output_styles": client_requests.ReloadOutputStylesRequest,
        "set_has_subscribers": client_requests.SetHasSubscribersRequest,
        "stop_task": client_requests.StopTaskRequest,
        "background_tasks": client_requests.BackgroundTasksRequest,
        "apply_flag_settings": client_requests.ApplyFlagSettingsRequest,
        "update_settings": client_requests.UpdateSettingsRequest,
        "side_question": client_requests.SideQuestionRequest,
        "generate_session_title": client_requests.GenerateSessionTitleRequest,
        "end_session": client_requests.EndSessionRequest,
    },
    lambda name, problem: UnknownRequest(subtype=name, problem=problem),
)

ANSWERS: Mapping[str, type[AnswerView]] = {
    "can_use_tool": client_answers.PermissionAnswer,
    "hook_callback": client_answers.HookAnswer,
    "mcp_message": client_answers.McpMessageAnswer,
    "elicitation": client_answers.ElicitationAnswer,
    "request_user_dialog": client_answers.UserDialogAnswer,
    "initialize": InitializeAnswer,
    "interrupt": agent_answers.InterruptAnswer,
    "set_permission_mode": agent_answers.SetPermissionModeAnswer,
    "set_model": agent_answers.SetModelAnswer,
    "set_max_thinking_tokens": AnswerView,
    "rename_session": AnswerView,
    "set_color": AnswerView,
    "mcp_status": agent_answers.McpStatusAnswer,
    "mcp_set_servers": agent_answers.McpSetServersAnswer,
    "mcp_reconnect": AnswerView,
    "mcp_toggle": AnswerView,
    "mcp_authenticate": agent_answers.McpAuthenticateAnswer,
    "mcp_oauth_callback_url": AnswerView,
    "mcp_clear_auth": AnswerView,
    "mcp_list_resources": agent_answers.McpResourcesAnswer,
    "mcp_read_resource": agent_answers.McpReadResourceAnswer,
    "mcp_call": agent_answers.McpCallAnswer,
    "get_context_usage": agent_answers.ContextUsageAnswer,
    "get_session_cost": agent_answers.SessionCostAnswer,
    "get_usage": agent_answers.UsageAnswer,
    "get_binary_version": agent_answers.BinaryVersionAnswer,
    "get_settings": agent_answers.SettingsAnswer,
    "get_hooks_listing": agent_answers.HooksListingAnswer,
    "get_task_output": agent_answers.TaskOutputAnswer,
    "list_models": agent_answers.ModelsAnswer,
    "list_permission_rules": agent_answers.PermissionRulesAnswer,
    "file_suggestions": agent_answers.FileSuggestionsAnswer,
    "rewind_files": agent_answers.RewindFilesAnswer,
    "cancel_async_message": agent_answers.CancelAsyncMessageAnswer,
    "read_file": agent_answers.ReadFileAnswer,
    "seed_read_state": AnswerView,
    "register_repo_root": agent_answers.RegisterRepoRootAnswer,
    "reload_plugins": agent_answers.ReloadPluginsAnswer,
    "reload_skills": agent_answers.SkillsAnswer,
    "reload_output_styles": agent_answers.OutputStylesAnswer,
    "set_has_subscribers": AnswerView,
    "stop_task": AnswerView,
    "background_tasks": agent_answers.BackgroundTasksAnswer,
    "apply_flag_settings": AnswerView,
    "update_settings": AnswerView,
    "side_question": agent_answers.SideQuestionAnswer,
    "generate_session_title": agent_answers.SessionTitleAnswer,
    "end_session": AnswerView,
}
"""The view of an answer, by the subtype of its request: an answer does not say itself what it answers."""


def read_request(subtype: str, raw: bytes) -> RequestView:
    """The view of a control request, from its `request` object. Never raises."""
    return REQUESTS.read_as(subtype, raw)


def read_answer(subtype: str, raw: bytes) -> AnswerView:
    """The view of an answer, by the subtype of its request; `raw` is empty for a bare ack. Never raises."""
    row = ANSWERS.get(subtype)
    if row is None:
        return keep_raw(UnknownAnswer(subtype=subtype), raw)
    try:
        return read_view(row, raw or b"{}")
    except ViewError as error:
        return keep_raw(UnknownAnswer(subtype=subtype, problem=str(error)), raw)
