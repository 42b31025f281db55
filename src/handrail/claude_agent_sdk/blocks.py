"""Content blocks of messages, as dataclasses."""

# Annotations are not postponed here and in the other modules of types: a TypedDict finds its optional keys by them.
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "ContentBlock",
    "ServerToolName",
    "ServerToolResultBlock",
    "ServerToolUseBlock",
    "TextBlock",
    "ThinkingBlock",
    "ToolResultBlock",
    "ToolUseBlock",
]


ServerToolName = Literal[
    "advisor",
    "web_search",
    "web_fetch",
    "code_execution",
    "bash_code_execution",
    "text_editor_code_execution",
    "tool_search_tool_regex",
    "tool_search_tool_bm25",
]


@dataclass
class TextBlock:
    """Text of the model or the user."""

    text: str


@dataclass
class ThinkingBlock:
    """The model's reasoning. `signature` is empty if the CLI sent none."""

    thinking: str
    signature: str


@dataclass
class ToolUseBlock:
    """A call of a tool that the CLI or a host runs."""

    id: str
    name: str
    input: dict[str, Any]


@dataclass
class ToolResultBlock:
    """The result of a tool call."""

    tool_use_id: str
    content: str | list[dict[str, Any]] | None = None
    is_error: bool | None = None


@dataclass
class ServerToolUseBlock:
    """A call of a tool that the API runs."""

    id: str
    name: ServerToolName
    input: dict[str, Any]


@dataclass
class ServerToolResultBlock:
    """The result of a tool that the API ran; `content` is passed on unread."""

    tool_use_id: str
    content: dict[str, Any]


ContentBlock = TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock | ServerToolUseBlock | ServerToolResultBlock
