"""All `system` messages by subtype."""

from __future__ import annotations

from collections.abc import Mapping

from handrail.schema import activity_messages as activity
from handrail.schema import system_messages as system

__all__ = ["SYSTEM_MESSAGES"]

SYSTEM_MESSAGES: Mapping[str, type[system.SystemMessage]] = {
    "init": system.InitMessage,
    "status": system.StatusMessage,
    "compact_boundary": system.CompactBoundaryMessage,
    "api_retry": system.ApiRetryMessage,
    "model_fallback": system.ModelFallbackMessage,
    "model_refusal_fallback": system.ModelRefusalFallbackMessage,
    "model_refusal_no_fallback": system.ModelRefusalNoFallbackMessage,
    "permission_denied": system.PermissionDeniedMessage,
    "informational": system.InformationalMessage,
    "notification": system.NotificationMessage,
    "thinking_tokens": system.ThinkingTokensMessage,
    "session_state_changed": system.SessionStateChangedMessage,
    "session_title_changed": system.SessionTitleChangedMessage,
    "session_writes_lost": system.SessionWritesLostMessage,
    "control_request_progress": system.ControlRequestProgressMessage,
    "ui_invalidate": system.UiInvalidateMessage,
    "local_command_output": system.LocalCommandOutputMessage,
    "plugin_install": system.PluginInstallMessage,
    "worker_shutting_down": system.WorkerShuttingDownMessage,
    "commands_changed": system.CommandsChangedMessage,
    "files_persisted": system.FilesPersistedMessage,
    "memory_recall": system.MemoryRecallMessage,
    "elicitation_complete": system.ElicitationCompleteMessage,
    "mirror_error": system.MirrorErrorMessage,
    "task_started": activity.TaskStartedMessage,
    "task_progress": activity.TaskProgressMessage,
    "task_updated": activity.TaskUpdatedMessage,
    "task_notification": activity.TaskNotificationMessage,
    "background_tasks_changed": activity.BackgroundTasksChangedMessage,
    "hook_started": activity.HookStartedMessage,
    "hook_progress": activity.HookProgressMessage,
    "hook_response": activity.HookResponseMessage,
}
"""The view of each `system` message."""
