"""Calling tools by pattern, for scripts that cannot know the names of the offered tools.

A pattern may contain `*` and alternatives separated by `|`; the first alternative that matches an offered tool wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, cast

from handrail.agent.models.script import JsonObject, ToolUse

__all__ = ["call_of", "find_tool", "is_pattern"]

SAMPLES: dict[str, Any] = {"string": "tour", "integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}


def is_pattern(name: str) -> bool:
    """Whether a tool name is a pattern."""
    return "*" in name or "|" in name


def find_tool(pattern: str, tools: Any) -> JsonObject | None:
    """The first offered tool that matches the pattern."""
    offered = [cast("JsonObject", tool) for tool in _items(tools) if isinstance(tool, dict)]
    for alternative in pattern.split("|"):
        for tool in offered:
            if fnmatchcase(str(tool.get("name", "")), alternative):
                return tool
    return None


def call_of(block: ToolUse, tools: Any) -> ToolUse:
    """Resolve the pattern of a call, and fill in samples for missing required fields. Unchanged without a match."""
    tool = find_tool(block.name, tools)
    if tool is None:
        return block
    schema = _object(tool.get("input_schema"))
    properties = _object(schema.get("properties"))
    required = {str(name): _sample(_object(properties.get(str(name)))) for name in _items(schema.get("required"))}
    return ToolUse(str(tool["name"]), {**required, **block.input}, block.raw, block.id, block.unfinished)


def _sample(schema: JsonObject) -> Any:
    """A value that is valid for a simple schema."""
    choices = _items(schema.get("enum"))
    if choices:
        return choices[0]
    return schema.get("default", SAMPLES.get(str(schema.get("type")), "tour"))


def _object(value: Any) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _items(value: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()
