"""The StructuredOutput tool: the final answer as JSON, validated against the host's schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from handrail.agent.tools.base import JsonObject, Outcome, Tool, ToolFailed
from handrail.agent.tools.schema_check import problems_of

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk

__all__ = ["StructuredOutput", "StructuredOutputInput"]


class StructuredOutputInput(Struct, frozen=True):
    """The answer, of any type."""

    answer: Any = None


class StructuredOutput(Tool[StructuredOutputInput]):
    """Accepts the final answer."""

    name = "StructuredOutput"
    description = """\
Returns your final answer in the requested structure. Call it exactly once, at the end. If the answer does not fit \
the structure, the error says why: correct it and call again."""
    Input = StructuredOutputInput
    strict = False

    def __init__(self, schema: JsonObject | None = None) -> None:
        self._schema: JsonObject = schema or {"type": "object", "additionalProperties": True}

    def schema(self) -> JsonObject:
        """The schema from the host."""
        return self._schema

    def read(self, input: Any) -> StructuredOutputInput:
        """Accept any input. `run` validates it, so that the model gets the problems and can retry."""
        return StructuredOutputInput(input)

    def shown(self, given: StructuredOutputInput, input: JsonObject) -> JsonObject:
        """The answer itself."""
        return input

    async def run(self, given: StructuredOutputInput, desk: Desk) -> Outcome:
        if problems := problems_of(given.answer, self._schema):
            raise ToolFailed(f"Output does not match required schema: {', '.join(problems)}")
        desk.state.structured_output = given.answer
        said = "Structured output provided successfully"
        return Outcome(said, said)
