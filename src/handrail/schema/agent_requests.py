"""Control requests of the CLI: one view per subtype."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from handrail.schema.control_view import RequestView
from handrail.schema.permission_types import Suggestion, read_suggestions
from handrail.schema.questions import Question, read_questions
from handrail.schema.view import Part

if TYPE_CHECKING:
    from handrail.schema.tool_hooks import HookInput

__all__ = [
    "ElicitationRequest",
    "HookCallbackRequest",
    "McpMessageRequest",
    "McpServerName",
    "PermissionRequest",
    "ScriptFile",
    "UserDialogRequest",
]


class McpServerName(Part):
    """The MCP server that a tool belongs to."""

    name: str = ""
    source: str = ""


class ScriptFile(Part):
    """A file that a shell command runs, as it was when the question was asked."""

    always = frozenset({"path", "sha256"})
    path: str = ""
    sha256: str = ""


class PermissionRequest(RequestView):
    """Asks for permission to run a tool. AskUserQuestion and ExitPlanMode use it for their dialogs."""

    subtype: str = "can_use_tool"
    tool_name: str
    input: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    tool_use_id: str = ""
    display_name: str = ""
    title: str = ""
    description: str = ""
    suggestions_raw: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="permission_suggestions")
    blocked_path: str | None = None
    decision_reason: str | None = None
    decision_reason_type: str = ""
    decision_reason_rule_source: str = ""
    matched_ask_rule: Any = None
    agent_id: str | None = None
    mcp_server: McpServerName | None = None
    requires_user_interaction: bool = False
    default_to_no: bool = False
    classifier_approvable: bool = False
    suppress_always_allow_rule: bool = False
    server_policy_ask_only: bool = False
    files: list[ScriptFile] = msgspec.field(default_factory=list[ScriptFile])
    """Only handrail-agent sends it."""

    @cached_property
    def suggestions(self) -> list[Suggestion]:
        """The permissions that may be granted with the call; an answer may return some of them."""
        return read_suggestions(bytes(self.suggestions_raw))

    @property
    def questions(self) -> list[Question]:
        """The questions, where the tool is AskUserQuestion."""
        return read_questions(self.input) if self.tool_name == "AskUserQuestion" else []


class HookCallbackRequest(RequestView):
    """Calls a hook that the client registered."""

    subtype: str = "hook_callback"
    callback_id: str
    tool_use_id: str | None = None
    input_raw: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"{}"), name="input")

    @cached_property
    def input(self) -> HookInput:
        """The input of the hook, by its event."""
        from handrail.schema.hooks import read_hook_input  # many classes that few programs need

        return read_hook_input(bytes(self.input_raw))


class McpMessageRequest(RequestView):
    """A JSON-RPC message from or to an MCP server that runs in the client. Both ends send it."""

    subtype: str = "mcp_message"
    server_name: str
    message: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


class ElicitationRequest(RequestView):
    """A question of an MCP server for the user."""

    subtype: str = "elicitation"
    mcp_server_name: str
    message: str = ""
    mode: str = ""
    url: str = ""
    elicitation_id: str = ""
    requested_schema: dict[str, Any] | None = None
    property_order: list[str] = msgspec.field(default_factory=list[str])
    title: str = ""
    display_name: str = ""
    description: str = ""


class UserDialogRequest(RequestView):
    """A dialog for the user, of a kind that the client supports."""

    subtype: str = "request_user_dialog"
    dialog_kind: str
    payload: Any = None
    tool_use_id: str | None = None
