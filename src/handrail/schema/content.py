"""Content blocks. In: the `content` of a message or of a tool result, a string or a list. Out: a list of blocks.

A block of a type that the table has no row for becomes an UnknownBlock, which keeps its bytes.
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
    """What the model thought; empty where only the signature is shown."""

    type: str = "thinking"
    thinking: str = ""
    signature: str = ""


class RedactedThinkingBlock(Block):
    """Thinking that only the model can read."""

    type: str = "redacted_thinking"
    data: str = ""


class ToolUseBlock(Block):
    """The model wants a tool to run."""

    type: str = "tool_use"
    id: str
    name: str
    input: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


class ServerToolUseBlock(ToolUseBlock):
    """The same, for a tool that runs at the model's side."""

    type: str = "server_tool_use"


class McpToolUseBlock(ToolUseBlock):
    """The same, for a tool of an MCP server that the model's side talks to."""

    type: str = "mcp_tool_use"
    server_name: str = ""


class ToolResultBlock(Block):
    """What a tool gave back."""

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
        """All text of it."""
        return joined_text(self.content)

    @property
    def error_text(self) -> str:
        """What went wrong, without the marks around it; empty where nothing did."""
        text = self.text
        marked = _TOOL_ERROR.search(text)
        if marked is not None:
            return marked[1]
        return text if self.is_error else ""


class McpToolResultBlock(ToolResultBlock):
    """What an MCP tool at the model's side gave back."""

    type: str = "mcp_tool_result"


class ServerToolResultBlock(Block):
    """What a tool at the model's side gave back; the shape of `content` is the tool's own."""

    tool_use_id: str
    content: Any = None


class WebSearchToolResultBlock(ServerToolResultBlock):
    type: str = "web_search_tool_result"


class WebFetchToolResultBlock(ServerToolResultBlock):
    type: str = "web_fetch_tool_result"


class CodeExecutionToolResultBlock(ServerToolResultBlock):
    type: str = "code_execution_tool_result"


class BashCodeExecutionToolResultBlock(ServerToolResultBlock):
    type: str = "bash_code_execution_tool_result"


class TextEditorCodeExecutionToolResultBlock(ServerToolResultBlock):
    type: str = "text_editor_code_execution_tool_result"


class ToolSearchToolResultBlock(ServerToolResultBlock):
    type: str = "tool_search_tool_result"


class AdvisorToolResultBlock(ServerToolResultBlock):
    type: str = "advisor_tool_result"


class Source(Part):
    """Where an image or a document comes from: the data itself, an address, or a file known to the API."""

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
    """One thing that a search found."""

    type: str = "search_result"
    source: str = ""
    title: str = ""
    content_raw: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="content")
    citations: Any = None

    @cached_property
    def content(self) -> list[Block]:
        """What was found."""
        return read_blocks(bytes(self.content_raw))


class ContainerUploadBlock(Block):
    """A file put where code runs."""

    type: str = "container_upload"
    file_id: str = ""


class CompactionBlock(Block):
    """What stands for a conversation that was made shorter."""

    type: str = "compaction"
    content: str | None = None


class ToolReferenceBlock(Block):
    """A tool that a search for tools found."""

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
    """Content to blocks. In: JSON, a string or a list of blocks; nothing at all is no block. Out: the blocks."""
    text = read_text(raw)
    return BLOCKS.read_list(raw) if text is None else [TextBlock(text=text)]


def write_blocks(blocks: str | Iterable[Block]) -> msgspec.Raw:
    """Blocks to content. In: blocks, or a plain string. Out: JSON, for the `content_raw` of a view built by hand."""
    content = blocks if isinstance(blocks, str) else [as_builtins(block) for block in blocks]
    return msgspec.Raw(msgspec.json.encode(content))


def joined_text(blocks: Iterable[Block]) -> str:
    """The text among blocks. In: blocks. Out: the text of the text blocks, one after the other."""
    return "".join(block.text for block in blocks if isinstance(block, TextBlock))
