"""The interface of a tool.

The input of a tool is a `msgspec.Struct`. Its fields are the schema that the model receives, `Meta(description=…)`
describes them, and unknown fields and wrong types are reported to the model.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

import msgspec

from handrail.errors import PeerError
from handrail.files.errors import FileError

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk

__all__ = ["JsonObject", "Outcome", "StoppedByCage", "Tool", "ToolFailed", "explain_file_errors", "refused"]

JsonObject = dict[str, Any]
_EXPONENT = r"[^\[{\"]*[eE][+-]?\d+\s*"
"""Numbers such as 1e3, which are not taken from a string."""
Given = TypeVar("Given", bound=msgspec.Struct)


class Outcome(msgspec.Struct, frozen=True):
    """The result of a call: `content` is for the model, `detail` is the `tool_use_result` for hosts."""

    content: str | list[JsonObject]
    detail: Any = None
    is_error: bool = False
    follow_up: str = ""
    """A text that follows the result as a message of the agent itself."""
    grants: tuple[str, ...] = ()
    """Allow rules for the rest of the turn, in the thread of the call alone."""


class ToolFailed(PeerError):
    """The tool failed; the model receives the text."""


class StoppedByCage(Exception):
    """The cage stopped the call, or could not be built. Nothing was changed, so the call may run again outside of it.

    `tried` says what the cage refused; `output` is the output up to then.
    """

    def __init__(self, tried: str, output: str = "") -> None:
        super().__init__(tried)
        self.tried, self.output = tried, output


class Tool(Generic[Given]):
    """One tool. Subclasses set the class variables and implement `run`."""

    name: ClassVar[str]
    description: ClassVar[str]
    Input: ClassVar[type[msgspec.Struct]]
    concurrent: ClassVar[bool] = False
    """True for tools that only read: several calls may run at once."""
    aliases: ClassVar[tuple[str, ...]] = ()
    deferred: bool = False
    """True if requests leave its definition out until ToolSearch has loaded it."""
    hidden: frozenset[str] = frozenset()
    """Fields of the input that the session does not offer."""
    strict: ClassVar[bool] = True
    """Whether a call with an unknown field or null fails; else unknown fields are dropped."""
    other_names: ClassVar[Mapping[str, str]] = {}
    """Other names that models use for fields."""
    path_field: ClassVar[str] = ""
    """The field with the path of a file. Hooks, hosts and the tool get it as an absolute path."""
    kept_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields that stay as the model wrote them in the conversation; the others are repaired there too."""

    @property
    def altered(self) -> bool:
        """Whether its definition changed after it was first seen. Earlier permissions then no longer apply."""
        return False

    def accept(self) -> None:
        """Called when the user has allowed the current definition."""

    def schema(self) -> JsonObject:
        """The JSON schema of the input, for the Messages API. It is cached: do not modify it."""
        schema = _schema_of(self.Input)
        if not self.hidden:
            return schema
        offered = {name: field for name, field in schema["properties"].items() if name not in self.hidden}
        return {**schema, "properties": offered}

    def check_fields(self, input: JsonObject) -> None:
        """Refuse a call of the model with fields that the tool does not know. Raises msgspec.ValidationError."""
        known = _schema_of(self.Input)["properties"] if self.strict else input
        for name, value in input.items():
            if name not in known and self.other_names.get(name, name) in (name, *input):
                raise msgspec.ValidationError(f"An unexpected parameter `{name}` was provided")
            if value is None and self.strict:
                raise msgspec.ValidationError(f"The parameter `{name}` must not be null; leave it out")

    def repaired(self, input: JsonObject) -> JsonObject:
        """The input with numbers, booleans, lists and objects instead of strings that contain them as JSON."""
        fields: Any = self.schema().get("properties")
        if not isinstance(fields, dict):
            return input
        types = {name: _types_of(cast("JsonObject", fields).get(name)) for name in input}
        return {name: _repaired(value, types[name]) for name, value in input.items()}

    def in_conversation(self, input: JsonObject) -> JsonObject:
        """The input of a call as the conversation shows it, to the host and to the model."""
        repaired = self.repaired(input)
        return {name: input[name] if name in self.kept_fields else value for name, value in repaired.items()}

    def renamed(self, input: JsonObject) -> JsonObject:
        """The input with the names that the tool uses."""
        names = {name: self.other_names.get(name, name) for name in input}
        return {name if names[name] in input else names[name]: value for name, value in input.items()}

    def read(self, input: Any) -> Given:
        """Validate an input; unknown fields are ignored. Raises msgspec.ValidationError."""
        if isinstance(input, dict) and (unexpected := self.hidden.intersection(cast("JsonObject", input))):
            raise msgspec.ValidationError(f"An unexpected parameter `{min(unexpected)}` was provided")
        return msgspec.convert(input, self.Input)  # type: ignore[return-value]

    def shown(self, given: Given, input: JsonObject) -> JsonObject:
        """The input as hosts see it: the known fields among those that were sent, with the validated values."""
        fields: JsonObject = msgspec.to_builtins(given)
        sent = {name: value for name, value in input.items() if name in fields}
        return {name: value if value == fields[name] else fields[name] for name, value in sent.items()}  # 5, not 5.0

    def is_concurrent(self, given: Given) -> bool:
        """Whether this call may run at the same time as others."""
        return self.concurrent

    def is_harmless(self, given: Given) -> bool:
        """Whether this call runs unless a rule says otherwise."""
        return False

    def describe(self, given: Given) -> str:
        """A short description of the call for the permission prompt."""
        return ""

    async def check(self, given: Given, desk: Desk) -> None:
        """Raise ToolFailed if the call cannot succeed, so that the user is not asked about it.

        Runs before permission is granted: it may only read files for which `desk.may_read` is true.
        """

    async def run(self, given: Given, desk: Desk) -> Outcome:
        """Execute the call."""
        raise NotImplementedError


