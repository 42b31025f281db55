"""Every row of the reference that works has a test that observes its effect."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from handrail.agent.controls.handshake import FIELDS
from handrail.agent.flags import FLAGS
from handrail.agent.hooks.base import EVENTS
from handrail.agent.setting_keys import SETTING_KEYS
from handrail.agent.subcommands import SUBCOMMAND_STATES
from handrail.agent.variables import VARIABLES
from handrail.schema.control import REQUESTS
from tests.agent.conversation.test_hook_events import ELSEWHERE, SCENES
from tests.agent.test_flag_effects import EFFECTS
from tests.contract.test_control_rows import OF_THE_AGENT, REFUSED

TESTS = Path(__file__).parent.parent
ARGUMENTS, FLAG, SESSION = "agent/test_arguments.py", "agent/test_flag_effects.py", "agent/test_session_effects.py"
START, STARTED = "agent/test_start.py", "agent/test_start_flags.py"
LOOP, TOOLBOX = "agent/conversation/test_loop.py", "agent/conversation/test_toolbox.py"
ACCESS, ANTHROPIC = "agent/models/test_api_access.py", "agent/models/test_anthropic.py"
CONTROLS, DONE, LIVE = "contract/test_controls.py", "contract/test_control_effects.py", "contract/test_live_settings.py"
OFFERS, SIGN_IN, ROWS = "contract/test_mcp_offers.py", "contract/test_mcp_sign_in.py", "contract/test_control_rows.py"
MEMORY = "agent/prompt/test_memory.py"
INITIALIZE, SUBCOMMANDS = "agent/host/test_initialize.py", "agent/test_subcommands.py"

OF_FLAGS = {
    "--print": f"{FLAG}::test_output_formats",
    "--input-format": f"{FLAG}::test_lines_are_read_from_stdin",
    "--output-format": f"{FLAG}::test_output_formats",
    "--verbose": f"{FLAG}::test_output_formats",
    "--include-partial-messages": f"{LOOP}::test_stream_events_are_sent_only_on_request",
    "--include-hook-events": f"{SESSION}::test_hooks_are_reported_on_request",
    "--replay-user-messages": "agent/conversation/test_turn.py::test_a_prompt_is_echoed_with_the_id_for_rewinding",
    "--forward-subagent-text": f"{SESSION}::test_text_of_subagents_is_forwarded_on_request",
    "--await-initialize": f"{STARTED}::test_await_initialize_holds_prompts_back",
    "--prompt-suggestions": f"{SESSION}::test_a_prompt_is_suggested_after_the_second_answer",
    "--permission-prompt-tool": f"{STARTED}::test_a_missing_prompt_tool_ends_the_session",
    "--permission-prompts": f"{STARTED}::test_permission_prompts_of_none_deny_what_would_be_asked",
    "--permission-mode": f"{SESSION}::test_the_permission_mode_decides_about_questions",
    "--allowedTools": "agent/conversation/test_permission.py::test_an_allowed_call_is_not_asked_about",
    "--disallowedTools": f"{TOOLBOX}::test_a_denied_tool_is_not_offered",
    "--tools": f"{TOOLBOX}::test_only_the_named_tools_are_offered",
    "--add-dir": f"{SESSION}::test_more_folders_are_read_without_a_question",
    "--dangerously-skip-permissions": "agent/test_session.py::test_bypass_is_available_only_on_request",
    "--allow-dangerously-skip-permissions": "agent/test_session.py::test_bypass_is_available_only_on_request",
    "--fallback-model": f"{FLAG}::test_fallback_models_are_resolved_and_tried_in_order_with_few_retries",
    "--max-turns": f"{LOOP}::test_max_turns_ends_the_turn_after_the_results",
    "--max-budget-usd": f"{LOOP}::test_the_budget_ends_the_turn_and_leaves_no_call_open",
    "--json-schema": f"{LOOP}::test_a_structured_answer_is_retried_until_it_fits",
    "--system-prompt": "agent/prompt/test_system.py::test_system_prompt_flag_replaces_the_default",
    "--system-prompt-file": "agent/test_session.py::test_a_system_prompt_may_come_from_a_file",
    "--append-system-prompt": "agent/prompt/test_system.py::test_system_prompt_flag_replaces_the_default",
    "--append-system-prompt-file": "agent/test_session.py::test_a_system_prompt_may_come_from_a_file",
    "--exclude-dynamic-system-prompt-sections": f"{FLAG}::test_dynamic_sections_move_into_the_first_prompt",
    "--agents": f"{FLAG}::test_agents_of_a_file",
    "--settings": "agent/test_folder_rules.py::test_deny_from_the_flag_wins_over_every_allow",
    "--setting-sources": "agent/test_session.py::test_setting_sources_select_the_files",
    "--trust-folder": "agent/test_folder_rules.py::test_session_that_trusts_the_folder_decides_as_explained",
    "--managed-settings-in-initialize": f"{STARTED}::test_policy_settings_of_the_handshake_are_in_force",
    "--project-config-root": f"{FLAG}::test_settings_of_another_folder_are_read",
    "--mcp-config": "agent/slash_commands/test_local.py::test_mcp_lists_the_servers",
    "--strict-mcp-config": f"{SUBCOMMANDS}::test_strict_sessions_do_not_start_them",
    "--plugin-dir": "agent/extensions/test_plugins.py::test_everything_of_a_plugin_has_its_name_before_it",
    "--plugin-dir-no-mcp": f"{SESSION}::test_a_plugin_may_be_loaded_without_its_servers",
    "--disable-slash-commands": "agent/slash_commands/test_commands.py::test_disabled_slash_commands_are_not_listed",
    "--resume": f"{START}::test_resume_continues_id_history_cost_and_file",
    "--resume-session-at": f"{START}::test_resume_at_a_message_drops_later_messages",
    "--resume-drops-turn": f"{START}::test_resume_that_drops_other_turns_is_refused",
    "--continue": f"{START}::test_continue_resumes_the_latest_session_or_starts_one",
    "--fork-session": f"{START}::test_fork_copies_the_history_and_leaves_the_original_unchanged",
    "--session-id": f"{START}::test_fork_copies_the_history_and_leaves_the_original_unchanged",
    "--from-pr": f"{SESSION}::test_a_session_is_linked_to_the_pull_request_it_changes",
    "--name": f"{START}::test_resume_by_title",
    "--no-session-persistence": "agent/record/test_transcript.py::test_no_session_persistence_writes_nothing",
    "--session-mirror": "agent/record/test_transcript.py::test_mirrored_subagent_names_the_call_that_started_it",
    "--rewind-files": "agent/record/test_checkpoints.py::test_rewind_files_flag_rewinds_and_exits",
    "--file": f"{FLAG}::test_files_are_downloaded_before_the_session",
    "--debug": f"{FLAG}::test_debug_alone_writes_to_the_folder_of_the_cli",
    "--debug-file": f"{FLAG}::test_debug_writes_a_log_without_the_key",
    "--debug-to-stderr": f"{FLAG}::test_debug_to_stderr",
    "--version": f"{ARGUMENTS}::test_version_is_printed_without_a_session",
    "--help": f"{ARGUMENTS}::test_help_lists_every_flag",
}

OF_VARIABLES = {
    "ANTHROPIC_API_KEY": f"{ANTHROPIC}::test_the_key_the_version_and_custom_headers_are_sent",
    "ANTHROPIC_AUTH_TOKEN": f"{ANTHROPIC}::test_the_key_the_version_and_custom_headers_are_sent",
    "ANTHROPIC_BASE_URL": f"{SESSION}::test_the_api_is_asked_at_its_address",
    "ANTHROPIC_SMALL_FAST_MODEL": f"{SESSION}::test_titles_are_asked_of_the_small_model",
    "ENABLE_TOOL_SEARCH": "agent/tools/test_tool_search.py::test_the_variable_decides",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": (
        f"{SESSION}::test_without_background_tasks_bash_does_not_offer_and_refuses_the_field"
    ),
    "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS": (
        "agent/conversation/test_hook_events.py::test_a_session_end_hook_that_hangs_does_not_keep_the_process"
    ),
    "HANDRAIL_CHILD": f"{SESSION}::test_children_keep_the_mark_of_the_bridge",
    "API_TIMEOUT_MS": f"{ANTHROPIC}::test_a_silent_server_times_out",
    "CLAUDE_CODE_API_KEY_HELPER_TTL_MS": (
        "agent/models/test_key_helper.py::test_a_lifetime_of_zero_runs_the_command_each_time"
    ),
    "CLAUDE_CODE_MAX_RETRIES": f"{LOOP}::test_the_environment_limits_retries",
    "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": f"{LOOP}::test_a_stop_hook_that_always_blocks_is_overruled_at_the_cap",
    "CLAUDE_CODE_SUBAGENT_MODEL": (
        "agent/conversation/test_subagents.py::test_the_environment_chooses_the_model_of_subagents"
    ),
    "HANDRAIL_SCRIPT": "agent/host/test_lifetime.py::test_one_shot_ends_by_a_signal_with_all_it_started",
    "HANDRAIL_CONTEXT_WINDOW": f"{SESSION}::test_a_full_window_is_compacted_unless_that_is_turned_off",
    "CLAUDE_CODE_AUTO_COMPACT_WINDOW": f"{SESSION}::test_the_window_may_be_made_smaller",
    "DISABLE_AUTO_COMPACT": f"{SESSION}::test_a_full_window_is_compacted_unless_that_is_turned_off",
    "DISABLE_COMPACT": f"{SESSION}::test_a_full_window_is_compacted_unless_that_is_turned_off",
    "HTTPS_PROXY": f"{SESSION}::test_https_requests_use_the_proxy",
    "ALL_PROXY": f"{SESSION}::test_https_requests_use_the_proxy",
    "HTTP_PROXY": f"{ANTHROPIC}::test_requests_use_the_proxy_unless_the_host_is_excluded",
    "NO_PROXY": f"{ANTHROPIC}::test_requests_use_the_proxy_unless_the_host_is_excluded",
    "SSL_CERT_FILE": f"{SESSION}::test_certificates_of_a_file_are_trusted",
    "NODE_EXTRA_CA_CERTS": f"{SESSION}::test_certificates_of_a_file_are_trusted",
    "HANDRAIL_PRIVATE_ADDRESSES": f"{SESSION}::test_private_addresses_are_fetched_only_on_request",
    "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": (
        "agent/conversation/test_turn.py::test_a_prompt_is_echoed_with_the_id_for_rewinding"
    ),
    "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": f"{STARTED}::test_states_of_the_session_are_reported",
    "CLAUDE_CODE_SDK_READS_SESSION_STATE": f"{STARTED}::test_states_of_the_session_are_reported",
    "CLAUDE_CODE_QUESTION_PREVIEW_FORMAT": f"{SESSION}::test_previews_of_questions_are_offered",
    "BASH_DEFAULT_TIMEOUT_MS": f"{SESSION}::test_commands_are_moved_to_the_background_at_their_timeout",
    "BASH_MAX_TIMEOUT_MS": f"{SESSION}::test_commands_are_moved_to_the_background_at_their_timeout",
    "BASH_MAX_OUTPUT_LENGTH": "agent/tools/test_bash.py::test_output_just_over_the_limit_is_saved_to_a_file",
    "MCP_TIMEOUT": "agent/mcp/test_http_channel.py::test_connecting_to_a_silent_server_times_out",
    "MCP_TOOL_TIMEOUT": "agent/mcp/test_attacks.py::test_m06_unanswered_call_times_out_and_is_cancelled",
    "MAX_MCP_OUTPUT_TOKENS": f"{OFFERS}::test_the_environment_limits_what_the_model_sees_of_a_result",
    "CLAUDE_CONFIG_DIR": f"{START}::test_session_of_the_cli_continues_in_its_file",
    "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": (
        f"{MEMORY}::test_more_folders_have_files_if_the_environment_says_so"
    ),
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": f"{MEMORY}::test_memory_files_can_be_turned_off",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": f"{MEMORY}::test_notes_of_earlier_sessions_are_shown_up_to_their_limit",
    "HOME": "agent/hooks/test_run.py::test_a_command_with_arguments_runs_without_a_shell",
}

OF_REQUESTS = {
    "apply_flag_settings": f"{LIVE}::test_effort_applies_to_the_next_request",
    "background_tasks": f"{DONE}::test_a_running_command_is_moved_to_the_background",
    "cancel_async_message": "contract/test_interrupts.py::test_one_message_that_waits_is_taken_back",
    "end_session": f"{SESSION}::test_a_session_ends_on_request",
    "file_suggestions": f"{OFFERS}::test_file_suggestions_name_their_folder",
    "generate_session_title": f"{SESSION}::test_titles_are_asked_of_the_small_model",
    "get_binary_version": f"{STARTED}::test_await_initialize_holds_prompts_back",
    "get_context_usage": "agent/conversation/test_side_requests.py::test_tokens_not_yet_known_are_counted_by_the_api",
    "get_hooks_listing": f"{SESSION}::test_hooks_are_listed",
    "get_session_cost": f"{CONTROLS}::test_the_session_tells_what_it_knows",
    "get_settings": f"{LIVE}::test_effort_applies_to_the_next_request",
    "get_task_output": f"{ROWS}::test_the_output_of_a_task_has_all_fields",
    "get_usage": f"{SESSION}::test_usage_counts_the_turns_of_the_session",
    "initialize": f"{INITIALIZE}::test_instructions_of_plan_mode_reach_the_model",
    "interrupt": "contract/test_interrupts.py::test_while_a_command_runs",
    "list_models": f"{CONTROLS}::test_the_session_tells_what_it_knows",
    "list_permission_rules": f"{INITIALIZE}::test_the_policy_of_a_host_server_becomes_rules",
    "mcp_authenticate": f"{SIGN_IN}::test_sign_in_adds_the_tools_to_the_running_session",
    "mcp_call": f"{CONTROLS}::test_a_tool_of_the_client_is_called",
    "mcp_clear_auth": f"{SIGN_IN}::test_later_sessions_are_signed_in_until_the_tokens_are_deleted",
    "mcp_list_resources": f"{OFFERS}::test_resources_are_listed_for_the_host",
    "mcp_message": f"{OFFERS}::test_tool_added_by_the_host_is_offered",
    "mcp_oauth_callback_url": f"{SIGN_IN}::test_callback_url_finishes_the_sign_in",
    "mcp_read_resource": f"{OFFERS}::test_resource_is_read_for_the_host",
    "mcp_reconnect": f"{CONTROLS}::test_servers_are_listed_switched_and_connected_again",
    "mcp_set_servers": f"{CONTROLS}::test_servers_come_and_go_while_the_session_runs",
    "mcp_status": f"{CONTROLS}::test_servers_are_listed_switched_and_connected_again",
    "mcp_toggle": f"{CONTROLS}::test_servers_are_listed_switched_and_connected_again",
    "read_file": f"{DONE}::test_read_file_cuts_and_encodes",
    "register_repo_root": f"{DONE}::test_a_registered_folder_is_a_working_folder",
    "reload_output_styles": "agent/extensions/test_plugins.py::test_everything_of_a_plugin_has_its_name_before_it",
    "reload_plugins": "agent/extensions/test_plugins.py::test_reloading_finds_what_was_added_to_a_plugin",
    "reload_skills": "agent/slash_commands/test_commands.py::test_reload_checks_the_trust_of_the_folder_again",
    "rename_session": "agent/record/test_transcript.py::test_title_of_a_long_session_is_found",
    "rewind_files": f"{CONTROLS}::test_files_are_put_back",
    "seed_read_state": f"{DONE}::test_a_seeded_file_can_be_overwritten_without_a_read",
    "set_max_thinking_tokens": f"{LIVE}::test_thinking_budget_applies_to_the_next_request",
    "set_model": f"{LIVE}::test_model_applies_to_the_next_request",
    "set_permission_mode": f"{LIVE}::test_permission_mode_applies_to_the_next_request",
    "side_question": "agent/conversation/test_side_requests.py::test_a_side_question_is_not_added_to_the_conversation",
    "stop_task": "contract/test_background.py::test_a_command_in_the_background_is_stopped",
    "update_settings": f"{LIVE}::test_an_output_style_is_written_to_the_local_settings_and_applied",
}

OF_SETTINGS = {
    "allowManagedHooksOnly": f"{SESSION}::test_hooks_of_the_user_are_turned_off",
    "allowManagedPermissionRulesOnly": f"{SESSION}::test_permission_settings_decide_about_questions",
    "autoCompactEnabled": f"{SESSION}::test_a_full_window_is_compacted_unless_that_is_turned_off",
    **dict.fromkeys(
        ("enableAllProjectMcpServers", "enabledMcpjsonServers", "disabledMcpjsonServers"),
        "agent/mcp/test_configured.py::test_user_settings_approve_servers_of_an_untrusted_project",
    ),
    "autoMemoryEnabled": f"{MEMORY}::test_notes_of_earlier_sessions_are_shown_up_to_their_limit",
    "claudeMdExcludes": f"{MEMORY}::test_excluded_files_are_not_read",
    "apiKeyHelper": f"{FLAG}::test_a_key_helper_of_the_user_is_run_and_its_key_sent",
    "disableAllHooks": f"{SESSION}::test_hooks_of_the_user_are_turned_off",
    "hooks": f"{SESSION}::test_hooks_of_the_user_are_turned_off",
    "mcpServers": f"{SESSION}::test_servers_of_settings_are_connected",
    "outputStyle": "agent/extensions/test_plugins.py::test_chosen_output_style_is_in_the_system_prompt",
    "permissions.additionalDirectories": f"{SESSION}::test_more_folders_are_read_without_a_question",
    "permissions.allow": f"{SESSION}::test_permission_settings_decide_about_questions",
    "permissions.ask": f"{SESSION}::test_permission_settings_decide_about_questions",
    "permissions.defaultMode": f"{SESSION}::test_permission_settings_decide_about_questions",
    "permissions.disableBypassPermissionsMode": f"{SESSION}::test_permission_settings_decide_about_questions",
    "sandbox": f"{SESSION}::test_the_sandbox_of_the_settings_is_used",
    "worktree": "agent/tools/test_worktrees.py::test_the_settings_choose_where_a_branch_begins",
}

OF_FIELDS = {
    "appendSystemPrompt": f"{SESSION}::test_prompts_of_the_handshake_reach_the_model",
    "excludeDynamicSections": f"{SESSION}::test_prompts_of_the_handshake_reach_the_model",
    "forwardSubagentText": f"{SESSION}::test_text_of_subagents_is_forwarded_on_request",
    "jsonSchema": f"{SESSION}::test_a_schema_of_the_handshake_is_used_if_it_is_valid",
    "perTaskStopAffordance": "contract/test_background.py::test_a_command_in_the_background_is_stopped",
    "plugins": f"{INITIALIZE}::test_plugins_are_loaded_from_local_folders",
    "sdkMcpServerManifests": f"{INITIALIZE}::test_manifests_of_servers_are_answered_as_not_honoured",
    "sdkMcpServerManifestsOrigin": f"{INITIALIZE}::test_manifests_of_servers_are_answered_as_not_honoured",
    "skills": f"{SESSION}::test_skills_of_the_handshake_are_offered",
    "supportedDialogKinds": f"{SESSION}::test_dialogs_are_never_requested",
    "systemPrompt": f"{SESSION}::test_prompts_of_the_handshake_reach_the_model",
    "title": f"{INITIALIZE}::test_a_title_names_a_new_session",
    "toolAliases": f"{INITIALIZE}::test_an_alias_redirects_a_call_to_another_tool",
    "hooks": "agent/conversation/test_calls.py::test_hooks_run_before_and_after_a_call_and_after_the_batch",
    "sdkMcpServers": f"{OFFERS}::test_tool_added_by_the_host_is_offered",
    "sdkMcpServerConfigs": f"{INITIALIZE}::test_the_policy_of_a_host_server_becomes_rules",
    "planModeInstructions": f"{INITIALIZE}::test_instructions_of_plan_mode_reach_the_model",
    "promptSuggestions": f"{SESSION}::test_a_prompt_is_suggested_after_the_second_answer",
    "agentProgressSummaries": f"{SESSION}::test_the_work_of_a_subagent_is_summarized_on_request",
    "managedSettings": f"{STARTED}::test_policy_settings_of_the_handshake_are_in_force",
    "agents": f"{STARTED}::test_an_agent_of_the_handshake_can_lead",
}

OF_SUBCOMMANDS = {
    "agents --json": f"{SESSION}::test_agents_are_listed_as_json",
    "mcp add": f"{SUBCOMMANDS}::test_a_local_server_is_written_for_this_folder_only",
    "mcp add-json": f"{SUBCOMMANDS}::test_a_server_is_added_as_json_and_removed",
    "mcp get": f"{SUBCOMMANDS}::test_a_server_is_shown_without_its_secrets",
    "mcp list": f"{SUBCOMMANDS}::test_servers_are_listed_with_their_health",
    "mcp remove": f"{SUBCOMMANDS}::test_a_server_is_added_as_json_and_removed",
    "plugin list": f"{SUBCOMMANDS}::test_no_servers_and_no_plugins",
}

WORKING = {
    "flags": ([flag.name for flag in FLAGS if flag.state == "works"], OF_FLAGS),
    "variables": ([one.name for one in VARIABLES if one.state == "works"], OF_VARIABLES),
    "requests": (sorted(set(REQUESTS.table) - OF_THE_AGENT - set(REFUSED)), OF_REQUESTS),
    "fields of initialize": ([name for name, text in FIELDS.items() if text], OF_FIELDS),
    "sub-commands": ([name for name, state in SUBCOMMAND_STATES.items() if state == "works"], OF_SUBCOMMANDS),
    "settings": ([one.name for one in SETTING_KEYS if one.state == "works"], OF_SETTINGS),
}


@pytest.mark.parametrize(("kind", "row"), [(kind, row) for kind, (rows, _) in WORKING.items() for row in rows])
def test_every_working_row_has_an_observed_effect(kind: str, row: str):
    assert row in WORKING[kind][1] or row in EFFECTS, f"no test observes the effect of {row}"


@pytest.mark.parametrize("kind", WORKING)
def test_every_entry_belongs_to_an_existing_row(kind: str):
    rows, observed = WORKING[kind]
    assert set(observed) - set(rows) == set()


def test_every_event_that_happens_is_observed():
    assert {name for name, event in EVENTS.items() if not event.never} == set(SCENES) | ELSEWHERE


NAMED = sorted({test for _, observed in WORKING.values() for test in observed.values()})


@pytest.mark.parametrize("test", NAMED)
def test_every_named_test_exists(test: str):
    path, _, name = test.partition("::")
    assert name in _functions(path)


@cache
def _functions(path: str) -> frozenset[str]:
    tree = ast.parse((TESTS / path).read_text())
    return frozenset(one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
