"""The arguments of a tool: their JSON schema from the function's signature, and validation of calls."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Annotated, Any, Protocol, cast, get_args, get_origin, get_type_hints

import msgspec

from handrail.errors import PeerError

JsonObject = dict[str, Any]

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_PLAIN_DEFAULTS = (type(None), bool, int, float, str, Enum)
_PLACE = re.compile(r"^(?P<what>.*) - at `\$\.?(?P<where>.*)`$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(?P<name>.*)`$")
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<name>.*)`$")


class BadArguments(PeerError):
    """The model sent invalid arguments; the message names the argument."""


class Arguments(Protocol):
    """The schema of a tool's arguments, and their validation."""

    @property
    def schema(self) -> JsonObject: ...

    def check(self, arguments: Mapping[str, Any]) -> JsonObject:
        """The keyword arguments for the function, converted to its types. Raises BadArguments."""
        ...


class SchemaArguments:
    """Arguments with an explicit schema: the function receives them as one dict, unvalidated."""

    def __init__(self, schema: Mapping[str, Any], *, parameter: str) -> None:
        if schema.get("type") != "object":
            raise ValueError('input_schema must describe an object: give it "type": "object" and "properties"')
        self.schema: JsonObject = dict(schema)
        self._parameter = parameter

    def check(self, arguments: Mapping[str, Any]) -> JsonObject:
        return {self._parameter: dict(arguments)}


class TypedArguments:
    """Arguments described by the annotations of the function's parameters."""

    def __init__(self, fields: Mapping[str, inspect.Parameter], hints: Mapping[str, Any], *, owner: str) -> None:
        self._names = tuple(fields)
        try:
            self._struct = msgspec.defstruct(
                f"{owner}_arguments",
                [_field(name, hints[name], parameter.default) for name, parameter in fields.items()],
                kw_only=True,
                forbid_unknown_fields=True,
            )
            self.schema: JsonObject = _object_schema(self._struct)
        except TypeError as error:
            reason = str(error).strip().splitlines()[-1]
            raise ValueError(
                f"tool {owner!r}: a parameter has a type that JSON cannot express ({reason}); "
                "use plain types, dataclasses, TypedDicts or msgspec Structs, or pass input_schema="
            ) from error

    def check(self, arguments: Mapping[str, Any]) -> JsonObject:
        try:
            values = msgspec.convert(dict(arguments), self._struct)
        except msgspec.ValidationError as error:
            raise BadArguments(self._explain(str(error))) from None
        # Pass only the arguments that were sent, so that the function's own defaults apply.
        return {name: getattr(values, name) for name in self._names if name in arguments}

    def _explain(self, problem: str) -> str:
        if missing := _MISSING.match(problem):
            return f"missing required argument `{missing['name']}`"
        if unknown := _UNKNOWN.match(problem):
            return f"unknown argument `{unknown['name']}`; the arguments are: {', '.join(self._names) or 'none'}"
        if place := _PLACE.match(problem):
            return f"argument `{place['where']}`: {place['what']}"
        return problem


def read_signature(
    function: Callable[..., Any], *, owner: str, context_type: type, input_schema: Mapping[str, Any] | None
) -> tuple[Arguments, str | None]:
    """The arguments of a function, and the name of its ToolContext parameter, if any."""
    hints = _hints(function, owner)
    fields: dict[str, inspect.Parameter] = {}
    context_parameter: str | None = None
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in _BY_NAME:
            raise ValueError(
                f"tool {owner!r}: parameter {parameter} cannot be passed by name; spell out each argument, "
                "or pass input_schema= and take one dict"
            )
        if hints.get(name) is context_type:
            context_parameter = name
        else:
            fields[name] = parameter
    if input_schema is not None:
        if len(fields) != 1:
            raise ValueError(f"tool {owner!r}: with input_schema= the function takes one parameter, the dict")
        return SchemaArguments(input_schema, parameter=next(iter(fields))), context_parameter
    if bare := [name for name in fields if name not in hints]:
        raise ValueError(f"tool {owner!r}: annotate {', '.join(bare)}: the schema comes from the annotations")
    return TypedArguments(fields, hints, owner=owner), context_parameter


def _hints(function: Callable[..., Any], owner: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise ValueError(
            f"tool {owner!r}: its annotations cannot be read ({error}); define their types at the top of the module"
        ) from error


def _field(name: str, annotation: Any, default: Any) -> tuple[str, Any] | tuple[str, Any, Any]:
    kind = _with_description(annotation)
    if default is inspect.Parameter.empty:
        return (name, kind)
    if isinstance(default, _PLAIN_DEFAULTS) or default in ([], {}):
        return (name, kind, default)
    return (name, kind, msgspec.field(default_factory=lambda: default))  # optional, but not shown in the schema


def _with_description(annotation: Any) -> Any:
    """Turn `Annotated[str, "description"]` into a msgspec description."""
    if get_origin(annotation) is not Annotated:
        return annotation
    kind, *notes = get_args(annotation)
    words = [msgspec.Meta(description=note) if isinstance(note, str) else note for note in notes]
    return Annotated[(kind, *words)]


def _object_schema(struct: type[msgspec.Struct]) -> JsonObject:
    (top,), parts = msgspec.json.schema_components([struct], ref_template="#/$defs/{name}")
    schema = cast("JsonObject", parts.pop(top["$ref"].removeprefix("#/$defs/")))
    schema.pop("title", None)
    if parts:
        schema["$defs"] = parts
    return schema
