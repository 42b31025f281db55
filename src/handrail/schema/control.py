"""Typed views of control requests and their answers, in both directions.

A new control request is one row in REQUESTS and one in ANSWERS. A subtype without a row is UnknownRequest or
UnknownAnswer, which keep the bytes.
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail.schema import agent_answers as told
from handrail.schema import agent_requests as asked
from handrail.schema import client_answers as said
from handrail.schema import client_requests as wanted
from handrail.schema.control_view import AnswerView, RequestView, UnknownAnswer, UnknownRequest
from handrail.schema.handshake import InitializeAnswer, InitializeRequest
from handrail.schema.view import OpenUnion, ViewError, keep_raw, read_view

__all__ = ["ANSWERS", "REQUESTS", "read_answer", "read_request"]

REQUESTS: OpenUnion[RequestView] = OpenUnion(
    "subtype",
    {
        "can_use_tool": asked.PermissionRequest,
        "hook_callback": asked.HookCallbackRequest,
        "mcp_message": asked.McpMessageRequest,
        "elicitation": asked.ElicitationRequest,
        "request_user_dialog": asked.UserDialogRequest,
        "initialize": InitializeRequest,
        "interrupt": wanted.InterruptRequest,
        "set_permission_mode": wanted.SetPermissionModeRequest,
        "set_model": wanted.SetModelRequest,
        "set_max_thinking_tokens": wanted.SetMaxThinkingTokensRequest,
        "rename_session": wanted.RenameSessionRequest,
        "set_color": wanted.SetColorRequest,
        "mcp_status": wanted.McpStatusRequest,
        "mcp_set_servers": wanted.McpSetServersRequest,
        "mcp_reconnect": wanted.McpReconnectRequest,
        "mcp_toggle": wanted.McpToggleRequest,
        "mcp_authenticate": wanted.McpAuthenticateRequest,
        "mcp_oauth_callback_url": wanted.McpOAuthCallbackUrlRequest,
        "mcp_clear_auth": wanted.McpClearAuthRequest,
        "mcp_list_resources": wanted.McpListResourcesRequest,
        "mcp_read_resource": wanted.McpReadResourceRequest,
        "mcp_call": wanted.McpCallRequest,
        "get_context_usage": wanted.GetContextUsageRequest,
        "get_session_cost": wanted.GetSessionCostRequest,
        "get_usage": wanted.GetUsageRequest,
        "get_binary_version": wanted.GetBinaryVersionRequest,
        "get_settings": wanted.GetSettingsRequest,
        "get_hooks_listing": wanted.GetHooksListingRequest,
        "get_task_output": wanted.GetTaskOutputRequest,
        "list_models": wanted.ListModelsRequest,
        "list_permission_rules": wanted.ListPermissionRulesRequest,
        "file_suggestions": wanted.FileSuggestionsRequest,
        "rewind_files": wanted.RewindFilesRequest,
        "cancel_async_message": wanted.CancelAsyncMessageRequest,
        "read_file": wanted.ReadFileRequest,
        "seed_read_state": wanted.SeedReadStateRequest,
        "register_repo_root": wanted.RegisterRepoRootRequest,
        "reload_plugins": wanted.ReloadPluginsRequest,
        "reload_skills": wanted.ReloadSkillsRequest,
        "reload_output_styles": wanted.ReloadOutputStylesRequest,
        "set_has_subscribers": wanted.SetHasSubscribersRequest,
        "stop_task": wanted.StopTaskRequest,
        "background_tasks": wanted.BackgroundTasksRequest,
        "apply_flag_settings": wanted.ApplyFlagSettingsRequest,
        "update_settings": wanted.UpdateSettingsRequest,
        "side_question": wanted.SideQuestionRequest,
        "generate_session_title": wanted.GenerateSessionTitleRequest,
        "end_session": wanted.EndSessionRequest,
    },
    lambda name, problem: UnknownRequest(subtype=name, problem=problem),
)

ANSWERS: Mapping[str, type[AnswerView]] = {
    "can_use_tool": said.PermissionAnswer,
    "hook_callback": said.HookAnswer,
    "mcp_message": said.McpMessageAnswer,
    "elicitation": said.ElicitationAnswer,
    "request_user_dialog": said.UserDialogAnswer,
    "initialize": InitializeAnswer,
    "interrupt": told.InterruptAnswer,
    "set_permission_mode": told.SetPermissionModeAnswer,
    "set_model": told.SetModelAnswer,
    "set_max_thinking_tokens": AnswerView,
    "rename_session": AnswerView,
    "set_color": AnswerView,
    "mcp_status": told.McpStatusAnswer,
    "mcp_set_servers": told.McpSetServersAnswer,
    "mcp_reconnect": AnswerView,
    "mcp_toggle": AnswerView,
    "mcp_authenticate": told.McpAuthenticateAnswer,
    "mcp_oauth_callback_url": AnswerView,
    "mcp_clear_auth": AnswerView,
    "mcp_list_resources": told.McpResourcesAnswer,
    "mcp_read_resource": told.McpReadResourceAnswer,
    "mcp_call": told.McpCallAnswer,
    "get_context_usage": told.ContextUsageAnswer,
    "get_session_cost": told.SessionCostAnswer,
    "get_usage": told.UsageAnswer,
    "get_binary_version": told.BinaryVersionAnswer,
    "get_settings": told.SettingsAnswer,
    "get_hooks_listing": told.HooksListingAnswer,
    "get_task_output": told.TaskOutputAnswer,
    "list_models": told.ModelsAnswer,
    "list_permission_rules": told.PermissionRulesAnswer,
    "file_suggestions": told.FileSuggestionsAnswer,
    "rewind_files": told.RewindFilesAnswer,
    "cancel_async_message": told.CancelAsyncMessageAnswer,
    "read_file": told.ReadFileAnswer,
    "seed_read_state": AnswerView,
    "register_repo_root": told.RegisterRepoRootAnswer,
    "reload_plugins": told.ReloadPluginsAnswer,
    "reload_skills": told.SkillsAnswer,
    "reload_output_styles": told.OutputStylesAnswer,
    "set_has_subscribers": AnswerView,
    "stop_task": AnswerView,
    "background_tasks": told.BackgroundTasksAnswer,
    "apply_flag_settings": AnswerView,
    "update_settings": AnswerView,
    "side_question": told.SideQuestionAnswer,
    "generate_session_title": told.SessionTitleAnswer,
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
