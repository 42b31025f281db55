"""`tool_use_result`: the structured result of a tool, beside the text for the model.

A tool without a row in the table has an UnknownToolResult. Plain text is a ToolText, or a ToolError after a failure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import msgspec

from handrail.schema.content import Block, joined_text, read_blocks
from handrail.schema.file_results import EditResult, GlobResult, GrepResult, NotebookEditResult, ReadResult, WriteResult
from handrail.schema.questions import Question
from handrail.schema.tool_result_view import ToolError, ToolResultView, ToolText, UnknownToolResult
from handrail.schema.usage import Usage
from handrail.schema.view import Number, Part, ViewError, keep_raw, read_text, read_view

__all__ = [
    "TOOL_RESULTS",
    "BashResult",
    "EnterWorktreeResult",
    "ExitPlanModeResult",
    "ExitWorktreeResult",
    "McpContentResult",
    "McpToolResult",
    "MessageResult",
    "MonitorResult",
    "QuestionsResult",
    "SendMessageResult",
    "StatusChange",
    "SubagentResult",
    "Task",
    "TaskListResult",
    "TaskResult",
    "TaskStopResult",
    "TaskUpdateResult",
    "Todo",
    "TodoWriteResult",
    "ToolSearchResult",
    "WebFetchResult",
    "WebSearchResult",
    "read_tool_result",
]

_FAILURE = re.compile(r"\w*Error\b|User rejected")


class BashResult(ToolResultView, rename="camel"):
    """The output of a command, or the file that has it."""

    stdout: str = ""
    stderr: str = ""
    interrupted: bool = False
    is_image: bool = False
    no_output_expected: bool = False
    background_task_id: str = ""
    backgrounded_by_user: bool = False
    timed_out_after_ms: Number | None = None
    persisted_output_path: str = ""
    persisted_output_size: int | None = None
    return_code_interpretation: str = ""
    git_operation: dict[str, Any] | None = None


class QuestionsResult(ToolResultView, rename="camel"):
    """The user's answers by the text of the question."""

    questions: list[Question] = msgspec.field(default_factory=list[Question])
    answers: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    annotations: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    response: str = ""
    afk_timeout_ms: Number | None = None


class ExitPlanModeResult(ToolResultView, rename="camel"):
    """The plan that was shown; it may be only in the file."""

    plan: str | None = None
    is_agent: bool = False
    file_path: str = ""
    plan_was_edited: bool = False
    has_task_tool: bool = False
    awaiting_leader_approval: bool = False
    request_id: str = ""


class SubagentResult(ToolResultView, rename="camel"):
    """A subagent was started in the background, or has ended: `status` says which."""

    status: str = ""
    agent_id: str = ""
    agent_type: str = ""
    description: str = ""
    prompt: str = ""
    is_async: bool = False
    output_file: str = ""
    can_read_output_file: bool = False
    can_continue_agent: bool = False
    resolved_model: str = ""
    models_used: list[str] = msgspec.field(default_factory=list[str])
    content_raw: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="content")
    total_duration_ms: Number = 0
    total_tokens: int = 0
    total_tool_use_count: int = 0
    usage: Usage | None = None
    tools_used: list[str] = msgspec.field(default_factory=list[str])
    tool_stats: dict[str, Any] | None = None
    task_id: str = ""
    session_url: str = ""
    worktree_path: str = ""
    worktree_branch: str = ""

    @cached_property
    def content(self) -> list[Block]:
        """The content of its report."""
        return read_blocks(bytes(self.content_raw))

    @property
    def text(self) -> str:
        """The text of its report."""
        return joined_text(self.content)


class Task(Part, rename="camel"):
    """A task of the list that the model keeps."""

    id: str = ""
    subject: str = ""
    description: str = ""
    status: str = ""
    owner: str = ""
    active_form: str = ""
    blocks: list[str] = msgspec.field(default_factory=list[str])
    blocked_by: list[str] = msgspec.field(default_factory=list[str])


class TaskResult(ToolResultView):
    """One task: made or looked up."""

    task: Task | None = None


class TaskListResult(ToolResultView):
    """All tasks."""

    tasks: list[Task] = msgspec.field(default_factory=list[Task])


class StatusChange(Part):
    """The status before and after."""

    from_: str = msgspec.field(default="", name="from")
    to: str = ""


class TaskUpdateResult(ToolResultView, rename="camel"):
    """A task was changed."""

    success: bool = False
    task_id: str = ""
    updated_fields: list[str] = msgspec.field(default_factory=list[str])
    status_change: StatusChange | None = None
    error: str = ""


class TaskStopResult(ToolResultView):
    """A task in the background was stopped."""

    message: str = ""
    task_id: str = ""
    task_type: str = ""
    command: str = ""


class MonitorResult(ToolResultView, rename="camel"):
    """A monitor runs in the background."""

    task_id: str = ""
    timeout_ms: Number = 0
    persistent: bool | None = None


