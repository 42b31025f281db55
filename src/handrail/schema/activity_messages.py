"""What goes on beside the conversation: tasks, hooks, progress, limits. In: their lines. Out: one view per kind."""

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
    """What a task used so far."""

    total_tokens: int = 0
    tool_uses: int = 0
    duration_ms: Number = 0


class TaskMessage(SystemMessage):
    """Something about a task: a subagent, a workflow or a command in the background."""

    task_id: str = ""
    run_id: str = ""
    tool_use_id: str | None = None


class TaskStartedMessage(TaskMessage):
    """A task began."""

    subtype: str = "task_started"
    description: str = ""
    task_type: str = ""
    subagent_type: str = ""
    workflow_name: str = ""
    prompt: str = ""
    is_backgrounded: bool = False
    spawn_depth: int | None = None
    parent_task_id: str | None = None
    skip_transcript: bool = False
    ambient: bool = False


class TaskProgressMessage(TaskMessage):
    """A task goes on."""

    subtype: str = "task_progress"
    description: str = ""
    subagent_type: str = ""
    usage: TaskUsage | None = None
    last_tool_name: str = ""
    summary: str = ""


class TaskPatch(Part):
    """What changed of a task; None where nothing did."""

    status: str | None = None
    description: str | None = None
    end_time: Number | None = None
    total_paused_ms: Number | None = None
    error: str | None = None
    is_backgrounded: bool | None = None


class TaskUpdatedMessage(TaskMessage):
    """A task changed. Its end may be told here alone."""

    subtype: str = "task_updated"
    patch: TaskPatch | None = None


class TaskNotificationMessage(TaskMessage):
    """A task ended."""

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

    task_id: str = ""
    run_id: str = ""
    task_type: str = ""
    subagent_type: str = ""
    description: str = ""
    parent_task_id: str | None = None
    ambient: bool = False


class BackgroundTasksChangedMessage(SystemMessage):
    """The tasks in the background are these now."""

    subtype: str = "background_tasks_changed"
    tasks: list[BackgroundTask] = msgspec.field(default_factory=list[BackgroundTask])


class HookEventMessage(SystemMessage):
    """Something about a hook that the settings name."""

    hook_id: str = ""
    hook_name: str = ""
    hook_event: str = ""


class HookStartedMessage(HookEventMessage):
    """A hook began."""

    subtype: str = "hook_started"


class HookProgressMessage(HookEventMessage):
    """What a hook printed so far."""

    subtype: str = "hook_progress"
    stdout: str = ""
    stderr: str = ""
    output: str = ""


class HookResponseMessage(HookProgressMessage):
    """A hook ended."""

    subtype: str = "hook_response"
    exit_code: int | None = None
    outcome: str = ""


class RateLimitInfo(Part, rename="camel"):
    """How near a limit of the account is."""

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
    """A limit of the account came nearer, or was met."""

    type: str = "rate_limit_event"
    rate_limit_info: RateLimitInfo | None = None


class ToolProgressMessage(MessageView):
    """A tool is still running."""

    type: str = "tool_progress"
    tool_use_id: str = ""
    tool_name: str = ""
    parent_tool_use_id: str | None = None
    elapsed_time_seconds: Number = 0
    task_id: str = ""
    heartbeat: bool = False
    subagent_type: str = ""
    subagent_retry: Any = None


class ToolUseSummaryMessage(MessageView):
    """What the last tools did, in a sentence."""

    type: str = "tool_use_summary"
    summary: str = ""
    preceding_tool_use_ids: list[str] = msgspec.field(default_factory=list[str])


class CommandLifecycleMessage(MessageView):
    """A prompt that carried a uuid was queued, started, completed or cancelled."""

    type: str = "command_lifecycle"
    command_uuid: str = ""
    state: str = ""


class ConversationResetMessage(MessageView):
    """The conversation starts anew under another id."""

    type: str = "conversation_reset"
    new_conversation_id: str = ""
    trigger: str = ""
    user_message_uuid: str = ""
    timestamp: str = ""


class AuthStatusMessage(MessageView):
    """How signing in goes."""

    type: str = "auth_status"
    is_authenticating: bool = msgspec.field(default=False, name="isAuthenticating")
    output: list[str] = msgspec.field(default_factory=list[str])
    error: str = ""


class PromptSuggestionMessage(MessageView):
    """What the human may want to say next."""

    type: str = "prompt_suggestion"
    suggestion: str = ""


class ActiveGoalMessage(MessageView):
    """What the session works towards."""

    type: str = "active_goal"
    value: Any = None


class TranscriptMirrorMessage(MessageView):
    """Lines of the session's file, for a copy of it."""

    type: str = "transcript_mirror"
    file_path: str = msgspec.field(default="", name="filePath")
    entries: list[Any] = msgspec.field(default_factory=list[Any])


class KeepAliveMessage(MessageView):
    """The other side is still there."""

    type: str = "keep_alive"
    startup_mark: Any = None


class UpdateEnvironmentVariablesMessage(MessageView):
    """New environment variables for the CLI, from the client."""

    type: str = "update_environment_variables"
    variables: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    request_id: str = ""


class BashCommandMessage(MessageView):
    """A command that the client wants run without the model."""

    type: str = "bash_command"
    command: str = ""
    cwd: str = ""