def refused(problem: str) -> Outcome:
    """The outcome of an invalid call: tagged for the model, plain for hosts."""
    return Outcome(f"<tool_use_error>{problem}</tool_use_error>", f"Error: {problem}", is_error=True)


@contextlib.contextmanager
def explain_file_errors() -> Generator[None]:
    """Turn file errors into ToolFailed."""
    try:
        yield
    except FileError as error:
        raise ToolFailed(str(error)) from error
    except OSError as error:
        raise ToolFailed(f"System error: {error.strerror or error}") from error


def _types_of(schema: Any) -> frozenset[str]:
    """The types that a field of a JSON schema may have."""
    if not isinstance(schema, dict):
        return frozenset()
    rules = cast("JsonObject", schema)
    named = rules.get("type")
    names = cast("list[Any]", named) if isinstance(named, list) else [named]
    more = [_types_of(part) for part in cast("list[Any]", rules.get("anyOf") or ())]
    return frozenset(name for name in names if isinstance(name, str)).union(*more)


def _repaired(value: Any, types: frozenset[str]) -> Any:
    if isinstance(value, float) and value.is_integer() and "integer" in types:
        return int(value)
    if not isinstance(value, str) or "string" in types or re.fullmatch(_EXPONENT, value):
        return value
    try:
        found: Any = msgspec.json.decode(value)
    except msgspec.DecodeError:
        return value
    match found:
        case bool():
            return found if "boolean" in types and value in ("true", "false") else value
        case int():
            return found if types & {"integer", "number"} else value
        case float():
            return found if "number" in types else value
        case list():
            return cast("list[Any]", found) if "array" in types else value
        case dict():
            return cast("JsonObject", found) if "object" in types else value
        case _:
            return value


@cache
def _schema_of(input: type[msgspec.Struct]) -> JsonObject:
    found = msgspec.json.schema(input)
    name = found["$ref"].rpartition("/")[2]
    definitions = found["$defs"]
    schema = definitions.pop(name)
    schema.pop("title", None)
    return {**schema, "$defs": definitions} if definitions else schema
