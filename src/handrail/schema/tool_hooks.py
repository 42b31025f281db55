"""The input of hooks: the fields of every event, and the events of tool calls."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import msgspec

from handrail.schema.agent_requests import McpServerName
from handrail.schema.permission_types import Suggestion, read_suggestions
from handrail.schema.view import Number, Part, View

__all__ = [
    "HookInput",
    "PermissionDeniedInput",
    "PermissionRequestInput",
    "PostToolUseFailureInput",
    "PostToolUseInput",
    "PreToolUseInput",
    "ToolCall",
    "ToolHookInput",
    "UnknownHookInput",
]


class HookInput(View):
    """The fields of every event."""

    hook_event_name: str = ""
    session_id: str = ""
    transcript_path: str = ""
    cwd: str = ""
    prompt_id: str = ""
    permission_mode: str = ""
    agent_id: str | None = None
    agent_type: str | None = None
    effort: dict[str, Any] | None = None


class UnknownHookInput(HookInput):
    """An input that does not fit its row; `problem` says why."""

    opaque: ClassVar[bool] = True
    problem: str = ""


class ToolHookInput(HookInput):
    """The fields of every event of a tool call."""

    tool_name: str
    tool_input: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    tool_use_id: str = ""
    mcp_server: McpServerName | None = None


class PreToolUseInput(ToolHookInput):
    """A tool is about to run."""

    hook_event_name: str = "PreToolUse"


class PostToolUseInput(ToolHookInput):
    """A tool has succeeded."""

    hook_event_name: str = "PostToolUse"
    tool_response: Any = None
    duration_ms: Number | None = None


class PostToolUseFailureInput(ToolHookInput):
    """A tool has failed."""

    hook_event_name: str = "PostToolUseFailure"
    error: str = ""
    is_interrupt: bool = False
    duration_ms: Number | None = None


class PermissionRequestInput(ToolHookInput):
    """A tool needs a permission."""

    hook_event_name: str = "PermissionRequest"
    suggestions_raw: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="permission_suggestions")

    @cached_property
    def suggestions(self) -> list[Suggestion]:
        """The permissions that may be granted with the call."""
        return read_suggestions(bytes(self.suggestions_raw))


class PermissionDeniedInput(ToolHookInput):
    """A tool was refused."""

    hook_event_name: str = "PermissionDenied"
    reason: str = ""


class ToolCall(Part):
    """One tool call of a batch."""

    tool_name: str = ""
    tool_input: Any = None
    tool_use_id: str = ""
    tool_response: Any = None
