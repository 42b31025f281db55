"""What a tool is. In: its checked input, and the desk it works at. Out: Outcome, or ToolFailed.

The input of a tool is a `msgspec.Struct`: its fields are the schema that the model is given, what is not among them is
dropped, and what has the wrong type is told to the model. `Meta(description=…)` describes a field.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import msgspec

if TYPE_CHECKING:
    from handrail.agent.desk import Desk

__all__ = ["JsonObject", "Outcome", "Tool", "ToolFailed"]

JsonObject = dict[str, Any]
Given = TypeVar("Given", bound=msgspec.Struct)


class Outcome(msgspec.Struct, frozen=True):
    """What came of a call: `content` is what the model is told, `detail` the `tool_use_result` that hosts are shown."""

    content: str | list[JsonObject]
    detail: Any = None
    is_error: bool = False


class ToolFailed(Exception):
    """The tool could not do it; the text is what the model is told."""


class Tool(Generic[Given]):
    """One tool. Subclasses set the class variables and write `run`."""

    name: ClassVar[str]
    description: ClassVar[str]
    Input: ClassVar[type[msgspec.Struct]]
    concurrent: ClassVar[bool] = False
    """It only looks, so several may run at once."""
    aliases: ClassVar[tuple[str, ...]] = ()

    @property
    def altered(self) -> bool:
        """Does it say something else of itself than when it was first seen? What was allowed then does not count."""
        return False

    def accept(self) -> None:
        """The user has allowed it as it is now."""

    def schema(self) -> JsonObject:
        """The JSON schema of the input, as the Messages API takes it. It is made once: nobody may change it."""
        return _schema_of(self.Input)

    def read(self, input: Any) -> Given:
        """Check an input. Out: the struct; msgspec.ValidationError where it does not fit."""
        return msgspec.convert(input, self.Input)  # type: ignore[return-value]

    def shown(self, given: Given, input: JsonObject) -> JsonObject:
        """The input as hosts see it: of what was sent, the fields that the tool knows, as it has read them."""
        fields: JsonObject = msgspec.to_builtins(given)
        return {name: fields[name] for name in input if name in fields}

    def is_concurrent(self, given: Given) -> bool:
        """May this call run beside others? By default as the class says."""
        return self.concurrent

    def describe(self, given: Given) -> str:
        """A few words for whoever is asked whether it may run."""
        return ""

    async def check(self, given: Given, desk: Desk) -> None:
        """ToolFailed for what is in vain, before anybody is asked. It may look only where `desk.may_read`."""

    async def run(self, given: Given, desk: Desk) -> Outcome:
        """Do it."""
        raise NotImplementedError


@cache
def _schema_of(input: type[msgspec.Struct]) -> JsonObject:
    found = msgspec.json.schema(input)
    name = found["$ref"].rpartition("/")[2]
    definitions = found["$defs"]
    schema = definitions.pop(name)
    schema.pop("title", None)
    return {**schema, "$defs": definitions} if definitions else schema
