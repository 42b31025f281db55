"""The `input` of hook callbacks: one view per event.

An event without a row in the table is a plain HookInput: its fields are in `extra`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.schema.hook_output import HookOutput
from handrail.schema.tool_hooks import (
    HookInput,
    PermissionDeniedInput,
    PermissionRequestInput,
    PostToolUseFailureInput,
    PostToolUseInput,
    PreToolUseInput,
    ToolCall,
    ToolHookInput,
    UnknownHookInput,
)
from handrail.schema.view import Number, OpenUnion, ViewError, keep_raw, read_view

__all__ = [
    "HOOK_INPUTS",
    "ConfigChangeInput",
    "CwdChangedInput",
    "DirectoryAddedInput",
    "ElicitationInput",
    "ElicitationResultInput",
    "FileChangedInput",
    "HookInput",
    "HookOutput",
    "InstructionsLoadedInput",
    "MessageDisplayInput",
    "NotificationInput",
    "PermissionDeniedInput",
    "PermissionRequestInput",
    "PostCompactInput",
    "PostModelSwitchInput",
    "PostToolBatchInput",
    "PostToolUseFailureInput",
    "PostToolUseInput",
    "PreCompactInput",
    "PreModelSwitchInput",
    "PreToolUseInput",
    "SessionEndInput",
    "SessionStartInput",
    "SetupInput",
    "StopFailureInput",
    "StopInput",
    "SubagentStartInput",
    "SubagentStopInput",
    "TaskCompletedInput",
    "TaskCreatedInput",
    "TeammateIdleInput",
    "ToolCall",
    "ToolHookInput",
    "UnknownHookInput",
    "UserPromptExpansionInput",
    "UserPromptSubmitInput",
    "WorktreeCreateInput",
    "WorktreeRemoveInput",
    "read_hook_input",
]


class PostToolBatchInput(HookInput):
    """All tool calls of one message have ended."""

    hook_event_name: str = "PostToolBatch"
    tool_calls: list[ToolCall] = msgspec.field(default_factory=list[ToolCall])


class NotificationInput(HookInput):
    """A notification for the user."""

    hook_event_name: str = "Notification"
    message: str = ""
    title: str = ""
    notification_type: str = ""


class UserPromptSubmitInput(HookInput):
    """The user submitted a prompt."""

    hook_event_name: str = "UserPromptSubmit"
    prompt: str = ""
    source: str = ""
    session_title: str = ""


class UserPromptExpansionInput(HookInput):
    """A slash command was expanded to a prompt."""

    hook_event_name: str = "UserPromptExpansion"
    expansion_type: str = ""
    command_name: str = ""
    command_args: str = ""
    command_source: str = ""
    prompt: str = ""


class SessionStartInput(HookInput):
    """A session starts, or continues after /clear or a compaction."""

    hook_event_name: str = "SessionStart"
    source: str = ""
    model: str = ""
    session_title: str = ""
    seconds_since_last_response: Number | None = None
    context_tokens: int | None = None
    prompt_cache_likely_expired: bool | None = None
    estimated_cache_write_usd: Number | None = None


class SessionEndInput(HookInput):
    """A session ends."""

    hook_event_name: str = "SessionEnd"
    reason: str = ""


class StopInput(HookInput):
    """The model has finished its answer."""

    hook_event_name: str = "Stop"
    stop_hook_active: bool = False
    last_assistant_message: str | None = None
    background_tasks: list[Any] = msgspec.field(default_factory=list[Any])
    session_crons: list[Any] = msgspec.field(default_factory=list[Any])


class StopFailureInput(HookInput):
    """A turn ended because the API failed."""

    hook_event_name: str = "StopFailure"
    error: Any = None
    error_details: Any = None
    last_assistant_message: str | None = None


class SubagentStartInput(HookInput):
    """A subagent starts; see `agent_id` and `agent_type`."""

    hook_event_name: str = "SubagentStart"


class SubagentStopInput(StopInput):
    """A subagent has finished."""

    hook_event_name: str = "SubagentStop"
    agent_transcript_path: str = ""


class PreCompactInput(HookInput):
    """The conversation is about to be compacted."""

    hook_event_name: str = "PreCompact"
    trigger: str = ""
    custom_instructions: str | None = None


class PostCompactInput(HookInput):
    """The conversation was compacted."""

    hook_event_name: str = "PostCompact"
    trigger: str = ""
    compact_summary: str = ""


class PreModelSwitchInput(HookInput):
    """The session is about to change its model."""

    hook_event_name: str = "PreModelSwitch"
    from_model: str = ""
    to_model: str = ""
    requested_model: str | None = None
    source: str = ""
    context_tokens: int | None = None
    prompt_cache_warm: bool | None = None
    cache_ttl: Any = None
    estimated_cache_write_usd: Number | None = None
    pricing: Any = None


class PostModelSwitchInput(PreModelSwitchInput):
    """The session has changed its model."""

    hook_event_name: str = "PostModelSwitch"


class SetupInput(HookInput):
    """A project is prepared."""

    hook_event_name: str = "Setup"
    trigger: str = ""


class TeammateIdleInput(HookInput):
    """A teammate is idle."""

    hook_event_name: str = "TeammateIdle"
    teammate_name: str = ""
    team_name: str = ""


class TaskCreatedInput(HookInput):
    """A task was created."""

    hook_event_name: str = "TaskCreated"
    task_id: str = ""
    task_subject: str = ""
    task_description: str = ""
    teammate_name: str = ""
    team_name: str = ""


class TaskCompletedInput(TaskCreatedInput):
    """A task was completed."""

    hook_event_name: str = "TaskCompleted"


class ElicitationInput(HookInput):
    """An MCP server asks the user."""

    hook_event_name: str = "Elicitation"
    mcp_server_name: str = ""
    message: str = ""
    mode: str = ""
    url: str = ""
    elicitation_id: str = ""
    requested_schema: dict[str, Any] | None = None


class ElicitationResultInput(HookInput):
    """The answer to an MCP server's question."""

    hook_event_name: str = "ElicitationResult"
    mcp_server_name: str = ""
    elicitation_id: str = ""
    mode: str = ""
    action: str = ""
    content: Any = None


