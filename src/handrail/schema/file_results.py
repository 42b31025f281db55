"""`tool_use_result` of the tools that work on files: one view per tool."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.schema.tool_result_view import ToolResultView
from handrail.schema.view import Number, Part

__all__ = [
    "EditResult",
    "GlobResult",
    "GrepResult",
    "NotebookEditResult",
    "PatchHunk",
    "ReadFile",
    "ReadResult",
    "WriteResult",
]


class ReadFile(Part, rename="camel"):
    """The content of a file: text, an image, the cells of a notebook, or a PDF."""

    file_path: str = ""
    content: str = ""
    num_lines: int = 0
    start_line: int = 0
    total_lines: int = 0
    type: str = ""
    base64: str = ""
    original_size: int | None = None
    dimensions: dict[str, Any] | None = None
    cells: list[dict[str, Any]] = msgspec.field(default_factory=list[dict[str, Any]])
    count: int | None = None
    output_dir: str = ""
    truncated_by_token_cap: bool = False


class ReadResult(ToolResultView):
    """A file: `type` is text, image, notebook, pdf or parts."""

    type: str = ""
    file: ReadFile | None = None


class PatchHunk(Part, rename="camel"):
    """One hunk of a unified diff; its lines start with a space, a minus or a plus."""

    old_start: int = 0
    old_lines: int = 0
    new_start: int = 0
    new_lines: int = 0
    lines: list[str] = msgspec.field(default_factory=list[str])


class WriteResult(ToolResultView, rename="camel"):
    """A file was written: `type` is create, or update (overwrite in older CLIs)."""

    type: str = ""
    file_path: str = ""
    content: str = ""
    structured_patch: list[PatchHunk] = msgspec.field(default_factory=list[PatchHunk])
    original_file: str | None = None
    user_modified: bool = False
    staged: bool = False
    git_diff: dict[str, Any] | None = None


class EditResult(ToolResultView, rename="camel"):
    """A file was edited."""

    file_path: str = ""
    old_string: str = ""
    new_string: str = ""
    original_file: str | None = None
    structured_patch: list[PatchHunk] = msgspec.field(default_factory=list[PatchHunk])
    user_modified: bool = False
    replace_all: bool = False
    content_not_in_model_context: bool = False
    staged: bool = False
    git_diff: dict[str, Any] | None = None


class NotebookEditResult(ToolResultView):
    """A cell of a notebook was edited."""

    notebook_path: str = ""
    cell_id: str | None = None
    cell_type: str = ""
    edit_mode: str = ""
    language: str = ""
    new_source: str = ""
    old_source: str = ""
    error: str = ""
    original_file: str = ""
    updated_file: str = ""


class GlobResult(ToolResultView, rename="camel"):
    """Files whose names match."""

    filenames: list[str] = msgspec.field(default_factory=list[str])
    num_files: int = 0
    truncated: bool = False
    total_matches: int | None = None
    count_is_complete: bool = False
    duration_ms: Number = 0
    timed_out: bool = False


class GrepResult(ToolResultView, rename="camel"):
    """Files or lines that match a pattern."""

    mode: str = ""
    filenames: list[str] = msgspec.field(default_factory=list[str])
    num_files: int = 0
    content: str = ""
    num_lines: int | None = None
    num_matches: int | None = None
    total_files: int | None = None
    total_lines: int | None = None
    applied_limit: int | None = None
    applied_offset: int | None = None
    timed_out: bool = False
