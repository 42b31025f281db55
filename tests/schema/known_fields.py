"""The fields that the CLI is known to send or to read: names on the wire, by type."""

from __future__ import annotations

MESSAGE_FIELDS = {
    "active_goal": "session_id type uuid value",
    "assistant": (
        "aborted agent_id api_error_status api_error_type context_usage error is_api_error_message "
        "local_command_source message parent_tool_use_id request_id resume_reason "
        "resumed_from_incomplete_thinking session_id subagent_type supersedes task_description timestamp "
        "tool_use_meta type usage_report user_message_uuid user_message_uuids uuid"
    ),
    "auth_status": "error isAuthenticating output session_id type uuid",
    "command_lifecycle": "command_uuid session_id state type uuid",
    "conversation_reset": "new_conversation_id session_id timestamp trigger type user_message_uuid uuid",
    "error": "error",
    "keep_alive": "type",
    "prompt_suggestion": "session_id suggestion type uuid",
    "rate_limit_event": "rate_limit_info session_id type uuid",
    "result": (
        "api_error_status api_error_type credential_expires_at deferred_tool_use duration_api_ms duration_ms "
        "error errors fast_mode_disabled_reason fast_mode_state first_content_frame_ms "
        "first_stream_post_ack_ms first_stream_post_ms first_stream_post_queue_wait_ms "
        "first_stream_post_queued_behind first_stream_post_wall_ms first_text_post_ms "
        "first_text_post_queue_wait_ms first_text_post_queued_behind first_text_post_wall_ms "
        "invalid_config_file is_error local_command modelUsage model_usage_since_last_result num_turns origin "
        "permission_denials queued_turn_count request_sent_wall_ms result result_index resume_reason "
        "safety_stops session_id startup_failure_reason stop_reason structured_output subagent_stats subtype "
        "terminal_reason time_origin_ms time_to_request_from_spawn_ms time_to_request_ms total_cost_usd "
        "ttft_ms ttft_stream_ms type usage user_message_uuid user_message_uuids uuid warm_spare_claimed"
    ),
    "stream_event": (
        "abandoned_blocks api_message_id event parent_tool_use_id resume_reason session_id thinking_display "
        "ttft_ms type user_message_uuid user_message_uuids uuid"
    ),
    "system/api_retry": (
        "attempt error error_status max_retries no_response retry_delay_ms session_id subtype type uuid"
    ),
    "system/background_tasks_changed": "session_id subtype tasks type uuid",
    "system/commands_changed": "commands session_id subtype type uuid",
    "system/compact_boundary": "compact_metadata session_id subtype type uuid",
    "system/control_request_progress": (
        "attempt error_status max_retries request_id retry_delay_ms session_id status subtype type uuid"
    ),
    "system/elicitation_complete": "elicitation_id mcp_server_name session_id subtype type uuid",
    "system/files_persisted": "failed files processed_at session_id subtype type uuid",
    "system/hook_progress": "hook_event hook_id hook_name output session_id stderr stdout subtype type uuid",
    "system/hook_response": (
        "exit_code hook_event hook_id hook_name outcome output session_id stderr stdout subtype type uuid"
    ),
    "system/hook_started": "hook_event hook_id hook_name session_id subtype type uuid",
    "system/informational": "content level prevent_continuation session_id subtype tag tool_use_id type uuid",
    "system/init": (
        "additional_directories agents apiKeySource betas capabilities claude_code_version cwd effort "
        "fast_mode_disabled_reason fast_mode_state mcp_server_errors mcp_servers memory_paths "
        "messaging_socket_path model original_cwd output_style permissionMode plugin_errors plugins "
        "session_id skills slash_commands subtype terminal_slash_commands tools type uuid view_mode"
    ),
    "system/local_command_output": "content session_id subtype type uuid",
    "system/memory_recall": "memories mode session_id subtype type uuid",
    "system/mirror_error": "error key session_id subtype type uuid",
    "system/model_fallback": "content fallback_model original_model trigger",
    "system/model_refusal_fallback": (
        "api_refusal_category api_refusal_explanation content direction fallback_model original_model "
        "refused_user_message_uuid request_id retracted_message_uuids scope session_id subtype trigger type "
        "uuid"
    ),
    "system/model_refusal_no_fallback": (
        "api_refusal_category api_refusal_explanation content original_model refused_user_message_uuid "
        "request_id session_id subtype type uuid"
    ),
    "system/notification": "color key priority session_id subtype text timeout_ms type uuid",
    "system/permission_denied": (
        "agent_id decision_reason decision_reason_type message session_id subtype tool_name tool_use_id type uuid"
    ),
    "system/plugin_install": "error name session_id status subtype type uuid",
    "system/session_state_changed": "session_id state subtype type uuid",
    "system/session_title_changed": "title",
    "system/session_writes_lost": "error_code lost session_id subtype transcript_session_ids type uuid",
    "system/status": "compact_error compact_result permissionMode session_id status subtype type uuid",
    "system/task_notification": (
        "ambient output_file reason resource_links run_id session_id skip_transcript status subtype summary "
        "task_id tool_use_id type usage uuid"
    ),
    "system/task_progress": (
        "description last_tool_name run_id session_id subagent_type subtype summary task_id tool_use_id type usage uuid"
    ),
    "system/task_started": (
        "ambient description is_backgrounded parent_task_id prompt run_id session_id skip_transcript "
        "spawn_depth subagent_type subtype task_id task_type tool_use_id type uuid workflow_name"
    ),
    "system/task_updated": "patch run_id session_id subtype task_id type uuid",
    "system/thinking_tokens": "estimated_tokens estimated_tokens_delta session_id subtype type user_message_uuid uuid",
    "system/ui_invalidate": "subtype",
    "system/worker_shutting_down": "reason session_id subtype type uuid",
    "tool_progress": (
        "elapsed_time_seconds heartbeat parent_tool_use_id session_id subagent_retry subagent_type task_id "
        "tool_name tool_use_id type uuid"
    ),
    "tool_use_summary": "preceding_tool_use_ids session_id summary type uuid",
    "transcript_mirror": "entries filePath",
    "user": (
        "agent_id client_composed file_attachments inline_pastes isReplay isSynthetic message origin "
        "parent_tool_use_id pasted_content priority session_id shouldQuery subagent_type task_description "
        "timestamp tool_result_meta tool_use_result type uuid"
    ),
}

