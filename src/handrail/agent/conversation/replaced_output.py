"""Tool results that a hook replaced.

A hook gives the output in the shape of the tool's own output (`tool_use_result`). The model is shown its text.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from handrail.agent.tools.base import Outcome

__all__ = ["fits", "replaced_output"]

JsonObject = dict[str, Any]


def fits(output: Any, outcome: Outcome) -> bool:
    """Whether an output has the shape of the one it replaces: the same type, and the text fields of an object."""
    detail = outcome.content if outcome.detail is None else outcome.detail
    if not isinstance(detail, dict):
        return type(output) is type(detail)
    texts = [name for name, value in cast("JsonObject", detail).items() if isinstance(value, str)]
    return isinstance(output, dict) and all(isinstance(cast("JsonObject", output).get(name), str) for name in texts)


def replaced_output(output: Any) -> Outcome:
    """The result for an output that a hook gave."""
    return Outcome(_content(output), output)


def _content(output: Any) -> str | list[JsonObject]:
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return _blocks(cast("list[Any]", output)) or _json(output)
    if not isinstance(output, dict):
        return _json(output)
    fields = cast("JsonObject", output)
    if isinstance(fields.get("stdout"), str):  # of Bash
        texts = (fields["stdout"], fields.get("stderr"))
        return "\n".join(text for text in texts if isinstance(text, str) and text)
    if isinstance(content := fields.get("content"), list):  # of MCP tools
        return _blocks(cast("list[Any]", content)) or _json(output)
    file: Any = fields.get("file")
    text: Any = cast("JsonObject", file).get("content") if isinstance(file, dict) else fields.get("content")
    return text if isinstance(text, str) else _json(output)  # of Read


def _blocks(items: list[Any]) -> list[JsonObject]:
    """The items, if all are text or image blocks of the Messages API; else nothing."""
    blocks = [cast("JsonObject", item) for item in items if isinstance(item, dict)]
    return blocks if len(blocks) == len(items) and all(map(_is_block, blocks)) else []


def _is_block(block: JsonObject) -> bool:
    if block.get("type") == "image":
        return isinstance(block.get("source"), dict)
    return block.get("type") == "text" and isinstance(block.get("text"), str)


def _json(output: Any) -> str:
    return msgspec.json.encode(output).decode()
