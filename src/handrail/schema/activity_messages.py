"""Messages about tasks, hooks, progress and limits: one view per type."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.schema.message_view import MessageView
from handrail.schema.system_messages import SystemMessage
from handrail.schema.view import Number, Part

__all__ = [
    "ActiveGoalMessage",
    "AuthStatusMessage",
    "BackgroundTask",
    "BackgroundTasksChangedMessage",
    "BashCommandMessage",
    "CommandLifecycleMessage",
    "ConversationResetMessage",
    "HookEventMessage",
    "HookProgressMessage",
    "HookResponseMessage",
    "HookStartedMessage",
    "KeepAliveMessage",
    "PromptSuggestionMessage",
    "RateLimitEvent",
    "RateLimitInfo",
    "TaskMessage",
    "TaskNotificationMessage",
    "TaskPatch",
    "TaskProgressMessage",
    "TaskStartedMessage",
    "TaskUpdatedMessage",
    "TaskUsage",
    "ToolProgressMessage",
    "ToolUseSummaryMessage",
    "TranscriptMirrorMessage",
    "UpdateEnvironmentVariablesMessage",
]


class TaskUsage(Part):
    """The usage of a task so far."""

    always = frozenset({"total_tokens", "tool_uses", "duration_ms"})
    total_tokens: int = 0
    tool_uses: int = 0
    duration_ms: Number = 0


class TaskMessage(SystemMessage):
    """The fields of every message about a task: a subagent, a workflow or a background command."""

    task_id: str = ""
    run_id: str = ""
    tool_use_id: str | None = None


class TaskStartedMessage(TaskMessage):
    """A task was started."""

    always = frozenset({"task_id", "description", "is_backgrounded", "task_type"})
    subtype: str = "task_started"
    description: str = ""
    task_type: str = ""
    subagent_type: str = ""
    workflow_name: str = ""
    prompt: str = ""
    is_backgrounded: bool = False
    spawn_depth: int | None = None
    parent_task_id: str | None = None
    owned_by_subagent: bool = False
    skip_transcript: bool = False
    ambient: bool = False


class TaskProgressMessage(TaskMessage):
    """A task made progress."""

    always = frozenset({"task_id", "description", "usage"})
    subtype: str = "task_progress"
    description: str = ""
    subagent_type: str = ""
    usage: TaskUsage | None = None
    last_tool_name: str = ""
    summary: str = ""


class TaskPatch(Part):
    """The changed fields of a task; the others are None."""

    status: str | None = None
    description: str | None = None
    end_time: Number | None = None
    total_paused_ms: Number | None = None
    error: str | None = None
    is_backgrounded: bool | None = None


class TaskUpdatedMessage(TaskMessage):
    """A task changed. This may be the only message about its end."""

    always = frozenset({"task_id", "patch"})
    subtype: str = "task_updated"
    patch: TaskPatch | None = None


class TaskNotificationMessage(TaskMessage):
    """A task ended."""

    always = frozenset({"task_id", "status", "output_file", "summary"})
    subtype: str = "task_notification"
    status: str = ""
    reason: str = ""
    output_file: str = ""
    summary: str = ""
    usage: TaskUsage | None = None
    resource_links: list[Any] = msgspec.field(default_factory=list[Any])
    skip_transcript: bool = False
    ambient: bool = False


class BackgroundTask(Part):
    """A task that runs in the background."""

    always = frozenset({"task_id", "task_type", "description"})
    task_id: str = ""
    run_id: str = ""
    task_type: str = ""
    subagent_type: str = ""
    description: str = ""
    parent_task_id: str | None = None
    ambient: bool = False


class BackgroundTasksChangedMessage(SystemMessage):
    """The new list of background tasks."""

    always = frozenset({"tasks"})
    subtype: str = "background_tasks_changed"
    tasks: list[BackgroundTask] = msgspec.field(default_factory=list[BackgroundTask])


class HookEventMessage(SystemMessage):
    """The fields of every message about a command hook."""

    hook_id: str = ""
    hook_name: str = ""
    hook_event: str = ""


class HookStartedMessage(HookEventMessage):
    """A hook was started."""

    always = frozenset({"hook_id", "hook_name", "hook_event"})
    subtype: str = "hook_started"


class HookProgressMessage(HookEventMessage):
    """The output of a hook so far."""

    always = frozenset({"hook_id", "hook_name", "hook_event", "output", "stdout", "stderr"})
    subtype: str = "hook_progress"
    stdout: str = ""
    stderr: str = ""
    output: str = ""


class HookResponseMessage(HookProgressMessage):
    """A hook ended."""

    always = frozenset({"hook_id", "hook_name", "hook_event", "output", "stdout", "stderr", "outcome"})
    subtype: str = "hook_response"
    exit_code: int | None = None
    outcome: str = ""


class RateLimitInfo(Part, rename="camel"):
    """The state of an account limit."""

    status: str = ""
    resets_at: Number | None = None
    rate_limit_type: str = ""
    utilization: Number | None = None
    overage_status: str = ""
    overage_resets_at: Number | None = None
    overage_disabled_reason: str | None = None
    is_using_overage: bool = False
    overage_in_use: bool = False
    overage_enabled: bool = False
    surpassed_threshold: Number | None = None
    limit_scope: str = ""
    error_code: str = ""
    can_user_purchase_credits: bool | None = None
    has_chargeable_saved_payment_method: bool | None = None


class RateLimitEvent(MessageView):
    """An account limit is near or was reached."""

    type: str = "rate_limit_event"
    rate_limit_info: RateLimitInfo | None = None


class ToolProgressMessage(MessageView):
    """A tool is still running. `output` is the newest output of a command; only handrail-agent sends it."""

    always = frozenset({"tool_use_id", "tool_name", "parent_tool_use_id", "elapsed_time_seconds"})
    type: str = "tool_progress"
    tool_use_id: str = ""
    tool_name: str = ""
    parent_tool_use_id: str | None = None
    elapsed_time_seconds: Number = 0
    task_id: str = ""
    heartbeat: bool = False
    subagent_type: str = ""
    subagent_retry: Any = None
    output: str = ""


class ToolUseSummaryMessage(MessageView):
    """A summary of the last tool calls in one sentence."""

    type: str = "tool_use_summary"
    summary: str = ""
    preceding_tool_use_ids: list[str] = msgspec.field(default_factory=list[str])


class CommandLifecycleMessage(MessageView):
    """A prompt that carried a uuid was queued, started, completed or cancelled."""

    always = frozenset({"command_uuid", "state"})
    type: str = "command_lifecycle"
    command_uuid: str = ""
    state: str = ""


class ConversationResetMessage(MessageView):
    """A new conversation with a new id."""

    always = frozenset({"new_conversation_id"})
    type: str = "conversation_reset"
    new_conversation_id: str = ""
    trigger: str = ""
    user_message_uuid: str = ""
    timestamp: str = ""


class AuthStatusMessage(MessageView):
    """Progress of signing in."""

    type: str = "auth_status"
    is_authenticating: bool = msgspec.field(default=False, name="isAuthenticating")
    output: list[str] = msgspec.field(default_factory=list[str])
    error: str = ""


class PromptSuggestionMessage(MessageView):
    """A suggested next prompt."""

    type: str = "prompt_suggestion"
    suggestion: str = ""


class ActiveGoalMessage(MessageView):
    """The goal of the session."""

    type: str = "active_goal"
    value: Any = None


class TranscriptMirrorMessage(MessageView):
    """Lines of the transcript, for a copy of it."""

    always = frozenset({"filePath", "entries"})
    type: str = "transcript_mirror"
    file_path: str = msgspec.field(default="", name="filePath")
    entries: list[Any] = msgspec.field(default_factory=list[Any])


class KeepAliveMessage(MessageView):
    """A sign of life."""

    type: str = "keep_alive"
    startup_mark: Any = None


class UpdateEnvironmentVariablesMessage(MessageView):
    """New environment variables for the CLI, from the client."""

    type: str = "update_environment_variables"
    variables: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    request_id: str = ""


class BashCommandMessage(MessageView):
    """A command that the client runs without the model."""

    type: str = "bash_command"
    command: str = ""
    cwd: str = ""
