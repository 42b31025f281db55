"""Calls of tools whose names a script cannot know. In: a pattern and the tools of a request. Out: a call that fits.

A pattern may have `*`, and alternatives with `|` between them: the first that fits an offered tool counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, cast

from handrail.agent.models.script import JsonObject, ToolUse

__all__ = ["call_of", "find_tool", "is_pattern"]

SAMPLES: dict[str, Any] = {"string": "tour", "integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}


def is_pattern(name: str) -> bool:
    """Whether a name stands for several."""
    return "*" in name or "|" in name


def find_tool(pattern: str, tools: Any) -> JsonObject | None:
    """The first tool offered that the pattern fits."""
    offered = [cast("JsonObject", tool) for tool in _items(tools) if isinstance(tool, dict)]
    for alternative in pattern.split("|"):
        for tool in offered:
            if fnmatchcase(str(tool.get("name", "")), alternative):
                return tool
    return None


def call_of(block: ToolUse, tools: Any) -> ToolUse:
    """The call with the name of a tool that is there, and with what its schema requires."""
    tool = find_tool(block.name, tools)
    if tool is None:
        return block
    schema = _object(tool.get("input_schema"))
    properties = _object(schema.get("properties"))
    required = {str(name): _sample(_object(properties.get(str(name)))) for name in _items(schema.get("required"))}
    return ToolUse(str(tool["name"]), {**required, **block.input}, block.raw, block.id, block.unfinished)


def _sample(schema: JsonObject) -> Any:
    """Some value that fits a simple schema."""
    choices = _items(schema.get("enum"))
    if choices:
        return choices[0]
    return schema.get("default", SAMPLES.get(str(schema.get("type")), "tour"))


def _object(value: Any) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _items(value: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()
