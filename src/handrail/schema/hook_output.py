"""The output of a hook callback."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.schema.view import Number, Part

__all__ = ["HookOutput"]


class HookOutput(Part):
    """The output of a hook callback. None fields are left out; an empty output changes nothing."""

    continue_: bool | None = None
    suppress_output: bool | None = None
    stop_reason: str | None = None
    decision: str | None = None
    system_message: str | None = None
    reason: str | None = None
    terminal_sequence: str | None = None

    permission_decision: str | None = None
    permission_decision_reason: str | None = None
    updated_input: dict[str, Any] | None = None
    additional_context: str | None = None
    permission: dict[str, Any] | None = None
    updated_tool_output: Any = None
    updated_mcp_tool_output: Any = None
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

    async_: bool = False
    async_timeout: Number | None = None

    def to_wire(self, event: str) -> dict[str, Any]:
        """The payload of the answer. The CLI requires the name of the event in it."""
        if self.async_:
            return {"async": True, **self._said(_ASYNC)}
        specific = self._said(_SPECIFIC)
        nested = {"hookSpecificOutput": {"hookEventName": event, **specific}} if specific else {}
        return {**self._said(_COMMON), **nested}

    def _said(self, names: Mapping[str, str]) -> dict[str, Any]:
        values = {wire: getattr(self, name) for name, wire in names.items()}
        return {wire: value for wire, value in values.items() if value is not None}


_ASYNC: Mapping[str, str] = {"async_timeout": "asyncTimeout"}
_COMMON: Mapping[str, str] = {
    "continue_": "continue",
    "suppress_output": "suppressOutput",
    "stop_reason": "stopReason",
    "decision": "decision",
    "system_message": "systemMessage",
    "reason": "reason",
    "terminal_sequence": "terminalSequence",
}
_SPECIFIC: Mapping[str, str] = {
    "permission_decision": "permissionDecision",
    "permission_decision_reason": "permissionDecisionReason",
    "updated_input": "updatedInput",
    "additional_context": "additionalContext",
    "permission": "decision",
    "updated_tool_output": "updatedToolOutput",
    "updated_mcp_tool_output": "updatedMCPToolOutput",
    "classifier_context": "classifierContext",
    "session_title": "sessionTitle",
    "suppress_original_prompt": "suppressOriginalPrompt",
    "initial_user_message": "initialUserMessage",
    "watch_paths": "watchPaths",
    "reload_skills": "reloadSkills",
    "retry": "retry",
    "action": "action",
    "content": "content",
    "worktree_path": "worktreePath",
    "display_content": "displayContent",
}
"""Fields inside `hookSpecificOutput`; `permission` is the `decision` for PermissionRequest."""
