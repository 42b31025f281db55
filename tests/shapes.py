"""Compares lines of the agent with the views that define them."""

from __future__ import annotations

import json
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec

from handrail.schema.control import ANSWERS, REQUESTS
from handrail.schema.messages import MESSAGES

JsonObject = dict[str, Any]
ENVELOPE = frozenset({"uuid", "session_id"})
"""Fields that every message has."""


def line_problems(line: JsonObject) -> list[str]:
    """The unknown and missing fields of a message or of a control request of the agent."""
    kind = str(line.get("type"))
    if kind in ("control_response", "control_cancel_request"):
        return []
    if kind == "control_request":
        return problems(REQUESTS.table[line["request"]["subtype"]], line["request"])
    name = f"system/{line.get('subtype')}" if kind == "system" else kind
    if name not in MESSAGES:
        return [f"{name}: no view"]
    missing = [] if kind == "transcript_mirror" else sorted(ENVELOPE - line.keys())
    return [
        f"{name}{problem}" for problem in [f": missing {field}" for field in missing] + problems(MESSAGES[name], line)
    ]


def answer_problems(subtype: str, body: bytes) -> list[str]:
    """The unknown and missing fields of the answer to a request of this subtype."""
    return [f"{subtype}{problem}" for problem in problems(ANSWERS[subtype], json.loads(body or b"{}"))]


def problems(kind: Any, value: Any) -> list[str]:
    """Unknown fields, and missing ones that are always written, here and in nested objects."""
    for choice in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        if isinstance(value, dict) and isinstance(choice, type) and issubclass(choice, msgspec.Struct):
            return _struct_problems(choice, value)
        if isinstance(value, list) and get_origin(choice) is list:
            return [f"[{i}]{found}" for i, item in enumerate(value) for found in problems(get_args(choice)[0], item)]
        if isinstance(value, dict) and get_origin(choice) is dict:
            return [f".{key}{found}" for key, item in value.items() for found in problems(get_args(choice)[1], item)]
    return []


def _struct_problems(cls: type[msgspec.Struct], value: JsonObject) -> list[str]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(cls)}
    always: frozenset[str] = getattr(cls, "always", frozenset[str]())
    required = {name for name, field in fields.items() if field.required} | always
    found = [f": unknown {name}" for name in sorted(value.keys() - fields.keys())]
    found += [f": missing {name}" for name in sorted(required - value.keys())]
    for name in value.keys() & fields.keys():
        found += [f".{name}{inner}" for inner in problems(fields[name].type, value[name])]
    return found
