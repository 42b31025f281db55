"""Tasks, hooks, progress and limits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.schema.activity_messages import (
    AuthStatusMessage,
    BackgroundTask,
    BackgroundTasksChangedMessage,
    CommandLifecycleMessage,
    HookEventMessage,
    HookProgressMessage,
    HookResponseMessage,
    HookStartedMessage,
    KeepAliveMessage,
    RateLimitEvent,
    RateLimitInfo,
    TaskMessage,
    TaskNotificationMessage,
    TaskPatch,
    TaskProgressMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
    TaskUsage,
    ToolProgressMessage,
    TranscriptMirrorMessage,
)
from handrail.schema.message_view import MessageView
from handrail.schema.messages import read_message
from handrail.schema.view import as_builtins


@pytest.mark.parametrize(
    ("wire", "view"),
    [
        (
            {
                "subtype": "task_started",
                "task_id": "1",
                "description": "d",
                "task_type": "local_agent",
                "spawn_depth": 1,
            },
            TaskStartedMessage(task_id="1", description="d", task_type="local_agent", spawn_depth=1),
        ),
        (
            {
                "subtype": "task_progress",
                "task_id": "1",
                "usage": {"total_tokens": 5, "tool_uses": 1, "duration_ms": 2},
            },
            TaskProgressMessage(task_id="1", usage=TaskUsage(total_tokens=5, tool_uses=1, duration_ms=2)),
        ),
        (
            {"subtype": "task_updated", "task_id": "1", "patch": {"status": "completed", "end_time": 17, "new": 1}},
            TaskUpdatedMessage(task_id="1", patch=TaskPatch(status="completed", end_time=17)),
        ),
        (
            {
                "subtype": "task_notification",
                "task_id": "1",
                "tool_use_id": None,
                "status": "completed",
                "summary": "s",
            },
            TaskNotificationMessage(task_id="1", status="completed", summary="s"),
        ),
        (
            {"subtype": "background_tasks_changed", "tasks": [{"task_id": "1", "task_type": "local_bash"}]},
            BackgroundTasksChangedMessage(tasks=[BackgroundTask(task_id="1", task_type="local_bash")]),
        ),
        (
            {"subtype": "hook_started", "hook_id": "h", "hook_name": "n", "hook_event": "Stop"},
            HookStartedMessage(hook_id="h", hook_name="n", hook_event="Stop"),
        ),
        ({"subtype": "hook_progress", "hook_id": "h", "stdout": "o"}, HookProgressMessage(hook_id="h", stdout="o")),
        (
            {"subtype": "hook_response", "hook_id": "h", "exit_code": 2, "outcome": "error", "stderr": "e"},
            HookResponseMessage(hook_id="h", exit_code=2, outcome="error", stderr="e"),
        ),
        (
            {
                "type": "rate_limit_event",
                "rate_limit_info": {
                    "status": "rejected",
                    "resetsAt": 1,
                    "rateLimitType": "five_hour",
                    "utilization": 0.9,
                },
            },
            RateLimitEvent(
                rate_limit_info=RateLimitInfo(
                    status="rejected", resets_at=1, rate_limit_type="five_hour", utilization=0.9
                )
            ),
        ),
        (
            {"type": "tool_progress", "tool_use_id": "t-heartbeat-1", "elapsed_time_seconds": 30.5, "heartbeat": True},
            ToolProgressMessage(tool_use_id="t-heartbeat-1", elapsed_time_seconds=30.5, heartbeat=True),
        ),
        (
            {"type": "auth_status", "isAuthenticating": True, "output": ["open the page"]},
            AuthStatusMessage(is_authenticating=True, output=["open the page"]),
        ),
        (
            {"type": "command_lifecycle", "command_uuid": "c", "state": "queued", "uuid": "u", "session_id": "s"},
            CommandLifecycleMessage(command_uuid="c", state="queued", uuid="u", session_id="s"),
        ),
        (
            {"type": "transcript_mirror", "filePath": "/f", "entries": [{"a": 1}]},
            TranscriptMirrorMessage(file_path="/f", entries=[{"a": 1}]),
        ),
        ({"type": "keep_alive"}, KeepAliveMessage()),
    ],
)
def test_messages_about_activity_are_read(wire: dict[str, Any], view: MessageView):
    line = {"type": "system", **wire}
    read = read_message(line["type"], line.get("subtype", ""), json.dumps(line).encode())
    assert (read, as_builtins(read)) == (view, line)


def test_messages_about_tasks_or_hooks_share_a_base_class():
    tasks = (TaskStartedMessage, TaskProgressMessage, TaskUpdatedMessage, TaskNotificationMessage)
    hooks = (HookStartedMessage, HookProgressMessage, HookResponseMessage)
    assert all(issubclass(cls, TaskMessage) for cls in tasks)
    assert all(issubclass(cls, HookEventMessage) for cls in hooks)