REQUEST_FIELDS = {
    "apply_flag_settings": "settings subtype",
    "background_tasks": "subtype tool_use_id",
    "can_use_tool": (
        "agent_id blocked_path classifier_approvable decision_reason decision_reason_rule_source "
        "decision_reason_type default_to_no description display_name input matched_ask_rule mcp_server "
        "permission_suggestions requires_user_interaction server_policy_ask_only subtype "
        "suppress_always_allow_rule title tool_name tool_use_id"
    ),
    "cancel_async_message": "message_uuid subtype",
    "elicitation": (
        "description display_name elicitation_id mcp_server_name message mode property_order requested_schema "
        "subtype title url"
    ),
    "end_session": "subtype",
    "file_suggestions": "query subtype",
    "generate_session_title": "description persist subtype",
    "get_binary_version": "subtype",
    "get_context_usage": "detail subtype",
    "get_hooks_listing": "subtype",
    "get_session_cost": "subtype",
    "get_settings": "subtype",
    "get_task_output": "subtype task_id",
    "get_usage": "skip_behaviors subtype",
    "hook_callback": "callback_id input subtype tool_use_id",
    "initialize": (
        "agentProgressSummaries agents appendSystemPrompt excludeDynamicSections forwardSubagentText hooks "
        "jsonSchema perTaskStopAffordance planModeInstructions plugins promptSuggestions sdkMcpServerConfigs "
        "sdkMcpServerManifests sdkMcpServerManifestsOrigin sdkMcpServers skills subtype supportedDialogKinds "
        "systemPrompt systemPromptSnapshot title toolAliases"
    ),
    "interrupt": "cancel_queued subtype",
    "list_models": "subtype",
    "list_permission_rules": "subtype",
    "mcp_call": (
        "arguments check_permissions expires_at input_files output_files result_not_for_model subtype timeout_ms tool"
    ),
    "mcp_message": "message server_name subtype",
    "mcp_read_resource": "serverName subtype uri",
    "mcp_reconnect": "serverName subtype",
    "mcp_set_servers": "servers subtype",
    "mcp_status": "liveReply subtype",
    "mcp_toggle": "enabled serverName subtype",
    "read_file": "encoding max_bytes path subtype",
    "register_repo_root": "directory reload_claude_md reload_plugins reload_skills subtype",
    "reload_output_styles": "subtype",
    "reload_plugins": "add_plugins hold_on_cache_impact refuse_if_busy subtype",
    "reload_skills": "subtype",
    "rename_session": "session_id source subtype title",
    "request_user_dialog": "dialog_kind payload subtype tool_use_id",
    "rewind_files": "dry_run subtype user_message_id",
    "seed_read_state": "mtime path subtype",
    "set_color": "color subtype",
    "set_has_subscribers": "has_subscribers subtype",
    "set_max_thinking_tokens": "max_thinking_tokens subtype thinking_display",
    "set_model": "model subtype",
    "set_permission_mode": "mode subtype",
    "side_question": "question subtype",
    "stop_task": "subtype task_id",
    "update_settings": "settings source subtype",
}

