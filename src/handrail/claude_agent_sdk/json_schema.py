"""JSON Schema of the arguments of a tool: made from Python types, and checked when the model calls the tool."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping, Sized
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

__all__ = ["check_arguments", "schema_of"]

Schema = dict[str, Any]

PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    list: {"type": "array"},
    dict: {"type": "object"},
}


def schema_of(given: Any) -> Schema:
    """The schema of `input_schema`: a JSON Schema, a TypedDict, or a dictionary from names to types."""
    if is_typeddict(given):
        return _of_typed_dict(given)
    if not isinstance(given, Mapping):
        return {"type": "object", "properties": {}}
    fields = cast("Mapping[str, Any]", given)
    if fields.get("type") == "object" or isinstance(fields.get("properties"), Mapping):
        return {"type": "object", **fields}
    return {
        "type": "object",
        "properties": {name: _of_type(kind) for name, kind in fields.items()},
        "required": list(fields),
    }


def _of_typed_dict(given: Any) -> Schema:
    properties = {name: _of_type(kind) for name, kind in get_type_hints(given, include_extras=True).items()}
    required = [name for name in properties if name in given.__required_keys__]
    schema: Schema = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema


def _of_type(kind: Any) -> Schema:
    """The schema of a type. One that JSON cannot express is a string."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        notes = [note for note in arguments[1:] if isinstance(note, str)]
        return {**_of_type(arguments[0]), **({"description": notes[0]} if notes else {})}
    if getattr(origin, "__name__", "") in ("NotRequired", "Required") or str(origin) in _WRAPPERS:
        return _of_type(arguments[0])
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)} if all(isinstance(a, str) for a in arguments) else {}
    if origin in (Union, types.UnionType):
        choices = [_of_type(choice) for choice in arguments if choice is not type(None)]
        return choices[0] if len(choices) == 1 else {"anyOf": choices}
    if origin is list:
        return {"type": "array", "items": _of_type(arguments[0])}
    if is_typeddict(kind):
        return _of_typed_dict(kind)
    return dict(PLAIN.get(origin or kind, {"type": "string"}))


_WRAPPERS = ("typing.NotRequired", "typing.Required")


def check_arguments(arguments: Any, schema: Mapping[str, Any]) -> str:
    """Why the arguments do not fit the schema, "" if they do. Keywords that are not in `_CHECKS` are not checked."""
    return next((problem for problem in _problems(arguments, schema, schema, "")), "")


def _problems(value: Any, schema: Any, root: Mapping[str, Any], where: str) -> list[str]:
    if schema is False:
        return [f"{where or 'the value'} is not allowed"]
    if not isinstance(schema, Mapping):
        return []
    found: list[str] = []
    for keyword, given in cast("Mapping[str, Any]", schema).items():
        if keyword in _CHECKS and (problem := _CHECKS[keyword](value, given)):
            found.append(f"{where}: {problem}" if where else problem)
    return found + _inside(value, cast("Mapping[str, Any]", schema), root, where)


def _inside(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], where: str) -> list[str]:
    """The problems of the parts of a value, and those of the schemas that this one refers to."""
    found: list[str] = []
    if isinstance(reference := schema.get("$ref"), str):
        found += _problems(value, _referred(reference, root), root, where)
    for part in schema.get("allOf", ()):
        found += _problems(value, part, root, where)
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices and all(_problems(value, choice, root, where) for choice in choices):
        found.append(f"{where or 'the value'}: {value!r} fits none of the alternatives")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        rest = schema.get("additionalProperties", True)
        for name, item in cast("dict[str, Any]", value).items():
            found += _problems(item, properties.get(name, rest), root, f"{where}.{name}" if where else name)
    if isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            found += _problems(item, schema.get("items", True), root, f"{where}[{index}]")
    return found


def _referred(reference: str, root: Mapping[str, Any]) -> Any:
    """The schema at `#/…`; True, which allows anything, for a missing one."""
    here: Any = root
    for name in reference.removeprefix("#/").split("/"):
        here = cast("Mapping[str, Any]", here).get(name, True) if isinstance(here, Mapping) else True
    return here


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: _is_number(value) and float(value).is_integer(),
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def _type(value: Any, given: Any) -> str:
    kinds = cast("list[str]", given) if isinstance(given, list) else [given]
    fits = any(kind not in _TYPES or _TYPES[kind](value) for kind in kinds)
    return "" if fits else f"{value!r} is not of type {' or '.join(repr(kind) for kind in kinds)}"


def _required(value: Any, given: Any) -> str:
    missing = [name for name in given if isinstance(value, dict) and name not in value]
    return f"{missing[0]!r} is a required property" if missing else ""


def _length(value: Any) -> int:
    return len(cast("Sized", value)) if isinstance(value, str | list | dict) else 0


_CHECKS: dict[str, Callable[[Any, Any], str]] = {
    "type": _type,
    "required": _required,
    "enum": lambda value, given: "" if value in given else f"{value!r} is not one of {given!r}",
    "const": lambda value, given: "" if value == given else f"{value!r} is not {given!r}",
    "minimum": lambda value, given: f"{value!r} is less than {given!r}" if _is_number(value) and value < given else "",
    "maximum": lambda value, given: f"{value!r} is more than {given!r}" if _is_number(value) and value > given else "",
    "minLength": lambda value, given: f"{value!r} is too short" if _length(value) < given else "",
    "maxLength": lambda value, given: f"{value!r} is too long" if _length(value) > given else "",
    "minItems": lambda value, given: f"{value!r} has too few items" if _length(value) < given else "",
    "maxItems": lambda value, given: f"{value!r} has too many items" if _length(value) > given else "",
    "pattern": lambda value, given: (
        f"{value!r} does not match {given!r}" if isinstance(value, str) and not re.search(given, value) else ""
    ),
}
"""The problem of a value with a keyword of JSON Schema, "" for a valid value."""
