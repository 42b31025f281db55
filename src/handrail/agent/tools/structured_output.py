"""StructuredOutput: the answer as JSON. In: the answer, checked against the host's schema. Out: that it fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from handrail.agent.tools.base import JsonObject, Outcome, Tool, ToolFailed
from handrail.agent.tools.schema_check import problems_of

if TYPE_CHECKING:
    from handrail.agent.desk import Desk

__all__ = ["StructuredOutput", "StructuredOutputInput"]


class StructuredOutputInput(Struct, frozen=True):
    """The answer, whatever it is."""

    answer: Any = None


class StructuredOutput(Tool[StructuredOutputInput]):
    """Takes the answer in the shape that was asked for."""

    name = "StructuredOutput"
    description = "Gives your final answer in the shape that was asked for. Call it exactly once, at the end."
    Input = StructuredOutputInput

    def __init__(self, schema: JsonObject | None = None) -> None:
        self._schema: JsonObject = schema or {"type": "object", "additionalProperties": True}

    def schema(self) -> JsonObject:
        """The schema that the host gave."""
        return self._schema

    def read(self, input: Any) -> StructuredOutputInput:
        """The input is the answer; whether it fits is said when it runs, so that it can be tried again."""
        return StructuredOutputInput(input)

    def shown(self, given: StructuredOutputInput, input: JsonObject) -> JsonObject:
        """The answer itself."""
        return input

    async def run(self, given: StructuredOutputInput, desk: Desk) -> Outcome:
        if problems := problems_of(given.answer, self._schema):
            raise ToolFailed(f"Output does not match required schema: {', '.join(problems)}")
        desk.notes["structured_output"] = given.answer
        said = "Structured output provided successfully"
        return Outcome(said, said)
