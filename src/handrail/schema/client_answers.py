"""Answers of the client to control requests of the CLI: one view per subtype."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec

from handrail.schema.control_view import AnswerView
from handrail.schema.permission_types import Suggestion, read_suggestions
from handrail.schema.view import Number, Part

__all__ = [
    "ElicitationAnswer",
    "HookAnswer",
    "HookSpecificAnswer",
    "McpMessageAnswer",
    "PermissionAnswer",
    "UserDialogAnswer",
]


class PermissionAnswer(AnswerView, rename="camel"):
    """The decision about a tool call: `allow`, optionally with a new input and rules, or `deny` with a message."""

    behavior: str
    updated_input: dict[str, Any] | None = None
    updated_permissions_raw: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="updatedPermissions")
    message: str | None = None
    interrupt: bool = False
    tool_use_id: str | None = msgspec.field(default=None, name="toolUseID")
    decision_classification: str | None = None

    @cached_property
    def updated_permissions(self) -> list[Suggestion]:
        """The permission updates to apply with it."""
        return read_suggestions(bytes(self.updated_permissions_raw))


class HookSpecificAnswer(Part, rename="camel"):
    """Fields that only some events have."""

    hook_event_name: str = ""
    permission_decision: str | None = None
    permission_decision_reason: str | None = None
    updated_input: dict[str, Any] | None = None
    additional_context: str | None = None
    decision: dict[str, Any] | None = None
    updated_tool_output: Any = None
    updated_mcp_tool_output: Any = msgspec.field(default=None, name="updatedMCPToolOutput")
    classifier_context: str | None = None
    session_title: str | None = None
    suppress_original_prompt: bool | None = None
    initial_user_message: str | None = None
    watch_paths: list[str] | None = None
    reload_skills: bool | None = None
    retry: bool | None = None
    action: str | None = None
    content: Any = None
    worktree_path: str | None = None
    display_content: Any = None


class HookAnswer(AnswerView, rename="camel"):
    """The output of a hook. An empty one changes nothing; an `async_` one may still run."""

    continue_: bool | None = msgspec.field(default=None, name="continue")
    suppress_output: bool | None = None
    stop_reason: str | None = None
    decision: str | None = None
    system_message: str | None = None
    reason: str | None = None
    terminal_sequence: str | None = None
    specific: HookSpecificAnswer | None = msgspec.field(default=None, name="hookSpecificOutput")
    async_: bool = msgspec.field(default=False, name="async")
    async_timeout: Number | None = None


class McpMessageAnswer(AnswerView):
    """The JSON-RPC answer of an MCP server; its content is ignored for a notification."""

    mcp_response: dict[str, Any] | None = None


class ElicitationAnswer(AnswerView):
    """The user's answer to an MCP server: `accept` with content, `decline` or `cancel`."""

    action: str = ""
    content: dict[str, Any] | None = None


class UserDialogAnswer(AnswerView):
    """How a dialog ended: `completed` with a result, or `cancelled`."""

    behavior: str = ""
    result: Any = None
