"""Base classes of tool results, results that are plain text, and the unknown result."""

from __future__ import annotations

from typing import ClassVar

from handrail.schema.view import View

__all__ = [
    "ToolError",
    "ToolResultView",
    "ToolText",
    "UnknownToolResult",
]


class ToolResultView(View):
    """The result of a tool."""


class UnknownToolResult(ToolResultView):
    """The result of a tool without a row in the table, or one that does not fit its row: then `problem` says why."""

    opaque: ClassVar[bool] = True
    tool_name: str = ""
    problem: str = ""


class ToolText(ToolResultView):
    """A result that is plain text."""

    opaque: ClassVar[bool] = True
    text: str = ""


class ToolError(ToolText):
    """The reason why a tool failed or was not run."""
