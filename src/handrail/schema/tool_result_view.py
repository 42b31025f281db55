"""What all results of tools share. In: nothing. Out: their base view, plain texts, and the unknown result."""

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
    """What a tool gave back."""


class UnknownToolResult(ToolResultView):
    """The result of a tool without a row in the table, or one that does not fit its row: then `problem` says why."""

    opaque: ClassVar[bool] = True
    tool_name: str = ""
    problem: str = ""


class ToolText(ToolResultView):
    """A result that is a plain text."""

    opaque: ClassVar[bool] = True
    text: str = ""


class ToolError(ToolText):
    """A text that tells why the tool failed, or was not run."""
