"""Content blocks: the `content` of messages and of tool results.

A block without a row in the table becomes an UnknownBlock, which keeps its bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar

import msgspec

from handrail.schema.view import OpenUnion, Part, View, as_builtins, read_text

__all__ = [
    "BLOCKS",
    "AdvisorToolResultBlock",
    "BashCodeExecutionToolResultBlock",
    "Block",
    "CodeExecutionToolResultBlock",
    "CompactionBlock",
    "ContainerUploadBlock",
    "DocumentBlock",
    "ImageBlock",
    "McpToolResultBlock",
    "McpToolUseBlock",
    "RedactedThinkingBlock",
    "SearchResultBlock",
    "ServerToolResultBlock",
    "ServerToolUseBlock",
    "Source",
    "TextBlock",
    "TextEditorCodeExecutionToolResultBlock",
    "ThinkingBlock",
    "ToolReferenceBlock",
    "ToolResultBlock",
    "ToolSearchToolResultBlock",
    "ToolUseBlock",
    "UnknownBlock",
    "WebFetchToolResultBlock",
    "WebSearchToolResultBlock",
    "joined_text",
    "read_blocks",
    "write_blocks",
]

_TOOL_ERROR = re.compile(r"<tool_use_error>(.*?)</tool_use_error>", re.DOTALL)


class Block(View):
    """One content block."""

    type: str = ""


class UnknownBlock(Block):
    """A block without a row in the table, or one that does not fit its row: then `problem` says why."""

    opaque: ClassVar[bool] = True
    problem: str = ""


class TextBlock(Block):
    """Text."""

    type: str = "text"
    text: str
    citations: list[Any] | None = None


class ThinkingBlock(Block):
    """The model's thinking; empty if the model sends only the signature."""

    type: str = "thinking"
    thinking: str = ""
    signature: str = ""


class RedactedThinkingBlock(Block):
    """Thinking that only the model can read."""

    type: str = "redacted_thinking"
    data: str = ""


class ToolUseBlock(Block):
    """A tool call of the model."""

    type: str = "tool_use"
    id: str
    name: str
    input: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


class ServerToolUseBlock(ToolUseBlock):
    """A call of a tool that runs at the API."""

    type: str = "server_tool_use"


class McpToolUseBlock(ToolUseBlock):
    """A call of an MCP server that the API connects to."""

    type: str = "mcp_tool_use"
    server_name: str = ""


class ToolResultBlock(Block):
    """The result of a tool call."""

    type: str = "tool_result"
    tool_use_id: str
    is_error: bool = False
    content_raw: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="content")

    @cached_property
    def content(self) -> list[Block]:
        """The blocks; a plain string is one text block."""
        return read_blocks(bytes(self.content_raw))

    @property
    def text(self) -> str:
        """The text of all blocks."""
        return joined_text(self.content)

    @property
    def error_text(self) -> str:
        """The error without its tags; empty if the tool succeeded."""
        text = self.text
        marked = _TOOL_ERROR.search(text)
        if marked is not None:
            return marked[1]
        return text if self.is_error else ""


class McpToolResultBlock(ToolResultBlock):
    """The result of an MCP server that the API connects to."""

    type: str = "mcp_tool_result"


class ServerToolResultBlock(Block):
    """The result of a tool that runs at the API. Each tool has another shape of `content`."""

    tool_use_id: str
    content: Any = None


class WebSearchToolResultBlock(ServerToolResultBlock):
    """The results of a web search on the server."""

    type: str = "web_search_tool_result"


class WebFetchToolResultBlock(ServerToolResultBlock):
    """A page that the server fetched."""

    type: str = "web_fetch_tool_result"


class CodeExecutionToolResultBlock(ServerToolResultBlock):
    """The outcome of code that ran on the server."""

    type: str = "code_execution_tool_result"


class BashCodeExecutionToolResultBlock(ServerToolResultBlock):
    """The outcome of a shell command that ran on the server."""

    type: str = "bash_code_execution_tool_result"


class TextEditorCodeExecutionToolResultBlock(ServerToolResultBlock):
    """The outcome of a file operation on the server."""

    type: str = "text_editor_code_execution_tool_result"


class ToolSearchToolResultBlock(ServerToolResultBlock):
    """The tools that a search on the server found."""

    type: str = "tool_search_tool_result"


class AdvisorToolResultBlock(ServerToolResultBlock):
    """The answer of the advisor model."""

    type: str = "advisor_tool_result"


class Source(Part):
    """The source of an image or a document: its data, a URL, or the id of an uploaded file."""

    type: str = ""
    media_type: str = ""
    data: str = ""
    url: str = ""
    file_id: str = ""
    content: Any = None


class ImageBlock(Block):
    """A picture."""

    type: str = "image"
    source: Source


class DocumentBlock(Block):
    """A document, such as a PDF."""

    type: str = "document"
    source: Source
    title: str | None = None
    context: str | None = None
    citations: Any = None


class SearchResultBlock(Block):
    """One search result."""

    type: str = "search_result"
    source: str = ""
    title: str = ""
    content_raw: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="content")
    citations: Any = None

    @cached_property
    def content(self) -> list[Block]:
        """The content of the result."""
        return read_blocks(bytes(self.content_raw))


class ContainerUploadBlock(Block):
    """A file uploaded to a code execution container."""

    type: str = "container_upload"
    file_id: str = ""


class CompactionBlock(Block):
    """The summary that replaces a compacted conversation."""

    type: str = "compaction"
    content: str | None = None


class ToolReferenceBlock(Block):
    """A tool found by tool search."""

    type: str = "tool_reference"
    tool_name: str = ""


BLOCKS: OpenUnion[Block] = OpenUnion(
    "type",
    {
        "text": TextBlock,
        "thinking": ThinkingBlock,
        "redacted_thinking": RedactedThinkingBlock,
        "tool_use": ToolUseBlock,
        "server_tool_use": ServerToolUseBlock,
        "mcp_tool_use": McpToolUseBlock,
        "tool_result": ToolResultBlock,
        "mcp_tool_result": McpToolResultBlock,
        "web_search_tool_result": WebSearchToolResultBlock,
        "web_fetch_tool_result": WebFetchToolResultBlock,
        "code_execution_tool_result": CodeExecutionToolResultBlock,
        "bash_code_execution_tool_result": BashCodeExecutionToolResultBlock,
        "text_editor_code_execution_tool_result": TextEditorCodeExecutionToolResultBlock,
        "tool_search_tool_result": ToolSearchToolResultBlock,
        "advisor_tool_result": AdvisorToolResultBlock,
        "image": ImageBlock,
        "document": DocumentBlock,
        "search_result": SearchResultBlock,
        "container_upload": ContainerUploadBlock,
        "compaction": CompactionBlock,
        "tool_reference": ToolReferenceBlock,
    },
    lambda name, problem: UnknownBlock(type=name, problem=problem),
)


def read_blocks(raw: bytes) -> list[Block]:
    """Read content, which is a string or a list of blocks; empty bytes are an empty list."""
    text = read_text(raw)
    return BLOCKS.read_list(raw) if text is None else [TextBlock(text=text)]


def write_blocks(blocks: str | Iterable[Block]) -> msgspec.Raw:
    """Encode blocks, or a string, for the `content_raw` field of a view."""
    content = blocks if isinstance(blocks, str) else [as_builtins(block) for block in blocks]
    return msgspec.Raw(msgspec.json.encode(content))


def joined_text(blocks: Iterable[Block]) -> str:
    """The text of all text blocks, concatenated."""
    return "".join(block.text for block in blocks if isinstance(block, TextBlock))