ANSWER_FIELDS = {
    "apply_flag_settings": "",
    "background_tasks": "backgrounded",
    "can_use_tool": "behavior decisionClassification interrupt message toolUseID updatedInput updatedPermissions",
    "cancel_async_message": "cancelled",
    "elicitation": "action content",
    "file_suggestions": "cwd suggestions",
    "generate_session_title": "title",
    "get_binary_version": "buildTime version",
    "get_context_usage": (
        "agents apiUsage autoCompactThreshold categories deferredBuiltinTools gridRows isAutoCompactEnabled "
        "maxTokens mcpInstructions mcpTools memoryFiles messageBreakdown model percentage rawMaxTokens skills "
        "slashCommands systemPromptSections systemTools totalTokens"
    ),
    "get_hooks_listing": "bareMode errors eventCatalog events hooks policy safeMode",
    "get_session_cost": "text",
    "get_settings": "applied effective errors sources withheld",
    "get_task_output": "output total_bytes truncated",
    "get_usage": "behaviors rate_limits rate_limits_available session subscription_type",
    "hook_callback": (
        "async asyncTimeout continue decision hookSpecificOutput reason stopReason suppressOutput "
        "systemMessage terminalSequence"
    ),
    "initialize": (
        "account agents available_output_styles capabilities claude_code_version commands "
        "current_permission_mode fast_mode_disabled_reason fast_mode_state hook_on_failure_supported "
        "hooks_applied models output_style pid plugins_applied sdk_mcp_manifests_parked session_state "
        "user_output_styles_dir"
    ),
    "interrupt": "cancelled still_queued",
    "list_models": "models",
    "list_permission_rules": "state",
    "mcp_call": "_meta content staging structuredContent",
    "mcp_message": "mcp_response",
    "mcp_read_resource": "contents",
    "mcp_reconnect": "",
    "mcp_set_servers": "added errors removed",
    "mcp_status": "mcpServers",
    "mcp_toggle": "",
    "read_file": "absPath contents encoding lossy requested_path truncated",
    "register_repo_root": "directory",
    "reload_output_styles": "available_output_styles",
    "reload_plugins": "agents cache_impact commands error_count held mcpServers plugins",
    "reload_skills": "skills",
    "rename_session": "",
    "request_user_dialog": "behavior result",
    "rewind_files": "canRewind deletions error filesChanged insertions skippedLinks",
    "seed_read_state": "",
    "set_color": "",
    "set_has_subscribers": "",
    "set_max_thinking_tokens": "",
    "set_model": "model",
    "set_permission_mode": "mode",
    "side_question": "response synthetic",
    "stop_task": "",
    "update_settings": "",
}

HOOK_FIELDS = {
    "ConfigChange": "file_path source",
    "CwdChanged": "new_cwd old_cwd",
    "DirectoryAdded": "directory source",
    "Elicitation": "elicitation_id mcp_server_name message mode requested_schema url",
    "ElicitationResult": "action content elicitation_id mcp_server_name mode",
    "FileChanged": "event file_path",
    "InstructionsLoaded": "file_path globs load_reason memory_type parent_file_path trigger_file_path",
    "MessageDisplay": "delta final index message_id turn_id",
    "Notification": "message notification_type title",
    "PermissionDenied": "mcp_server reason tool_input tool_name tool_use_id",
    "PermissionRequest": "mcp_server permission_suggestions tool_input tool_name",
    "PostCompact": "compact_summary trigger",
    "PostModelSwitch": (
        "cache_ttl context_tokens estimated_cache_write_usd from_model pricing prompt_cache_warm "
        "requested_model source to_model"
    ),
    "PostToolBatch": "tool_calls",
    "PostToolUse": "duration_ms mcp_server tool_input tool_name tool_response tool_use_id",
    "PostToolUseFailure": "duration_ms error is_interrupt mcp_server tool_input tool_name tool_use_id",
    "PreCompact": "custom_instructions trigger",
    "PreModelSwitch": (
        "cache_ttl context_tokens estimated_cache_write_usd from_model pricing prompt_cache_warm "
        "requested_model source to_model"
    ),
    "PreToolUse": "mcp_server tool_input tool_name tool_use_id",
    "SessionEnd": "reason",
    "SessionStart": (
        "agent_type context_tokens estimated_cache_write_usd model prompt_cache_likely_expired "
        "seconds_since_last_response session_title source"
    ),
    "Setup": "trigger",
    "Stop": "background_tasks last_assistant_message session_crons stop_hook_active",
    "StopFailure": "error error_details last_assistant_message",
    "SubagentStart": "agent_id agent_type",
    "SubagentStop": (
        "agent_id agent_transcript_path agent_type background_tasks last_assistant_message session_crons "
        "stop_hook_active"
    ),
    "TaskCompleted": "task_description task_id task_subject team_name teammate_name",
    "TaskCreated": "task_description task_id task_subject team_name teammate_name",
    "TeammateIdle": "team_name teammate_name",
    "UserPromptExpansion": "command_args command_name command_source expansion_type prompt",
    "UserPromptSubmit": "prompt session_title source",
    "WorktreeCreate": "name",
    "WorktreeRemove": "worktree_path",
}

EVERY_HOOK_FIELDS = (
    "hook_event_name session_id transcript_path cwd prompt_id permission_mode agent_id agent_type effort"
)