class ConfigChangeInput(HookInput):
    """A settings file changed."""

    hook_event_name: str = "ConfigChange"
    source: str = ""
    file_path: str = ""


class WorktreeCreateInput(HookInput):
    """A worktree is to be created."""

    hook_event_name: str = "WorktreeCreate"
    name: str = ""


class WorktreeRemoveInput(HookInput):
    """A worktree is to be removed."""

    hook_event_name: str = "WorktreeRemove"
    worktree_path: str = ""


class InstructionsLoadedInput(HookInput):
    """An instructions file was loaded."""

    hook_event_name: str = "InstructionsLoaded"
    file_path: str = ""
    memory_type: str = ""
    load_reason: str = ""
    globs: Any = None
    trigger_file_path: str = ""
    parent_file_path: str = ""


class CwdChangedInput(HookInput):
    """The working directory changed."""

    hook_event_name: str = "CwdChanged"
    old_cwd: str = ""
    new_cwd: str = ""


class FileChangedInput(HookInput):
    """A watched file changed."""

    hook_event_name: str = "FileChanged"
    file_path: str = ""
    event: str = ""


class DirectoryAddedInput(HookInput):
    """A working directory was added."""

    hook_event_name: str = "DirectoryAdded"
    directory: str = ""
    source: str = ""


class MessageDisplayInput(HookInput):
    """A part of a message is about to be displayed."""

    hook_event_name: str = "MessageDisplay"
    turn_id: str = ""
    message_id: str = ""
    index: int = 0
    final: bool = False
    delta: str = ""


HOOK_INPUTS: OpenUnion[HookInput] = OpenUnion(
    "hook_event_name",
    {
        "PreToolUse": PreToolUseInput,
        "PostToolUse": PostToolUseInput,
        "PostToolUseFailure": PostToolUseFailureInput,
        "PostToolBatch": PostToolBatchInput,
        "Notification": NotificationInput,
        "UserPromptSubmit": UserPromptSubmitInput,
        "UserPromptExpansion": UserPromptExpansionInput,
        "SessionStart": SessionStartInput,
        "SessionEnd": SessionEndInput,
        "Stop": StopInput,
        "StopFailure": StopFailureInput,
        "SubagentStart": SubagentStartInput,
        "SubagentStop": SubagentStopInput,
        "PreCompact": PreCompactInput,
        "PostCompact": PostCompactInput,
        "PreModelSwitch": PreModelSwitchInput,
        "PostModelSwitch": PostModelSwitchInput,
        "PermissionRequest": PermissionRequestInput,
        "PermissionDenied": PermissionDeniedInput,
        "Setup": SetupInput,
        "TeammateIdle": TeammateIdleInput,
        "TaskCreated": TaskCreatedInput,
        "TaskCompleted": TaskCompletedInput,
        "Elicitation": ElicitationInput,
        "ElicitationResult": ElicitationResultInput,
        "ConfigChange": ConfigChangeInput,
        "WorktreeCreate": WorktreeCreateInput,
        "WorktreeRemove": WorktreeRemoveInput,
        "InstructionsLoaded": InstructionsLoadedInput,
        "CwdChanged": CwdChangedInput,
        "FileChanged": FileChangedInput,
        "DirectoryAdded": DirectoryAddedInput,
        "MessageDisplay": MessageDisplayInput,
    },
    lambda name, problem: UnknownHookInput(hook_event_name=name, problem=problem),
)


def read_hook_input(raw: bytes) -> HookInput:
    """Read the `input` of a hook callback. Never raises."""
    view = HOOK_INPUTS.read(raw)
    if not isinstance(view, UnknownHookInput) or view.problem:
        return view
    try:
        return read_view(HookInput, raw)
    except ViewError as error:
        return keep_raw(UnknownHookInput(hook_event_name=view.hook_event_name, problem=str(error)), raw)