class SendMessageResult(ToolResultView, rename="camel"):
    """A message was delivered, or the reason why it was not. `resumed_agent_id`: the subagent works again."""

    always = frozenset({"success", "message"})
    success: bool = False
    message: str = ""
    resumed_agent_id: str = ""
    revived_agent_id: str = ""
    display: str = ""


class ToolSearchResult(ToolResultView):
    """The tools that a search loaded."""

    always = frozenset({"matches", "query", "total_deferred_tools"})
    matches: list[str] = msgspec.field(default_factory=list[str])
    query: str = ""
    total_deferred_tools: int = 0


class EnterWorktreeResult(ToolResultView, rename="camel"):
    """The session works in a worktree now."""

    worktree_path: str = ""
    worktree_branch: str = ""
    message: str = ""


class ExitWorktreeResult(ToolResultView, rename="camel"):
    """The session has left its worktree. The numbers say what was lost with it."""

    always = frozenset({"originalCwdMissing"})
    action: str = ""
    original_cwd: str = ""
    worktree_path: str = ""
    worktree_branch: str = ""
    discarded_files: int | None = None
    discarded_commits: int | None = None
    restored_cwd: str = ""
    original_cwd_missing: bool = False
    message: str = ""


class Todo(Part, rename="camel"):
    """One thing to do."""

    content: str = ""
    status: str = ""
    active_form: str = ""


class TodoWriteResult(ToolResultView, rename="camel"):
    """The list of things to do, before and after."""

    old_todos: list[Todo] = msgspec.field(default_factory=list[Todo])
    new_todos: list[Todo] = msgspec.field(default_factory=list[Todo])


class WebFetchResult(ToolResultView, rename="camel"):
    """A page, and the model's answer about it."""

    url: str = ""
    result: str = ""
    code: int = 0
    code_text: str = ""
    bytes: int = 0
    duration_ms: Number = 0


class WebSearchResult(ToolResultView, rename="camel"):
    """The results of a search: lists of hits, and texts between them."""

    query: str = ""
    results: list[Any] = msgspec.field(default_factory=list[Any])
    duration_seconds: Number = 0
    search_count: int | None = None


class MessageResult(ToolResultView):
    """A result that is only a message."""

    message: str = ""


class McpToolResult(ToolResultView):
    """The result of an MCP tool."""

    content_raw: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="content")
    structured_content: Any = msgspec.field(default=None, name="structuredContent")

    @cached_property
    def content(self) -> list[Block]:
        """The blocks; a plain string is one text block."""
        return read_blocks(bytes(self.content_raw))

    @property
    def text(self) -> str:
        """The text of all blocks."""
        return joined_text(self.content)


class McpContentResult(McpToolResult):
    """The result of an MCP tool that is only its content."""

    opaque: ClassVar[bool] = True


TOOL_RESULTS: Mapping[str, type[ToolResultView]] = {
    "Bash": BashResult,
    "Read": ReadResult,
    "Write": WriteResult,
    "Edit": EditResult,
    "MultiEdit": EditResult,
    "NotebookEdit": NotebookEditResult,
    "Glob": GlobResult,
    "Grep": GrepResult,
    "AskUserQuestion": QuestionsResult,
    "EnterPlanMode": MessageResult,
    "ExitPlanMode": ExitPlanModeResult,
    "Task": SubagentResult,
    "Agent": SubagentResult,
    "TaskCreate": TaskResult,
    "TaskGet": TaskResult,
    "TaskUpdate": TaskUpdateResult,
    "TaskList": TaskListResult,
    "TaskStop": TaskStopResult,
    "KillShell": TaskStopResult,
    "Monitor": MonitorResult,
    "SendMessage": SendMessageResult,
    "EnterWorktree": EnterWorktreeResult,
    "ExitWorktree": ExitWorktreeResult,
    "ToolSearch": ToolSearchResult,
    "TodoWrite": TodoWriteResult,
    "WebFetch": WebFetchResult,
    "WebSearch": WebSearchResult,
}


def read_tool_result(tool_name: str, raw: bytes) -> ToolResultView:
    """Read the `tool_use_result` of a tool by its name. Never raises."""
    if (text := read_text(raw)) is not None:
        return keep_raw(ToolError(text=text) if _FAILURE.match(text) else ToolText(text=text), raw)
    row = McpToolResult if tool_name.startswith("mcp__") else TOOL_RESULTS.get(tool_name)
    if row is None:
        return keep_raw(UnknownToolResult(tool_name=tool_name), raw)
    if row is McpToolResult and raw.startswith(b"["):
        return keep_raw(McpContentResult(content_raw=msgspec.Raw(raw)), raw)
    try:
        return read_view(row, raw)
    except ViewError as error:
        return keep_raw(UnknownToolResult(tool_name=tool_name, problem=str(error)), raw)
